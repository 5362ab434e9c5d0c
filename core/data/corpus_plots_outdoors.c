/* Plots of the built-in corpus that happen out of doors. */
#include <stddef.h>

#include "core/data/corpus_source.h"

const char *const corpus_plots_outdoors[] = {
    /* A fear named at the start is overcome because somebody needs it. */
    "=fear",
    "<intro> [But {N} was afraid of|There was only one thing that {N} feared:] [fear:deep water|high places|big dogs|the dark "
    "cave|thunder]. When the other children [fear:swam in the lake|climbed the oak tree|played with the big dog|explored the "
    "cave|danced in the rain], {N} [stayed behind|sat alone and watched|only shook {his} head].\n"
    "\"[Why do you not come with us|Are you not coming|Are you afraid]?\" asked {F}. \"[I do not feel like it|I am fine here|Maybe "
    "tomorrow],\" said {N}, but that was not true. At home, {he} told {his} {mom}. \"Everyone is afraid of something,\" <mkindly>. "
    "\"[fearaid:When I am afraid, I sing a song|When I am afraid, I count to {number}|When I am afraid, I hold this {look} "
    "{treasure}].\" [fearaid:And {mhe} taught {N} the song.|And together they counted to {number}.|And {mhe} gave it to {N}.]\n"
    "<oneday> {N} [was walking|went for a walk] {place.at}. <suddenly> {he} heard [a cry|somebody call]. \"Help!\" It was {F}! "
    "[fear:{F} had swum too far out and was holding on to a log|{F} was stuck on a high branch|A big dog stood in front of {F}, "
    "and {fhe} could not move|{F} had fallen in the dark cave and hurt {fhis} foot|There was thunder, and {F} had hurt {fhis} foot "
    "far from home]. There was no one else [there|around|to help]. {N} began to shake. Then {he} remembered [what {his} {mom} had "
    "said|{his} {mom}]. [fearaid:<He> began to sing|<He> counted slowly: one, two, three, all the way to {number}|<He> put {his} "
    "hand in {his} pocket and held the {treasure}].\n"
    "[fear:Step by step, {N} went into the deep water, and {he} pushed the log back to land|Branch by branch, {N} climbed up and "
    "showed {F} where to put {fhis} feet|{N} walked up to the big dog and held out {his} hand, and the dog licked it|Step by step, "
    "{N} walked into the dark cave until {he} found the hand of {F}|Right through the thunder, {N} ran to {F} and helped {fhim} home]. "
    "\"[I thought that you were afraid of|Are you not afraid of] [fear:deep water|high places|big dogs|the dark|thunder],\" said {F}<how>. "
    "\"I was,\" said {N}, \"[but you needed me|but I am your friend|but not as much as I wanted to help you].\"\n"
    "[fearaid:Now {F} wanted to learn the song, too, and they sang it all the way home|Now, when {F} is afraid, {fhe} counts to "
    "{number}, too|{N} showed the {look} {treasure} to {F}, and {fhe} held it for a while]. [The next day, {N} [fear:swam in the "
    "lake|climbed the oak tree|played with the big dog|explored the cave|danced in the rain] with the other children.|{N} was still "
    "a bit afraid of [fear:deep water|high places|big dogs|the dark|thunder], but {he} knew what to do.|Being brave does not "
    "mean that you are never afraid.] [<endaway>|]",

    /* Weather spoils a plan; the things that were packed are used in another way. */
    "=storm",
    "<intro>\n"
    "[All week|For {number} days], {N} had [looked forward to|waited for] {day}. On {day}, {he} and {F} wanted to [stormplan:have a "
    "picnic|fly a kite|go fishing|camp in a tent] {place.at}. {N} packed [stormplan:a {color} blanket and a basket of "
    "{fruit.many}|the {color} kite and a long string|two rods and a {color} bucket|the {color} tent and a lamp]. [{F} brought a "
    "{treat}.|{His} {mom} gave them a {treat}.|]\n"
    "But on {day}, [just as they left|when they woke up|as soon as they got there], [stormhow:dark clouds came and it began to "
    "rain|a cold wind began to howl|thick snow began to fall|there was thunder and lightning]. \"[Now we cannot|Oh no, we cannot] "
    "[stormplan:have our picnic|fly the kite|go fishing|sleep in the tent],\" said {F}<how>. \"[It is not fair!|Everything is "
    "spoiled!|I hate this weather!]\" cried {N}. <sadly> They [ran|hurried|went back] to the house {home} [and looked out of the "
    "window|and sat by the window|without a word].\n"
    "{His} {mom} [looked at them|came in] and said, \"[Who says that you cannot|Why do you not] [stormplan:have a picnic|use the "
    "kite|fish|camp] in here?\" {N} [looked at|turned to] {F}. \"[In the house?|In here?|How?]\" [they|{he}] asked. \"[stormplan:Put "
    "the {color} blanket on the floor|Hang the kite from the ceiling, and it will be a sail|Tie a magnet to each rod, and put spoons "
    "in the bucket|Put up the tent next to the table],\" said {his} {mom}. [So they did.|And that is what they did.|They ran to "
    "do it.]\n"
    "[stormplan:They sat on the {color} blanket, ate {fruit.many}, and the ants stayed outside|Soon they were sailing a ship with a "
    "{color} sail, and the carpet was the sea|{N} caught {number} spoons, and {F} caught {number2}|They sat in the tent, lit the "
    "lamp, and told stories about a {beast.adj} {beast}]. Outside, [stormhow:the rain drummed on the roof|the wind howled around "
    "the house|the snow covered the path|the thunder rolled], but [they were warm and dry|inside they laughed|they did not mind "
    "any more].\n"
    "[stormend:<after> [stormhow:the rain stopped, and there was a rainbow|the wind grew quiet|the snow stopped, and they built a "
    "snowman|the thunder went away, and the stars came out]. \"Shall we go to the {place} now?\" asked {F}. \"No,\" said {N}, "
    "\"[Let us stay|I like it better here].\"|\"Next {day}, we will try again,\" said {F}<how>. \"[I hope that it will "
    "[stormhow:rain|blow|snow|thunder] again|I do not care about the weather|Yes, and I will bring the {color} "
    "[stormplan:blanket|kite|bucket|tent]],\" said {N}<how>.|And when it was [stormhow:raining|windy|snowing|thundering] the next time, "
    "{N} said, \"[Good|Hooray]! Let us [stormplan:have a picnic|go sailing|go fishing|camp] in the house!\"] [<end>|{N} learned that "
    "a spoiled plan can turn into a better one.|]",

    /* A race; the outcome depends on how it was run. */
    "=race",
    "<intro> [{N} could run fast|{N} loved to run], but {his} [neighbor|friend] {F} could run [fast, too|even faster].\n"
    "<oneday> there was a race {place.at}. The prize was a {color} {toy}. \"[racehow:I will win, because I am the fastest of "
    "all|I will try my best|I have to win, I want that {toy} so much],\" said {N}<how>. \"[We will see|Good luck|May the best one "
    "win],\" said {F}<how>. {T} and {number} other children lined up. \"[Ready, set, go!|One, two, three, go!]\" called the {job}.\n"
    "[They ran|Off they went], past the [bakery|well|barn] and over the [bridge|hill]. [racehow:{N} was far ahead. \"I have so "
    "much time,\" {he} thought, and {he} sat down to eat a {fruit}|{N} ran as well as {he} could, and step by step {he} "
    "passed all the others|{N} was second, right behind {F}]. <meanwhile> <suddenly> [racehow:{N} opened {his} eyes. <He> had fallen "
    "asleep, and {F} was already near the end|{he} heard a cry. {T} had fallen and could not get up|{he} saw a path between the "
    "trees. \"That way is much shorter,\" {he} thought, and no one was looking].\n"
    "[racehow:{N} jumped up and ran [like the wind|faster than ever], but it was too late. {F} won the race and got the {color} "
    "{toy}|{N} looked at the end, which was so near. Then {he} turned around and helped {T} to stand. They came in last, arm in arm, "
    "and {F} got the {color} {toy}|{N} took the short path and came in first. Everyone [cheered|clapped], and {he} got the {color} "
    "{toy}]. [racehow:<sadly>|{N} was a bit {sad}, but {T} held {his} hand.|But {N} was not {glad}. The {toy} felt [heavy|cold] "
    "in {his} hands.]\n"
    "[racehow:\"I ran badly because I was too proud,\" said {N}<how>. \"You are fast,\" said {F}, \"[but a race is not over until the "
    "end|but you must not sleep in a race].\"|\"Why did you not run on?\" asked {F}. \"Because {T} was hurt,\" said {N}<how>. {F} looked at "
    "the {color} {toy}. \"Then you should have this,\" {fhe} said. \"[You won something better|You are the real winner].\"|\"You ran "
    "so well,\" said {F}<how>. {N} could not look at {fhim}. \"No,\" {he} said, \"I took a short path. You are the winner.\" And {he} gave "
    "the {color} {toy} to {F}.] [racehow:The next time, {N} did not stop for a {fruit}, and {he} and {F} came in side by side|{N} and "
    "{T} took turns, and both of them {toy.used}|{F} was surprised. \"It takes courage to say that,\" {fhe} said, and they {toy.used} "
    "together]. [racehow:{N} had learned not to boast.|And {T} never forgot who had helped.|And {N} never cheated again.] [<endaway>|]",

    /* A seed, patience, and a number that comes back. */
    "=seed",
    "<intro> {N} [wanted|wished] to have a garden[ of {his} own|]. [{His} {mom} had a very big one.|]\n"
    "<oneday> the {job} gave {him} {sum.total} {flower} seeds. \"[Put them in the ground|Plant them in good earth], give them water "
    "every day, and wait,\" said the {job}. \"[How long must I wait?|For how long?]\" asked {N}. \"[Until they are ready|That is a "
    "secret of the seeds|Longer than you think],\" was the answer. {N} [dug|made] {sum.total} holes {outdoors} and put one seed in "
    "each of them. <He> watered them with a {color} can.\n"
    "The next day, {N} [ran out to look|went to look]. There was nothing. [The day after, there was still nothing.|After {number} days, "
    "there was still nothing.] \"[Grow, seeds, grow!|Hurry up!]\" said {N}<how>. [seedhow:<He> sang them a song every morning|<He> put a "
    "fence of sticks around them|<He> told them a story about a {beast}]. {F} came by and laughed. \"[seedlaugh:Nothing will ever grow "
    "there|Seeds are boring, come and play {game}|You should dig them up and look],\" said {F}<how>. \"[No|Not today], I will [wait|take care "
    "of them],\" said {N}<how>. But {he} was [a bit {sad}|not so sure].\n"
    "[seedbad:That night, a {animal} came and ate {sum.given} of the seeds|Then a storm came and washed {sum.given} of the seeds "
    "away|Then the crows came and took {sum.given} of the seeds]. There had been {sum.total}, so now {N} had only {sum.left}. [\"I "
    "will take even better care of you,\" {he} said.|<sadly> But {he} did not give up.] <He> took the {color} can and gave them "
    "water. [seedhow:And {he} sang the song again.|And {he} made the fence higher.|And {he} told them how the story of the {beast} "
    "went on.]\n"
    "<oneday> there was something [small and green|green] in the earth. {N} [seedbad:chased the {animal} away|held {his} {clothes} over "
    "it when it rained|built a scarecrow with {his} old {clothes}]. It grew, and grew, and at the end of summer there [stood|were] "
    "{sum.left} tall plants full of {color2} {flower.many}. {F} came by again and [stared|opened {fhis} mouth]. \"[seedlaugh:I said "
    "that nothing would grow. I was wrong|They are better than any game of {game}|I am glad that you did not dig them up],\" said "
    "{F}. {N} [laughed|smiled] and gave {fhim} some {flower.many}. <He> took the others to the {job}, who had given {him} the seeds. "
    "\"You know how to wait,\" said the {job}. [<endaway>|]",

    /* A map with three clues, in order; what is found is shared as was agreed. */
    "=map",
    "<intro>\n"
    "<oneday> {N} [found|discovered] an old map {indoors}. [\"A treasure map!\" {he} cried.|It was [yellow and thin|full of dust].] <He> "
    "ran to {F}. \"Will you look for the treasure with me?\" asked {N}. \"[mapdeal:If we share it|If I may carry the map|If we are back "
    "before dinner],\" said {F}<how>. \"[I promise|Of course|That is fair],\" said {N}<how>.\n"
    "The map said, \"Go to the {place}. [Look for|Find] the {color} [mapsign:stone|door|tree|flag]. Then walk {number} steps to the "
    "[mapdir:north|south|east|west], and look {outdoors}.\" [mapdeal:{N} held the map|{F} carried the map|{N} looked at the "
    "clock], and they [set off|started at once]. <meanwhile> On the way they met a {beast.adj} {beast}. \"Where are you going?\" asked "
    "the {beast}. \"To the {place},\" said {N}<how>. \"[mapbeast:Take me with you|Take care, the path is slippery|There is no treasure, only "
    "old things],\" said the {beast}. [mapbeast:\"Come along,\" said {F}|They went slowly and did not fall|\"We will see,\" said {F}].\n"
    "At the {place}, they looked [left and right|everywhere]. \"There is the {color} [mapsign:stone|door|tree|flag]!\" [cried|said] {F}. "
    "They turned to the [mapdir:north|south|east|west] and counted to {number}. Then {N} looked {outdoors}. There was "
    "a [box|chest|bag]! [It was locked|It was hard to open], but [mapbeast:the {beast} pulled with them, and it opened|{N} "
    "found the key under it|after a while it opened].\n"
    "[Inside was|In it lay|They found] a {treasure}[ and {number2} {fruit.many}|]. [mapbeast:\"What is that?\" asked the {beast}.|\"Be "
    "careful with it,\" said {F}<how>.|\"It is only an old thing,\" said {F}, \"but it is so pretty!\"] [mapdeal:\"We said that we would "
    "share,\" said {N}<how>. So the {treasure} stayed with {F} for a week, and then with {N} for a week|\"You carried the map well, so you "
    "may have the {treasure},\" said {N}, and {he} kept the map|\"Look at the sun! We must go home, I promised,\" said {N}, and they "
    "ran home and were there just before dinner]. [mapbeast:The {beast} got [a hug|some of their bread] and was {glad}|They went back "
    "on the slippery path, hand in hand|But when the {treasure} was cleaned, it shone like {color2} light]. [<end>|\"Tomorrow we will "
    "draw a new map,\" said [{F}|{N}], \"so that someone else can find something {outdoors}.\"]",

    /* Lost in a crowd; what the grown-up wore leads back. */
    "=market",
    "<intro> \"[Today we go to the market|Let us go to the fair|We are going to town],\" said {his} {mom} on {day}. {Mom} put on {mhis} "
    "{color} {clothes}, and {N} took {his} {toy}. \"[Hold my hand|Stay close to me],\" said {his} {mom}, \"and if we lose each other, "
    "[lostrule:stand still and wait|ask the {job}|go to the fountain].\" \"I will,\" said {N}<how>.\n"
    "There was so much to see! There were {fruit.many} and {flower.many}, a man with a {animal}, and a [woman|girl] who "
    "[sang|danced|played the flute]. {N} stopped to look at [a {color2} {toy2}|the {animal}|{number} {color2} birds in a cage]. When "
    "{he} turned around, {his} {mom} was [gone|not there any more]. \"{Mom}?\" {he} called. [There were only strangers.|No one "
    "answered.|People pushed past {him}.] <sadly> <He> held {his} {toy} tight.\n"
    "Then {N} remembered what {his} {mom} had said. [lostrule:<He> stood still and waited|<He> looked for the {job}|<He> went to the "
    "fountain]. \"[Are you lost?|Where is your family?|Are you all alone?]\" asked [lostrule:a kind woman|the {job}|a girl named {F} "
    "by the fountain]. \"[Yes|I lost my {mom}|I cannot find my {mom}],\" said {N}<how>. \"What does {mhe} look like?\" {N} thought. \"{mhe} "
    "wears a {color} {clothes},\" {he} said. [lostrule:The woman|The {job}|{F}] [climbed on a box|stood on a chair] and looked. \"I see "
    "a {color2} {clothes2},\" [lostrule:the woman|the {job}|{F}] said. \"[No, that is not right|No, not {color2}],\" said {N}<how>. \"And now I "
    "see a {color} {clothes}!\" \"[That is {mhim}!|Yes, {color}!]\" {N} [cried|shouted].\n"
    "{His} {mom} came running and [took {him} in {mhis} arms|hugged {him}]. \"I looked for you everywhere! What did you do?\" {mhe} "
    "asked. \"[lostrule:I stood still and waited|I asked the {job}|I went to the fountain], as you said,\" said {N}<how>. \"You did "
    "[everything right|just the right thing],\" <mkindly>. They thanked [lostrule:the woman|the {job}|{F}] and bought [some "
    "{fruit.many}|a {fruit}|a bag of {fruit.many}]. All the way home, {N} held on to the {color} {clothes}. [<end>|]",

    /* Shopping with coins; the sum comes out, and a good deed comes back. */
    "=coins",
    "<intro> {N} had {coins.total} coins in a {color} purse. [<He> had saved them for a long time.|<He> had helped the {job} all "
    "summer to earn them.] <He> wanted to buy a {color2} {toy}.\n"
    "<oneday> {N} [went|walked] to the shop. \"How much is the {color2} {toy}?\" {he} asked. \"It costs {coins.price} coins,\" said the "
    "man in the shop. [coinhow:{N} counted {coins.price} coins into his hand. \"You have {coins.left} left,\" said the man|But when {N} "
    "looked for the {color} purse, it was gone. There was a hole in {his} pocket|But before {N} could pay, an old woman came in. \"I "
    "have no money for bread today,\" she said softly]. [coinhow:{N} {toy.used} in front of the shop. <heart>|<sadly>|{N} looked at the "
    "{toy}, and then {he} looked at the woman.]\n"
    "[coinhow:On the way home, {he} met {F}, who was {sad}. \"I wanted to buy a {fruit}, but I lost my money,\" said {F}<how>. {N} felt the "
    "{coins.left} in {his} purse. \"You can have what I have left,\" {he} said.|{N} went back and looked {outdoors} and {outdoors2}. <He> "
    "asked everyone. \"What does it look like?\" asked {F}. \"It is {color}, and there are {coins.total} coins in it,\" said {N}<how>. \"Then it "
    "is yours,\" said {F}<how>. \"I found it {outdoors3}.\"|\"I will pay for the bread,\" said {N}<how>. It cost {coins.price} coins, so there were "
    "only {coins.left} in the {color} purse. The {color2} {toy} stayed in the shop.] [coinhow:{F} [was so {glad}|smiled], and they ate "
    "the {fruit} together.|{N} counted. All {coins.total} coins were there! \"You are very honest,\" {he} said.|\"[Thank you, my "
    "child|Bless you],\" said the woman. \"[I will not forget it|You have a good heart].\"]\n"
    "[coinhow:On {day}, {F} came to the house {home}. \"You gave me your coins, so I brought you something,\" {fhe} said. It was a little "
    "{color3} {treasure}. {N} put it next to the {color2} {toy}|Then {he} went to the shop and bought the {color2} {toy} for "
    "{coins.price} coins. With the {coins.left} that {he} had left, {he} bought a {fruit} for {F}. And {his} {mom} sewed up the hole in "
    "{his} pocket|On {day}, there was a box in front of the house {home}. In it was the {color2} {toy}! The old woman had worked "
    "in the shop to earn it. \"For the <kind> with the {color} purse,\" a note said]. [<end>|{N} learned "
    "that [what you give comes back|money is not everything|a good deed is never lost].|<end>]",

    NULL,
};
