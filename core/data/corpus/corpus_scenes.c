/* Rules shared by the plots of the built-in corpus: openings, weather, feelings, endings. */
#include <stddef.h>

#include "core/data/corpus/corpus_grammar.h"
#include "core/data/corpus/corpus_source.h"

/* Records are packed, several a line. */
/* clang-format off */
const char *const *const corpus_tables[] = {
    corpus_words_names,   corpus_words_people,  corpus_words_things,  corpus_words_food,     corpus_words_nature,
    corpus_words_places,  corpus_words_numbers, corpus_words_doing,   corpus_synonyms,       corpus_scenes,
    corpus_asides,        corpus_plots_home,    corpus_plots_outdoors, corpus_plots_friends, corpus_plots_animals,
    corpus_plots_village, corpus_plots_journeys, NULL,
};

const char *const corpus_scenes[] = {
    "=story",
    "<lost>", "<bake>", "<gift>", "<build>", "<surprise>", "<night>", "<disobey>",
    "<fear>", "<storm>", "<race>", "<seed>", "<map>", "<market>", "<coins>",
    "<share>", "<newfriend>", "<borrow>", "<trade>", "<quarrel>",
    "<rescue>", "<riddle>", "<follower>", "<bridge>", "<winter>",
    "<soup>", "<concert>", "<machine>", "<harvest>", "<school>",
    "<letter>", "<voyage>", "<thief>", "<tracks>", "<stories>",

    /* What the hero is: a child, now and then an animal; the same all through a story. */
    "=kind",
    "[kind:{boy}|{boy}|{boy}|{boy}|{critter}]",

    "=likes",
    "{N} liked {fruit*.many}, {color*} {flower*.many}, and the song of the {job*}.",
    "{He} had a {color*} {toy*}, a {look*} {treasure*}, and {number*} friends.",
    "{He} could [whistle|count to {number*}|draw a {beast*}|name every {flower*} in the village|bake a {treat*}].",
    "On {his} window stood a {color*} {flower*} and a {look*} {toy*}.",
    "{N} was [five|six|seven|eight|nine] years old and wanted to be a {job*} one day.",
    "{N} was good at {hobby*}, but {degree*} bad at {hobby*}.",
    "What {he} liked best of all was {hobby*}, and after that {dish*}.",
    "{He} could name [the|every] {building*} in {land*}, but not one {tree*} in {his} own garden.",
    "{He} played the {instrument*} [every {day*}|after dinner|before breakfast|{mood*.ly}].",
    "{N} collected {tool*.many} and {treasure*.many}, and kept them in the {room*}.",
    "Everyone in {stem}{ending} knew {him}, [even|and above all] old {mister*} {surname*}.",
    "{He} had been born in {month*}, in the {short*.est} {season*} that anyone in {stem}{ending} could remember.",
    "If you asked {him}, there was nothing {short*.er} than a {wild*}, and nothing {short*.er} than a {veg*}.",
    "{He} was as {short*} as a {wild*} and as {short*} as a {tree*}.",
    "In {his} {room*} hung a picture of a {wild*} with {many*} {body*.many}.",
    "For {idea*}, {he} said, one needs {idea*}. {He} had heard that from {mister*} {surname*}.",

    /* Something small about the hero that the end of the story may come back to. */
    "=detail",
    "{He} [detail:wore {shade} boots|had a {shade} cap|had a book about a {beast4}|liked to count things|hummed a "
    "little tune|kept a {treasure4} in {his} pocket|had a tooth that was loose|liked to draw|carried a {tool4} "
    "everywhere|dreamed of {land4}|had a {wild4} made of {material4}|ate {dish4} whenever {he} could|practiced the "
    "{instrument4} every day|always talked about {wild4.many}].",

    /* Who the hero is and where {he} lives; plots that end at home mention {home} again. */
    "=introduction",
    "Once upon a time, there was a {trait} [little|young] <kind> named {N}. {N} lived in a [house|cottage|tiny "
    "house] {home}[ with {his} {mom}|].",
    "Once there was a [little|young|small] <kind> called {N}, who lived {home}. Everyone said that {N} was very "
    "{trait}.",
    "In the village of {stem}{ending}, {home}, lived a <kind> named {N}, who was known to be {trait}.",
    "In {stem}{ending}, where the {tree.many} grow, there lived a {trait} <kind>. {His} name was {N}, and {his} house "
    "stood {home}.",
    "[Long ago|Once upon a time|Many years ago], in a [small town|quiet village|land far away], there lived a "
    "{trait} <kind>. {His} name was {N}, and {his} house stood {home}.",
    "{N} was a {trait} [little|young] <kind>. {He} lived {home}[ with {his} {mom}| in a house with a {color4} "
    "door|].",
    "There once was a <kind> named {N}. {N} had a [cozy|small|warm] home {home}, and {he} was always {trait}.",
    "In a [cozy|small|little] house {home} lived a <kind> named {N}. [People|The neighbors|All the neighbors] knew "
    "{him} as a {trait} <kind>.",
    "This is the story of {N}, a {trait} little <kind> who lived {home}.",

    "=intro",
    "<introduction> <detail>", "<introduction> <aside>", "<introduction> <detail> <aside>", "<introduction> <likes>",
    "<introduction> <likes> <detail>", "<introduction> <detail> <likes> <aside>", "<introduction> <likes> <likes>",

    "=oneday",
    "One {sky} [morning|day|afternoon],", "One [day|morning|afternoon],", "On a {sky} [morning|day|afternoon],",
    "One {sky} {day4},", "Early one [|{day4}|{sky}] morning,", "It was a {sky} [day|morning], and",
    "On a {sky} {day4},",
    "On {day4},", "One {sky} {day4}, when the {flower*.many} were in bloom,",
    "One {sky} day, when the {job*} was out,",
    "On a {sky} {day4}, just after {number*} o'clock,",
    "One {sky} day, the week after the {flower*} [feast|market|fair],",
    "One {sky} [morning|afternoon] in {month},", "In the {short*} {season} of that year,",
    "On the [first|second|third|last] {day4} of {month},", "One {short*} day in {season},",

    "=after",
    "After [breakfast|lunch|a while|that],", "Later that day,", "Soon,", "A bit later,", "Before long,",
    "When the clock struck {number},", "Then", "At last,", "In the end,",

    "=suddenly",
    "Suddenly,", "Just then,", "All at once,", "At that moment,", "But then", "Then, without warning,",

    "=smiled",
    "smiled", "laughed", "nodded", "grinned", "clapped {his} hands", "jumped up and down", "beamed", "cheered",

    "=mkindly",
    "[said|answered|replied] {his} {mom} [kindly|softly|gently|with a smile|]",
    "said {his} {mom}, [smiling|stroking {his} hair|sitting down beside {him}|giving {him} a hug|taking {his} hand]",

    "=heart",
    "{He} felt as {glad*} as a [king|lark|{beast*} in spring|{animal*} in the sun|{job*} on a holiday].",
    "{He} could have kissed a {beast*}.", "{N} danced like a {beast*} with {number*} legs.",
    "{His} heart [felt light|was full|beat fast|sang].", "{He} felt {glad}.", "{He} was very {glad}.",
    "{He} had never been so {glad}.", "A big smile spread over {his} face.", "It made {him} feel warm inside.",
    "{He} wanted to sing.", "",

    "=sadly",
    "{N} felt {sad}.", "{N} was so {sad}.", "{N} looked {sad}.", "{His} eyes filled with tears.",
    "{N} [wanted|was about] to cry.", "{N} turned pale.", "{N} swallowed hard.",
    "{N} [sighed|sobbed|hung {his} head|sniffed].", "{His} lip began to shake.", "A tear rolled down {his} cheek.",
    "{N} felt as {sad*} as a [wet cat|lost sheep|broken toy|{beast*} without a home|{animal*} in the rain].",
    "{N} was {sad} and {sad2}.", "{N} thought of the {beast*} in the old story, who was {sad*}, too.",
    "{N} did not know what to do.", "{N} had [never|seldom] been so {sad}.",

    /* After "said NAME". */
    "=how",
    "", "", "", "", " [quietly|softly|slowly]", " at once", " after a moment", " in a [low|clear|small] voice",
    " and looked up", " right away", " with [wide|bright|shining] eyes", " without thinking",
    " {mood*.ly}", " {mood*.ly}", " {mood*.ly}", " {mood*.ly}",

    /* The last lines: home, trait and the glad word come back. */
    "=end",
    "And from that day on, {N} was known far and wide as a {trait} <kind>.",
    "That night, in the house {home}, {N} [slept well|dreamed of {color3} stars|fell asleep with a smile].",
    "When {N} went to bed that night, {he} [whispered|said|thought], \"This was the best day of all.\"",
    "And {N}, the {trait} little <kind>, lived happily ever after.",
    "And in {stem}{ending}, they still talk about the {trait} <kind> named {N}.",
    "There never was a {short*.er} [evening|night] in {stem}{ending}.",
    "{Mister*} {surname*} wrote it all down, and that is how we know about {N}, the {trait} <kind>.",
    "\"What a day!\" said {N}, and {he} [laughed|smiled|yawned].",
    "Everyone agreed that {N} really was a {trait} <kind>.",
    "{N} never forgot that {sky} day.",
    "Before {he} fell asleep, {N} [detail:put the {shade} boots by the door|hung up the {shade} cap|read a page "
    "about the {beast4}|"
    "counted {number4} stars|hummed {his} little tune once more|put the {treasure4} under {his} pillow|felt {his} "
    "tooth, and out it came|drew a picture of it all|put the {tool4} beside the bed|dreamed of {land4}|said good night "
    "to the {material4} {wild4}|ate the last of the {dish4}|played something slow on the {instrument4}|thought about "
    "{wild4.many}].",
    "And if you pass the house {home}, you may still [detail:see the {shade} boots by the door|see a {shade} cap at "
    "the window|hear {N} read about a {beast4}|hear {N} count|hear that little tune|find {N} with the {treasure4} "
    "in {his} hand|see {N} smile with one tooth less|see the picture that {N} drew|find the {tool4} by the door|hear "
    "{N} "
    "speak of {land4}|see the {material4} {wild4} at the window|smell {dish4} from afar|hear the {instrument4}|meet "
    "someone who knows all about {wild4.many}].",

    /* The same, when the hero is away from home and alone. */
    "=endaway",
    "<end>", "<end>",
    "Then {N} walked back to the house {home}, feeling {glad}.",
    "{N} told the whole story to {his} {mom}, who was very proud of such a {trait} <kind>.",

    "=waited",
    "{He} waited and waited.", "{He} counted to {number}.", "{He} took a deep breath.",
    "{He} thought for a [moment|while].",
    "{He} looked [left and right|up and down|all around].", "{He} scratched {his} head.", "",

    "=ofcourse",
    "Of course", "Yes, of course", "Sure", "Yes, please", "All right", "I would love to", "That is a good idea",

    "=thanks",
    "Thank you so much", "Thank you", "Oh, thank you", "Thank you, thank you", "How kind of you", "You are so kind",

    "=He",
    "{He}", "{He}", "{N}",

    NULL,
};
