/* Rules shared by the plots of the built-in corpus: openings, weather, feelings, endings. */
#include <stddef.h>

#include "core/data/corpus_grammar.h"
#include "core/data/corpus_source.h"

const char *const *const corpus_tables[] = {
    corpus_words, corpus_scenes, corpus_plots_home, corpus_plots_outdoors, corpus_plots_friends, corpus_plots_animals,
    NULL,
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

    /* Something small about the hero that the end of the story may come back to. */
    "=detail",
    "{He} [detail:wore {shade} boots|had a {shade} cap|had a book about a {beast4}|liked to count things|hummed a little tune|kept a "
    "{treasure4} in {his} pocket|had a tooth that was loose|liked to draw].",

    /* Who the hero is and where {he} lives; plots that end at home mention {home} again. */
    "=introduction",
    "Once upon a time, there was a {trait} [little|young] <kind> named {N}. {N} lived in a [house|cottage|tiny house] "
    "{home}[ with {his} {mom}|].",
    "Once there was a [little|young|small] <kind> called {N}, who lived {home}. Everyone said that {N} was very {trait}.",
    "[Long ago|Once upon a time|Many years ago], in a [small town|quiet village|land far away], there lived a {trait} "
    "<kind>. {His} name was {N}, and {his} house stood {home}.",
    "{N} was a {trait} [little|young] <kind>. {He} lived {home}[ with {his} {mom}| in a house with a {color4} door|].",
    "There once was a <kind> named {N}. {N} had a [cozy|small|warm] home {home}, and {he} was always {trait}.",
    "In a [cozy|small|little] house {home} lived a <kind> named {N}. [People|The neighbors|All the neighbors] knew {him} as "
    "a {trait} <kind>.",
    "This is the story of {N}, a {trait} little <kind> who lived {home}.",

    "=intro",
    "<introduction>", "<introduction>", "<introduction> <detail>", "<introduction> <detail>",

    "=oneday",
    "One {sky} [morning|day|afternoon],", "One [day|morning|afternoon],", "On a {sky} [morning|day|afternoon],",
    "One {sky} {day4},", "Early one [|{day4}|{sky}] morning,", "It was a {sky} [day|morning], and", "On a {sky} {day4},",
    "On {day4},",

    "=after",
    "After [breakfast|lunch|a while|that],", "Later that day,", "Soon,", "A little later,", "Before long,",
    "When the clock struck {number},", "Then", "At last,", "In the end,",

    "=suddenly",
    "Suddenly,", "Just then,", "All at once,", "At that moment,", "But then", "Then, without warning,",

    "=smiled",
    "smiled", "laughed", "nodded", "grinned", "clapped {his} hands", "jumped up and down", "beamed", "cheered",

    "=mkindly",
    "[said|answered|replied] {his} {mom} [kindly|softly|gently|with a smile|]",
    "said {his} {mom}, [smiling|stroking {his} hair|sitting down beside {him}|giving {him} a hug|taking {his} hand]",

    "=heart",
    "{His} heart [felt light|was full|beat fast|sang].", "{He} felt {glad}.", "{He} was very {glad}.",
    "{He} had never been so {glad}.", "A big smile spread over {his} face.", "It made {him} feel warm inside.",
    "{He} wanted to sing.", "",

    "=sadly",
    "{N} felt {sad}.", "{N} was so {sad}.", "{N} looked {sad}.", "{His} eyes filled with tears.", "{N} [wanted|was about] to cry.", "{N} turned pale.", "{N} swallowed hard.",
    "{N} [sighed|sobbed|hung {his} head|sniffed].", "{His} lip began to shake.", "A tear rolled down {his} cheek.",
    "{N} did not know what to do.", "{N} had [never|seldom] been so {sad}.",

    /* After "said NAME". */
    "=how",
    "", "", "", "", " [quietly|softly|slowly]", " at once", " after a moment", " in a [low|clear|small] voice",
    " and looked up", " right away", " with [big|wide|bright] eyes", " without thinking",

    /* The last lines: home, trait and the glad word come back. */
    "=end",
    "And from that day on, {N} was known far and wide as a {trait} <kind>.",
    "That night, in the house {home}, {N} [slept well|dreamed of {color3} stars|fell asleep with a smile].",
    "When {N} went to bed that night, {he} [whispered|said|thought], \"This was the best day of all.\"",
    "And {N}, the {trait} little <kind>, lived happily ever after.",
    "\"What a day!\" said {N}, and {he} [laughed|smiled|yawned].",
    "Everyone agreed that {N} really was a {trait} <kind>.",
    "{N} never forgot that {sky} day.",
    "Before {he} fell asleep, {N} [detail:put the {shade} boots by the door|hung up the {shade} cap|read a page about the {beast4}|"
    "counted {number4} stars|hummed {his} little tune once more|put the {treasure4} under {his} pillow|felt {his} tooth, and out it "
    "came|drew a picture of it all].",
    "And if you pass the house {home}, you may still [detail:see the {shade} boots by the door|see a {shade} cap at the window|hear {N} "
    "read about a {beast4}|hear {N} count|hear that little tune|find {N} with the {treasure4} in {his} hand|see {N} smile with one "
    "tooth less|see the picture that {N} drew].",

    /* The same, when the hero is away from home and alone. */
    "=endaway",
    "<end>", "<end>",
    "Then {N} walked back to the house {home}, feeling {glad}.",
    "{N} told the whole story to {his} {mom}, who was very proud of such a {trait} <kind>.",

    "=waited",
    "{He} waited and waited.", "{He} counted to {number}.", "{He} took a deep breath.", "{He} thought for a [moment|while].",
    "{He} looked [left and right|up and down|all around].", "{He} scratched {his} head.", "",

    "=ofcourse",
    "Of course", "Yes, of course", "Sure", "Yes, please", "All right", "I would love to", "That is a good idea",

    "=thanks",
    "Thank you so much", "Thank you", "Oh, thank you", "Thank you, thank you", "How kind of you", "You are so kind",

    /* What is to be seen or heard on the way. */
    "=meanwhile",
    "The birds sang in the trees.", "A [soft|light|cold|warm] wind blew.", "The sun was [high|low] in the sky.",
    "Somewhere a {pet4} [called|cried|made a noise].", "The clouds looked like [sheep|ships|pillows|mountains|feathers].",
    "The air smelled of [flowers|fresh bread|rain|pine|wet grass|smoke].", "A {color4} [butterfly|beetle|leaf] [flew|floated] by.",
    "The leaves [danced|rustled|shook] in the wind.", "Bees hummed in the [{flower4.many}|clover].",
    "There were {color4} {flower4.many} along the [road|path|fence].", "A {job4} [waved|nodded] to them.",
    "The church bell rang {number4} times.", "{number4} [ducks|crows|geese] flew over the [roofs|trees|hills].",
    "Far away, someone was [singing|chopping wood|playing a flute|laughing].", "It was [so|very] [still|quiet|warm] that day.",
    "A shy {critter4} looked out of the bushes.", "", "", "", "", "",

    NULL,
};
