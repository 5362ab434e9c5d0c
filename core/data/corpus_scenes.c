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

    /* Who the hero is and where {he} lives; plots that end at home mention {home} again. */
    "=intro",
    "Once upon a time, there was a {trait} [little|young|small] <kind> named {N}. {N} lived in a [house|cottage|tiny house] "
    "{home}[ with {his} {mom}|].",
    "Once there was a [little|young|small] <kind> called {N}, who lived {home}. Everyone said that {N} was very {trait}.",
    "[Long ago|Once upon a time|Many years ago], in a [small town|quiet village|land far away], there lived a {trait} "
    "<kind>. {His} name was {N}, and {his} house stood {home}.",
    "{N} was a {trait} [little|young|small] <kind>. {He} lived {home}[ with {his} {mom}| in a house with a {color4} door|].",
    "There once was a <kind> named {N}. {N} had a [cozy|small|warm] home {home}, and {he} was always {trait}.",
    "In a [cozy|small|little] house {home} lived a <kind> named {N}. [People|The neighbors|All the neighbors] knew {him} as "
    "a {trait} <kind>.",
    "This is the story of {N}, a {trait} little <kind> who lived {home}.",

    "=oneday",
    "One {sky} [morning|day|afternoon],", "One [day|morning|afternoon],", "On a {sky} [morning|day|afternoon],",
    "One {sky} {day4},", "Early one [morning|{day4}],", "It was a {sky} [day|morning], and", "Last {day4},",
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
    "{He} felt {sad}.", "{He} was very {sad}.", "{His} eyes filled with tears.", "{He} began to cry.",
    "{He} sat down and [sighed|sobbed|hung {his} head].", "{His} lip began to shake.", "A tear rolled down {his} cheek.",
    "{He} did not know what to do.",

    "=asked",
    "asked", "wondered", "wanted to know",

    /* The last lines: home, trait and the glad word come back. */
    "=end",
    "And from that day on, {N} was known far and wide as a {trait} <kind>.",
    "That night, in the house {home}, {N} [slept well|dreamed of {color3} stars|fell asleep with a smile].",
    "When {N} went to bed that night, {he} [whispered|said|thought], \"This was the best day of all.\"",
    "And {N}, the {trait} little <kind>, lived happily ever after.",
    "\"What a day!\" said {N}, and {he} [laughed|smiled|yawned].",
    "Everyone agreed that {N} really was a {trait} <kind>.",
    "{N} never forgot that {sky} day.",

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

    "=meanwhile",
    "The birds sang in the trees.", "A soft wind blew.", "The sun was high in the sky.", "Somewhere a dog barked.",
    "The clouds looked like [sheep|ships|pillows|mountains].", "The air smelled of [flowers|fresh bread|rain|pine].",
    "A {color4} butterfly flew by.", "The leaves danced in the wind.", "Bees hummed in the [flowers|clover].", "", "",

    NULL,
};
