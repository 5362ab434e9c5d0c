/* Plots of the built-in corpus that come from or go to somewhere else. */
#include <stddef.h>

#include "core/data/corpus/corpus_source.h"

const char *const corpus_plots_journeys[] = {
    /* Letters to and from abroad; each asks what the next one answers. */
    "=letter",
    "<intro> {His} friend {F} had moved to {land}, and {N} missed {fhim} [very much|every day|more than {he} could "
    "say]. <lull>\n"
    "<oneday> a letter came. \"Dear {N},\" {F} wrote, \"here in {land} it is {sky2}, and there are {wild.many} "
    "[everywhere|in the {room}|on the roof]. I am learning {hobby} and eat {dish} every {day}. [letask:Do you still "
    "have "
    "the {color} {toy}|Has the {job} finished the {building}|Is {mister} {surname} still so {mood}|Have the "
    "{flower.many} "
    "come up]? Your {F}.\" {N} read it {number} times. [<heart>|<pause>|]\n"
    "{N} went to see. [letask:The {color} {toy} lay {indoors}|The {building} stood {place.at}, and it had {many} "
    "windows|{Mister} {surname} sat {outdoors} and sang|There were {many} of them {outdoors}]. Then {he} sat down in "
    "the "
    "{room2} and wrote, \"Dear {F}, [letask:I still have the {color} {toy}, and I {toy.used} for you|the {building} "
    "has "
    "{many} windows now|{mister} {surname} sings now and is not {mood} at all|{many} {flower.many} have come up]. Can "
    "you "
    "bring a {wild} when you come? And what is {dish}?\" <He> put a {treasure} in it and took it to the {job2}. "
    "<pause>\n"
    "[All {season}, {N} waited.|It took {number2} weeks.] In {month2}, there was a knock, and there stood {F}, with "
    "[{degree} {short}|{short}] {body.many} and a big box. \"[You wrote|You asked me]: can you bring a {wild}?\" said "
    "{F}<how>. \"[lethow:I could not, so I brought a picture of one|Here is one, but it is made of {material}|It did "
    "not want to leave {land}, so I brought {dish}].\" [lethow:The picture showed a {wild} in {land}.|The {wild} of "
    "{material} was {short.er} than a real one.|So {N} learned what {dish} is.] They {act.past} all evening, and {F} "
    "wanted to see [letask:the {color} {toy}|the {building}|{mister} {surname}|the {flower.many}]. And around {fhis} "
    "neck hung the {treasure}. [<end>|]",

    /* A journey; each of three things that were packed is needed, in its turn. */
    "=voyage",
    "<intro> {N} wanted to see {land}. {His} {mom} had told {him} that the {building.many} there are made of "
    "{material}. <lull>\n"
    "<oneday> {he} packed a bag: a {tool}, a {clothes} and a {treasure}. \"[What do you need a {tool} for|Why the "
    "{tool}|A {tool}]?\" asked {F}, who came along. \"One never knows,\" said {N}<how>. They took a {vehicle} from "
    "{stem}{ending} to the {place}, and then a {vehicle2}. <pause>\n"
    "On the first day, [voyone:the {vehicle2} broke down|a {beast} stood in the way|a door would not open]. {N} took "
    "the "
    "{tool}, and [voyone:soon the {vehicle2} {noise.past} and went on|the {beast} looked at it and was {glad2}|"
    "the door {noise.past} and was open]. On the second day, it was [bitterly|{degree}] cold. {N} and {F} put on the "
    "{clothes}, [voytwo:one sleeve for each of them|first one and then the other|and a {animal} crept in with them]. "
    "<pause>\n"
    "On the third day, they came to {land}. At the gate stood a {mood} {job}. \"[Nobody gets in for nothing|What do "
    "you bring|Halt],\" said the {job}. {N} had only the {treasure} left. The {job} looked at it {mood2.ly}. "
    "\"[voyend:My mother had one like that|That is worth more than {many} coins|Keep it, I only wanted to see it],\" "
    "said the {job}, and let them in. And the {building.many} were made of {material}, just as {his} {mom} had said. "
    "<lull>\n"
    "When they were home again, {F} said, \"The {tool} helped us on the first day, the {clothes} on the second, and "
    "the "
    "{treasure} on the third.\" [voyend:{N} wrote to the {job} in {land} every {month}.|\"Next time we will take "
    "{number} "
    "{treasure.many},\" said {N}<how>.|{N} still had the {treasure}, and it hung in the {room}.] [<end>|]",

    /* Something is gone from the museum; the clue that was seen first names who has it. */
    "=thief",
    "<introduction> {N} [often went|liked to go] to the museum of {stem}{ending}, where the {quality} {treasure} of "
    "old "
    "{T} lay on a {material} cushion. <lull>\n"
    "<oneday> it was gone! {Mister} {surname}, who kept the museum, [cried|{act.past}|ran up and down]. On the floor "
    "were [thclue:{color} feathers|{color} footprints|{color} threads|crumbs of {dish}]. \"[Nobody has|Only {number} "
    "people have] "
    "been here since {day},\" said {mister} {surname}. [\"I will find it,\" said {N}<how>.|\"Let me look,\" said "
    "{N}<how>.] <meanwhile>\n"
    "First {N} went to the {job}. The {job} was {work.ing} a {tool}, [thclue:but had no bird|but had clean shoes|but "
    "wore a {color2} {clothes}|but ate only {dish2}]. \"[It was not me|I was at the {building} all day],\" said the "
    "{job}. Then {he} went to the {job2}, who was {act.ing} {outdoors}. [thclue:There were {color2} hens, but no "
    "{color} ones.|The shoes of the {job2} were {color2}.|The {clothes2} of the {job2} was {color2}.|It smelled of "
    "{dish2} there.] \"[thclue:You want {color} feathers|You want {color} shoes|You want {color} threads|You want "
    "{dish}]? Ask {F},\" said the {job2}. <pause>\n"
    "{F} sat {outdoors2}. [thclue:In {fhis} hat were {color} feathers|{Fhis} shoes were {color}|{Fhis} {clothes3} was "
    "{color}|In {fhis} lap was a plate of {dish}]. \"Where is the {treasure}?\" asked {N}<how>. {F} turned "
    "{color3}. \"[thwhy:I wanted to show it to my sick brother|It was so {short}, and I only wanted to clean it|A "
    "{beast} took it, and I got it back],\" {fhe} said, and took it out. [thwhy:They went to see {fhis} brother, and "
    "then they brought the {treasure} back|It was {short.er} than before|\"Then you are a {degree} {trait2} {fboy}!\" "
    "said {N}]. In the museum, it lay on the {material} cushion again. \"How did you find it?\" asked {mister} "
    "{surname}. \"By the [thclue:{color} feathers|{color} footprints|{color} threads|crumbs of {dish}],\" said "
    "{N}<how>. [<end>|]",

    /* Tracks are followed; what was counted at the start is found at the end. */
    "=tracks",
    "<introduction>\n"
    "<oneday> in {month}, there were tracks in the snow {place.at}. {N} counted them: there were {many}, and each was "
    "as "
    "{short} as a {tool}. \"[That is no {wild}|What could that be|Who has such feet]?\" asked {F}. \"It has {number} "
    "{body.many},\" said {mister} {surname}, \"and it eats {dish}.\" \"I think it is a {wild2},\" said {N}<how>. "
    "<pause>\n"
    "They followed the tracks past the {building}, [over the {place2}|through the {tree.many}] and up to the house of "
    "the "
    "{job}. [Here they stopped.|There the tracks went around in a ring.] {N} took {his} {tool2} and knocked. "
    "<suddenly> something {noise.past}. [trwho:\"Come in,\" said the {job}|The door opened by itself|A {color} nose "
    "looked out]. Inside was a [trwho:{job2} on stilts, with a bowl of {dish}|{vehicle} on {number} wooden "
    "feet|{wild2}, "
    "and it was {act.ing}]. \"[trwho:I walk on stilts because the snow is deep|Your {vehicle} made these tracks|So it "
    "is "
    "a {wild2}]!\" said [trwho:the {job2}|{F}|{N}]. <pause>\n"
    "\"[trwho:Did you make {many} steps|Did it make {many} steps|Did it take {many} steps]?\" asked {N}. \"[I counted "
    "them, too|Exactly {many}|That is right, {many}],\" said the {job}, \"from the {place} to here.\" They all ate "
    "{dish} and talked about {idea}. [trend:On the way back, {N} and {F} walked in the tracks, all {many} of them.|"
    "When the snow melted, {flower.many} grew where the tracks had been.|{Mister} {surname} would not believe it until "
    "{mister.he} had seen it.] [<end>|]",

    /* A ruler who is bored, and three tellers; who told what comes back. */
    "=stories",
    "[Long ago|Once], in {land}, there was a queen who had heard every story about {idea}. She was {sad}, and she "
    "said, "
    "\"Whoever tells me something new shall have my {treasure}.\" <lull>\n"
    "First came a {job} from {stem}{ending} with a {quality} story about a {wild} that could {act}. \"I know it,\" "
    "said "
    "the queen, \"the {wild} {act.past} until it was {short}.\" Then came a {job2} with a {quality2} story about a "
    "{wild2} that wanted to {act2}. \"I know that one, too,\" said the queen, and yawned. \"The {wild2} {act2.past} "
    "all "
    "the way to {land2}.\" <pause>\n"
    "In the {building}, a <kind> named {N} was {work.ing} a {tool}. \"[Why do you not try|Do you know a story|You look "
    "{trait}],\" said the {job2}. \"[I only know one about a {tool}|I know only my {tool}],\" said {N}<how>. But {he} "
    "went to the queen. \"Once there was a {tool},\" {he} said, \"and it {noise.past}.\" \"And then?\" asked the "
    "queen. "
    "[stotell:\"Then the {wild} came and wanted to {act}, and the {wild2} came and wanted to {act2}, but the {tool} "
    "{noise.past}.\"|\"Then it was lost {outdoors}, and it lay there for {many} years.\"|\"You have to guess,\" said "
    "{N}<how>.] <pause>\n"
    "[stotell:\"The {wild} and the {wild2} together! I have never heard that|\"{Many} years! And did it {noise} again|"
    "\"Nobody has ever asked me to guess before]!\" cried the queen, and she was {glad}. She gave {him} the "
    "{treasure}, "
    "and {he} gave her the {tool}. [stoend:The {job} and the {job2} became {his} friends|When the queen was {sad}, she "
    "made it {noise}|And the story of the {tool} is told in {land} to this day]. [<end>|]",

    NULL,
};
