/* Plots of the built-in corpus with animals, helped or talking. */
#include <stddef.h>

#include "core/data/corpus_source.h"

const char *const corpus_plots_animals[] = {
    /* A hurt animal is nursed, let go, and comes back. */
    "=rescue",
    "<intro>\n"
    "<oneday> {N} heard a [small|strange|sad] sound {outdoors}. <He> looked, and there was a little {animal}. It {animal.said} "
    "[softly|sadly], because its {animal.part} was hurt. \"[Poor thing|Do not be afraid|You poor little {animal}],\" said {N}, \"I will "
    "help you.\" <He> wrapped it in {his} {color} {clothes} and carried it home.\n"
    "\"What do you have there?\" asked {his} {mom}. \"A {animal}! Its {animal.part} is hurt. [May it stay here?|Can we keep it?]\" asked {N}. "
    "\"[Until it is well|Only until its {animal.part} is better], but then it must go back to its {animal.home},\" <mkindly>. They made a bed "
    "{indoors} and [washed its {animal.part}|put a bandage on its {animal.part}]. \"What does it eat?\" {N} asked. \"[I think that it likes "
    "{animal.food}|Try {animal.food}],\" said {his} {mom}. And the {animal} ate the {animal.food} [to the last bit|out of {his} hand].\n"
    "[Every day|Each morning], {N} [sang to it|told it a story|sat beside it]. <He> called it [rescname:Button|Pepper|Hope|Lucky|Dot]. After "
    "{number} days, [rescname:Button|Pepper|Hope|Lucky|Dot] could move its {animal.part} again. {N} was {glad}, but {he} was also {sad}, "
    "because {he} knew what that meant. \"[Must it really go?|Can it not stay with us?]\" {he} asked. \"[rescwhy:A {animal} belongs in its "
    "{animal.home}|Its family is waiting in the {animal.home}|You promised, {N}],\" said {his} {mom}. \"[I know|You are right],\" said {N}<how>.\n"
    "They took it back to the place {outdoors}. \"Good luck, [rescname:Button|Pepper|Hope|Lucky|Dot]!\" [said|called] {N}. The {animal} "
    "{animal.said} [once|twice|three times] and was gone. The house {home} was very quiet that night.\n"
    "[rescend:But on {day}, {N} heard it again. The {animal} sat in front of the door, and beside it lay a {treasure}. "
    "\"[rescname:Button|Pepper|Hope|Lucky|Dot], is that for me?\" asked {N}. It {animal.said}, and that meant yes.|When {number2} weeks had "
    "passed, {N} went back with some {animal.food}. \"[rescname:Button|Pepper|Hope|Lucky|Dot]!\" {he} called. And out came the {animal} with "
    "[two|three|four] little ones behind it.|In winter, when {N} was lost in the snow, {he} heard a voice that {he} knew. It was "
    "[rescname:Button|Pepper|Hope|Lucky|Dot]! The {animal} went ahead, and {N} followed it, all the way home.] [Kindness always finds its way "
    "back.|{N} [put on|took] the {color} {clothes} and smiled.|<end>]",

    /* Two animals who talk: a riddle whose answer was shown before. */
    "=riddle",
    "[Once upon a time|Long ago|Once], there was a {beast.adj} {beast} who lived {home}. [One {sky} day|On a {sky} morning], the {beast} "
    "[lost|could not find] its {treasure}. [It looked {outdoors} and {outdoors2}, but found nothing.|It searched until it was tired.] \"[Who "
    "has taken my {treasure}?|Where can it be?]\" cried the {beast}.\n"
    "The {beast} went to the {beast2.adj} {beast2}. \"Have you seen my {treasure}?\" it asked. \"[Maybe I have|I might have],\" said the "
    "{beast2}. \"But first you must answer my riddle. [ridwhat:What has hands but cannot clap|What gets wet when it dries you|What has teeth "
    "but does not bite|What runs but has no legs|What has a neck but no head|What goes up but never comes down]?\" The {beast} thought and "
    "thought. \"[ridwrong:A {animal}|A {critter}|A {job}]?\" it said. \"No,\" said the {beast2}. \"You have until {day}.\"\n"
    "[Sadly, the {beast} went away.|The {beast} walked home slowly.] On the way, it asked a {beast3.adj} {beast3}, but the {beast3} did not "
    "know. [It asked the wind, but the wind only blew.|Night came, and the {beast} could not sleep.] Then it met a <kind> named {N}, who [sat "
    "{outdoors}|was on {his} way to the {job}]. \"Why are you so {sad}?\" asked {N}. \"[I cannot answer the riddle of the {beast2}|I need the "
    "answer to a riddle],\" said the {beast}, \"or I will never see my {treasure} again.\" \"[I am not good at riddles|I do not know many "
    "answers],\" said {N}, \"but [ridwhat:come and look at my clock|take my towel, your nose is wet|let me comb your hair with my "
    "comb|come and drink from the river with me|have some juice from my bottle|today is my birthday, and I am {number} years old].\"\n"
    "The {beast} [looked|stared] at [ridwhat:the clock|the towel|the comb|the river|the bottle|{N}]. \"That is it!\" it [cried|shouted], and "
    "ran back to the {beast2}. \"Is it [ridwhat:a clock|a towel|a comb|a river|a bottle|your age]?\" it asked. \"[Yes|Right], it is "
    "[ridwhat:a clock|a towel|a comb|a river|a bottle|your age],\" said the {beast2}. \"[ridwho:You are clever|Who "
    "told you the answer|I never thought that you would find it][ridwho:!|?|!]\" [ridwho:\"I only looked around me,\" said the "
    "{beast}.|\"A friend named {N},\" said the {beast}.|\"Neither did I,\" said the {beast}.] \"And where is my {treasure}?\" \"[ridend:Look "
    "behind your ear|It is {outdoors3}, where you dropped it on {day2}|I kept it safe for you, in my own house],\" said the {beast2}.\n"
    "[ridend:The {beast} shook its head, and out fell the {treasure}.|The {beast} looked {outdoors3}, and there lay the {treasure}.|And the "
    "{beast2} brought the {treasure} out.] [They both laughed.|The {beast} danced with joy.] From then on, [whenever the {beast} saw "
    "[ridwhat:a clock|a towel|a comb|a river|a bottle|a birthday cake], it thought of {N}|the {beast.adj} {beast} and the {beast2.adj} "
    "{beast2} told each other a riddle every {day}|the {beast} took good care of its {treasure}]. And {N}, who had helped without knowing it, "
    "[ridwho:never heard about it|got a big basket of {fruit.many}|became a friend of the {beast}].",

    /* An animal that follows the hero home; whose it is comes out by its name or its collar. */
    "=follower",
    "<intro>\n"
    "<oneday> {N} was on the way [home from school|to the {place}|back from the {job}] when {he} heard steps. <He> turned around. There was a "
    "[{color}|{look}] {pet} with a {color2} ribbon around its neck. {N} walked on, and the {pet} walked on, too. {N} stopped, and the {pet} "
    "stopped. \"[Go home, {pet}!|Why do you follow me?|Do you want something?]\" said {N}<how>. But the {pet} [only looked at {him}|sat down on "
    "{his} foot|wagged its tail].\n"
    "At home, {his} {mom} said, \"[Whose {pet} is that?|Where did you get that {pet}?]\" \"It followed me. [Can it stay?|May I keep it?|I "
    "want to call it [petname:Ginger|Storm|Noodle|Patch],]\" said {N}<how>. \"[It has a {color2} ribbon|Look at the ribbon], so it must belong to "
    "someone,\" said {his} {mom}. \"[Someone is sad right now|Think how {sad} you would be], without it.\" {N} did not like that, but {he} knew "
    "that it was true. So {he} [petad:painted {number} signs that told of a {pet} with a {color2} ribbon|went from house to house and asked everyone|went to ask the {job}, who knew "
    "everyone].\n"
    "[For {number2} days, no one came.|{number2} days passed.] The {pet} slept {indoors}, and {N} [petdo:taught it to jump over a stick|gave "
    "it half of {his} {fruit} every day|told it all {his} secrets]. {N} began to hope. <suddenly> there was a knock at the door. "
    "[petad:\"I saw one of your {number} signs,\" said|\"They told me that you came to every house,\" said|\"The {job} sent me,\" said] a "
    "[petwho:very old man|{tboy} named {T}|woman in a {color3} {clothes}]. \"[petname:Ginger|Storm|Noodle|Patch]!\" The {pet} ran to "
    "[petwho:the old man|{T}|the woman] and jumped up. {N} [had a lump in {his} throat|tried not to cry]. \"Is that its name?\" {he} asked. "
    "\"[Yes, [petname:Ginger|Storm|Noodle|Patch] is mine|Yes, it ran away when [the gate was open|there was thunder]].\"\n"
    "\"[petdo:Look, it can jump over a stick now|It likes {fruit.many}|It is very good at keeping secrets],\" said {N}<how>. [petwho:The old "
    "man|{T}|The woman] looked at {N} and understood. \"[petwho:My legs are old. I need someone to walk with "
    "[petname:Ginger|Storm|Noodle|Patch]. Would you do that|We live just around the corner. Will you come and play with us|Soon "
    "[petname:Ginger|Storm|Noodle|Patch] will have little ones. Would you like to have one]?\" \"[Oh, yes|I would love to|Yes, please]!\" "
    "[cried|said] {N}. [petwho:So every {day}, {N} walked with [petname:Ginger|Storm|Noodle|Patch], and the old man waited for them with "
    "{fruit.many}.|So every {day}, {N} and {T} played with [petname:Ginger|Storm|Noodle|Patch] {place.at}.|And {number3} weeks later, a very "
    "small {pet} with a {color2} ribbon slept {indoors} in the house {home}.] [<end>|{N} had done the right thing, and now {he} was {glad}.|]",

    /* Two stubborn animals on a bridge; who gives way, and what it brings. */
    "=bridge",
    "[Once upon a time|Long ago|Once], a {beast.adj} {beast} lived on one side of a river, and a {beast2.adj} {beast2} lived on the other. "
    "There was only one bridge, and it was [very narrow|small and old]. <oneday> the {beast} wanted to [brigone:pick {fruit.many}|visit the "
    "{job}|see its friend, the {beast3}] on the other side. At the same time, the {beast2} wanted to [brigtwo:sell a {clothes}|buy a "
    "{toy}|bring a {treat} to its mother].\n"
    "In the middle of the bridge, they met. \"[Let me pass|Go back|Make way for me]!\" said the {beast}. \"I want to [brigone:pick "
    "{fruit.many}|visit the {job}|see the {beast3}].\" \"[No, you go back!|Why should I?|I was here first!]\" said the {beast2}. \"I must "
    "[brigtwo:sell this {clothes}|buy a {toy}|bring this {treat} to my mother].\" [They stood there until noon.|They stood nose to nose.|They "
    "shouted so loudly that the fish hid.] Neither of them wanted to give way. <meanwhile>\n"
    "A <kind> named {N} [sat by the water|was fishing] and heard them. \"[Why do you shout?|What is wrong?]\" asked {N}. \"[The {beast2}|The "
    "{beast}] will not let me pass,\" they both said. \"[Then neither of you will get there|You will stand there until winter],\" said {N}<how>. "
    "[brighow:\"One of you could lie down, and the other could step over|\"Flip a coin, and let it decide|\"Tell each other why you must "
    "go].\" [brighow:The {beast} thought about it and lay down, and the {beast2} stepped over it very carefully.|So {N} threw a coin. It "
    "fell for the {beast2}, and the {beast} went back and let it pass.|\"I have to [brigone:pick {fruit.many}|visit the {job}|see the "
    "{beast3}],\" said the {beast} again, but softly. \"And I [brigtwo:want to sell a {clothes}|need a {toy}|have a {treat} for my mother],\" "
    "said the {beast2}. \"Your way is longer, so you go first,\" said the {beast}.]\n"
    "\"[Thank you|That was kind of you|I will not forget that],\" said the {beast2}. [And now they could both go on.|The whole thing had "
    "taken no time at all.] In the evening, they met again at the bridge. [brigone:\"Here, I picked {number} {fruit.many}, and half of them "
    "are for you,\" said the {beast}.|\"The {job} says hello to you,\" said the {beast}.|\"I told the {beast3} about you,\" said the {beast}.] "
    "[brigtwo:\"And I sold the {clothes}, so let me buy you dinner,\" said the {beast2}.|\"And I got my {toy}. Would you like to {toy.use}?\" "
    "said the {beast2}.|\"My mother kept a piece of the {treat} for you,\" said the {beast2}.] [From that day on, they took turns.|And when two "
    "others met on the bridge, the {beast} and the {beast2} told them about the <kind> named {N}.|Since then, the {beast.adj} {beast} and the "
    "{beast2.adj} {beast2} have been friends.] [It is often the clever one who gives way.|A little kindness makes a narrow bridge wide.|]",

    /* Summer work and winter need; who worked, who played, and what they gave each other. */
    "=winter",
    "[Once upon a time|Long ago|Once], a {beast.adj} {beast} and a {beast2.adj} {beast2} were neighbors. They lived {home}. [All summer|When "
    "the days were long and warm], the {beast} [gathered|stored] {fruit.many} {outdoors}. It put away {number} [baskets|bags] of them. The "
    "{beast2} did not. It [winplay:sang songs|painted {color} pictures|danced in the sun|told stories] all day long.\n"
    "\"[Why do you work so much?|Come and rest a bit!]\" said the {beast2}. \"Winter will come, and then there is nothing to eat,\" said the "
    "{beast}. \"What will you do then?\" \"[Winter is far away|I do not think about that|Something will turn up],\" said the {beast2}, and it "
    "went on [winplay:singing|painting|dancing|telling stories]. <meanwhile> [The leaves turned {color2}.|Then the leaves fell.] The days "
    "grew short.\n"
    "[One {sky} night|On {day}], the snow came. It covered [everything|the whole land]. The {beast2} looked for food {outdoors2}, but found "
    "[only snow|nothing]. [winhow:It was too proud to ask, so it stayed at home and grew thin. The {beast} saw no smoke from its house and went "
    "to look|It went to the {beast} and knocked. \"I was foolish. May I have something to eat?\" it asked|It wanted to take some "
    "{fruit.many} at night, but the {beast} woke up and caught it]. \"[winhow:Why did you not come to me|Did I not tell you that winter would "
    "come|Why do you take what I would have given you]?\" asked the {beast}. \"[winhow:I was ashamed|Yes, you did|I did not dare to ask],\" said "
    "the {beast2}, and it [hung its head|looked at the snow].\n"
    "The {beast} thought of its {number} [baskets|bags] of {fruit.many}. \"[Come in|Sit down by the fire],\" it said. \"There is enough for "
    "two.\" They ate {fruit.many}, and it was warm. But the winter was long, and the {beast} grew {sad}, for the nights were dark and there was "
    "nothing to do. Then the {beast2} [winplay:sang all the songs of the summer|took out its {color} pictures and hung them on the wall|got up "
    "and danced around the table|began to tell a story]. [winplay:The {beast} closed its eyes and could feel the sun|The whole room was {color} "
    "and bright|Soon the {beast} was dancing, too|The {beast} wanted to hear another one, and then another one]. \"[Now I see|Now I "
    "understand],\" said the {beast}, \"that you [gathered|stored] something, too.\"\n"
    "When spring came, the {beast2} said, \"This year, I will help you with the {fruit.many}.\" \"And I will [winplay:sing with you|paint with "
    "you|dance with you|listen to your stories],\" said the {beast}. [winhow:And when the {beast2} needed something, it was never too proud to "
    "ask|And the {beast2} never forgot again that winter comes|And the {beast2} never took again what it could ask for]. [They were neighbors "
    "before, but now they were friends.|There is a time to work and a time to [winplay:sing|paint|dance|tell stories].]",

    NULL,
};
