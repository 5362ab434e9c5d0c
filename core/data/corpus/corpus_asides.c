/* Sentences between the steps of a plot of the built-in corpus: what is to be seen or heard on the way. */
#include <stddef.h>

#include "core/data/corpus/corpus_source.h"

/* Records are packed, several a line. */
/* clang-format off */
const char *const corpus_asides[] = {
    /* What is to be seen or heard on the way: each time something else. */
    "=meanwhile",
    "<aside>", "<aside> <aside>", "<aside> <scenery>", "<aside>", "<scenery>", "<scenery> <aside>", "",

    "=lull",
    "<aside>", "<aside>", "<aside>", "<scenery>", "<aside> <aside>", "",

    "=pause",
    "<aside>", "<aside> <aside>", "<aside> <aside>", "<aside> <aside> <aside>", "<scenery> <aside>", "<aside> "
    "<scenery>",
    "<scenery>", "",

    /* What people are called before their family's name. */
    "@mister name he his",
    "Mr.|he|his", "Mrs.|she|her", "Miss|she|her", "Captain|he|his", "Doctor|she|her", "Professor|he|his",
    "Uncle|he|his",
    "Aunt|she|her", "Lady|she|her", "Sir|he|his", "Madame|she|her", "Judge|she|her", "Cousin|he|his", "Nurse|she|her",

    "=scenery",
    "A {wild*} [called|cried] from the {tree*.many}.", "The {tree*.many} stood {degree*} {short*}.",
    "The air smelled of {dish*} and {flower*.many}.", "The wind {noise*.past} in the {tree*.many}.",
    "A {tool*} {noise*.past} in some {room*}.", "The sky was {short*} and {sky*}.",
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
    "{Mister*} {surname*} was {work*.ing} a {quality*} {tool*} {outdoors*}.",
    "{Mister*} {surname*}, the {job*}, was {act*.ing} {mood*.ly} {place*.at}.",
    "Some said that the {wild*} is {short*.er} than the {wild*}, but nobody in {stem}{ending} was {degree*} sure.",
    "From {land*}, the [newspaper|radio|mail|captain] brought {quality*} news about {idea*}.",
    "{Mister*} {surname*} sold {tool*.many} and {tool*.many} of {material*}, [all|each of them] {degree*} {short*}.",
    "In the {room*} of the {job*}, a {instrument*} [lay|stood|hung] beside a {quality*} {tool*}.",
    "The {wild*.many} {act*.past} under the {tree*.many}.",
    "A {short*} {wild*} {act*.past} {outdoors*}, and [nobody|only {mister*} {surname*}] saw it.",
    "There was {dish*} with {veg*.many} at the {job*.place}, and {dish*} for dessert.",
    "A {vehicle*} full of {veg*.many} {noise*.past} past the {building*}.",
    "The {short*.est} {vehicle*} in the world stood in front of the {building*}.",
    "Somebody had left a {vehicle*} {place*.at}, and now {wild*.many} were {act*.ing} in it.",
    "A sign on the {building*} said, \"{Hobby*} and {hobby*}, every {day*}, for {many*} coins.\"",
    "In {month*}, the {tree*.many} of {stem*}{ending*} are {short*.er} than those of {land*}.",
    "\"{Idea*} is {short*.er} than {idea*},\" {mister*} {surname*} used to say.",
    "\"Without {idea*}, there is no {idea*},\" it said over the door of the {building*}.",
    "{Mister*} {surname*} told a {quality*} story about {idea*} and a {short*} {wild*}.",
    "Somebody was playing a {quality*} song on the {instrument*}. It was called \"The {short*} {wild*}.\"",
    "In a book about {land*}, there was a picture of a {wild*} with a {short*} {body*}.",
    "The {job*} had a {color*} {body*} that day, and a {look*} {clothes*}.",
    "The {tool*} in the {room*} {noise*.past} like a {quality*} {instrument*}.",
    "{Many*} {wild*.many} had come to {stem}{ending} that {season*}, more than in {many*} years.",
    "There were {many*} steps up to the {building*}, and {many*} down to the {room*}.",
    "In the year 1[7|8|9]{digit*}{digit*}, the {building*} of {stem}{ending} was built of {material*} and {material*}.",
    "The {job*} from {stem*}{ending*} was there to {work*} the {tool*.many} and the {instrument*}.",
    "People in {stem*}{ending*} {work*} their {tool*.many} with {material*}, but that is {quality*}.",
    "A {tool*} {noise*.s} when it is {short*}, and a {job*} {act*.s} when it is {sky*}.",
    "To {act*} is {degree*} {quality*}, to {act*} is {short*.er}.",
    "The number on the {building*} was {digit*}{digit*}{digit*}, and under it hung a {tool*} of {material*}.",
    "It was {month*} {digit*}, and {mister*} {surname*} was home from {land*} again.",
    "All the way to {stem*}{ending*}, the fields were {color*} with {flower*.many}.",
    "Between the {tree*.many} stood a {quality*} {building*}, {home*}.",
    "The {mood*} {job*} {act*.past} {mood*.ly} {indoors*}.",
    "A {mood*} {wild*} and a {mood*} {beast*} {act*.past} side by side.",
    "The {short*.est} {flower*} that {stem}{ending} had ever seen was {degree*} {color*}.",
    "{Wild*.many} {act*} in {season*}, and {wild*.many} {act*} in {season*}, the {job*} explained.",
    "The {pet*} of the {job*} wore a {color*} [ribbon|bow|hat|collar] that day.",

    NULL,
};
