/* Rules shared by the plots of the built-in corpus: openings, weather, feelings, endings. */
#include <stddef.h>

#include "core/data/corpus_grammar.h"
#include "core/data/corpus_source.h"

const char *const *const corpus_tables[] = {
    corpus_words,          corpus_synonyms,      corpus_scenes,        corpus_plots_home,
    corpus_plots_outdoors, corpus_plots_friends, corpus_plots_animals, NULL,
};

const char *const corpus_scenes[] = {
    "=story",
    "<lost>", "<bake>", "<gift>", "<build>", "<surprise>", "<night>", "<disobey>",
    "<fear>", "<storm>", "<race>", "<seed>", "<map>", "<market>", "<coins>",
    "<share>", "<newfriend>", "<borrow>", "<trade>", "<quarrel>",
    "<rescue>", "<riddle>", "<follower>", "<bridge>", "<winter>",

    /* What the hero is: a child, now and then an animal; the same all through a story. */
    "=kind",
    "[kind:{boy}|{boy}|{boy}|{boy}|{critter}]",

    "=likes",
    "{N} liked {fruit*.many}, {color*} {flower*.many}, and the song of the {job*}.",
    "{He} had a {color*} {toy*}, a {look*} {treasure*}, and {number*} friends.",
    "{He} could [whistle|count to {number*}|draw a {beast*}|name every {flower*} in the village|bake a {treat*}].",
    "On {his} window stood a {color*} {flower*} and a {look*} {toy*}.",
    "{N} was [five|six|seven|eight|nine] years old and wanted to be a {job*} one day.",

    /* Something small about the hero that the end of the story may come back to. */
    "=detail",
    "{He} [detail:wore {shade} boots|had a {shade} cap|had a book about a {beast4}|liked to count things|hummed a "
    "little tune|kept a {treasure4} in {his} pocket|had a tooth that was loose|liked to draw].",

    /* Who the hero is and where {he} lives; plots that end at home mention {home} again. */
    "=introduction",
    "Once upon a time, there was a {trait} [little|young] <kind> named {N}. {N} lived in a [house|cottage|tiny "
    "house] {home}[ with {his} {mom}|].",
    "Once there was a [little|young|small] <kind> called {N}, who lived {home}. Everyone said that {N} was very "
    "{trait}.",
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
    "<introduction> <likes> <detail>",

    "=oneday",
    "One {sky} [morning|day|afternoon],", "One [day|morning|afternoon],", "On a {sky} [morning|day|afternoon],",
    "One {sky} {day4},", "Early one [|{day4}|{sky}] morning,", "It was a {sky} [day|morning], and",
    "On a {sky} {day4},",
    "On {day4},", "One {sky} {day4}, when the {flower*.many} were in bloom,",
    "One {sky} day, when the {job*} was out,",
    "On a {sky} {day4}, just after {number*} o'clock,",
    "One {sky} day, the week after the {flower*} [feast|market|fair],",

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

    /* The last lines: home, trait and the glad word come back. */
    "=end",
    "And from that day on, {N} was known far and wide as a {trait} <kind>.",
    "That night, in the house {home}, {N} [slept well|dreamed of {color3} stars|fell asleep with a smile].",
    "When {N} went to bed that night, {he} [whispered|said|thought], \"This was the best day of all.\"",
    "And {N}, the {trait} little <kind>, lived happily ever after.",
    "\"What a day!\" said {N}, and {he} [laughed|smiled|yawned].",
    "Everyone agreed that {N} really was a {trait} <kind>.",
    "{N} never forgot that {sky} day.",
    "Before {he} fell asleep, {N} [detail:put the {shade} boots by the door|hung up the {shade} cap|read a page "
    "about the {beast4}|"
    "counted {number4} stars|hummed {his} little tune once more|put the {treasure4} under {his} pillow|felt {his} "
    "tooth, and out it came|drew a picture of it all].",
    "And if you pass the house {home}, you may still [detail:see the {shade} boots by the door|see a {shade} cap at "
    "the window|hear {N} read about a {beast4}|hear {N} count|hear that little tune|find {N} with the {treasure4} "
    "in {his} hand|see {N} smile with one tooth less|see the picture that {N} drew].",

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

    /* What is to be seen or heard on the way: each time something else. */
    "=meanwhile",
    "<aside>", "<aside>", "<aside>", "<aside>", "<scenery>", "<scenery>", "",

    "=scenery",
    "The birds sang in the trees.", "A [soft|light|cold|warm] wind blew.", "The sun was [high|low] in the sky.",
    "The clouds looked like [sheep|ships|pillows|mountains|feathers|{fruit*.many}].",
    "The air smelled of [flowers|fresh bread|rain|pine|wet grass|smoke|{fruit*.many}].",
    "A {color*} [butterfly|beetle|leaf|moth] [flew|floated] by.", "The leaves [danced|rustled|shook] in the wind.",
    "Bees hummed in the [{flower*.many}|clover].", "The {job*} [waved|nodded|smiled] to them.",
    "The church bell rang {number*} times.", "{Number*} [ducks|crows|geese] flew over the [roofs|trees|hills].",
    "Far away, someone was [singing|chopping wood|playing a flute|laughing].",

    "=aside",
    "The {job*} {home*} was [painting the door {color*}|looking for a {color*} {toy*}|baking a {treat*}|reading a "
    "book about a {beast*}|mending a {color*} {clothes*}].",
    "Someone had left a {look*} {color*} {toy*} {outdoors*}.",
    "A [fat|thin|lazy|young|gray|friendly|muddy] {pet*} [slept|rolled|sat|played|yawned|sneezed] {outdoors*}.",
    "[Two|Three|Four|Five|Some] children were playing {game*} {place*.at}.",
    "An old [man|woman] in a {color*} {clothes*} was feeding {fruit*.many} to a {pet*}.",
    "The sky was {color*} [in the east|in the west|over the hills|over the roofs|above the trees], with "
    "[two|three|four|a few] {color*} clouds.",
    "Somebody was [teaching|showing|telling] a {pet*} how to play {game*}.",
    "From the {job*.place} came the smell of a {treat*}.",
    "The wind played with a {look*} {color*} [ribbon|leaf|feather|scrap of paper|{clothes*}].",
    "You could hear the {job*} [sing|whistle|laugh|snore|hum|sneeze] all the way from the {place*}.",
    "[In town|In the village|On that day], everyone was talking about the {look*} {treasure*} that the {job*} had "
    "found {outdoors*}.",
    "On the fence sat a [crow|cat|sparrow|rooster|snail|{animal*}], as still as a [stone|picture|shadow|post].",
    "In the distance, {number*} {color*} [boats|kites|flags|balloons|birds] [rose and fell|moved|danced] in the "
    "wind.",
    "It was the kind of [day|hour] when [the {color*} {flower*.many} open|the {beast*} sleeps late|even the {job*} "
    "sings|all the {fruit*.many} taste sweet].",
    "The {job*} [came past|rode by|hurried by] with a {color*} [basket|cart|bag] full of {fruit*.many}.",
    "A {beast*} and a {animal*} were sharing [a {fruit*}|a {treat*}|a {color*} umbrella] {outdoors*}.",
    "[High|Far] above, a {color*} [bird|kite|balloon] went [north|south|east|west], slowly, like a "
    "[boat|dream|thought].",
    "Somebody had painted a {color*} {beast*} on the wall of the {job*.place}.",
    "A {look*} sign said that there were {number*} {fruit*.many} for a coin at the {job*.place}.",
    "The {pet*} of the {job*} wore a {color*} [ribbon|bow|hat|collar] that day.",

    "=He",
    "{He}", "{He}", "{N}",

    NULL,
};
