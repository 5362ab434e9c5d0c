/* Plots of the built-in corpus that happen at home. */
#include <stddef.h>

#include "core/data/corpus_source.h"

const char *const corpus_plots_home[] = {
    /* Something is lost and found again where it was last used. */
    "=lost",
    "<intro> {N} had a {look} {color} {toy} that {he} loved more than anything. [Every day|Each morning|Whenever {he} could], "
    "{he} {toy.used} [and laughed|for hours|and sang a song|with a smile].\n"
    "<oneday> {N} wanted to {toy.use}, but the {color} {toy} was [gone|not there|nowhere to be seen]. <sadly> "
    "\"[Where is my {toy}?|Oh no, my {toy}!|I have lost my {toy}!]\" {he} [said|called|sobbed]. {N} looked {indoors}, but there was only "
    "[an old sock|dust|a {color2} {toy2}|a spoon|a sleeping cat]. <He> looked {indoors2}, but [it was not there|found nothing] "
    "[either|at all|].\n"
    "\"[What is wrong|Why do you look so sad|What are you looking for], {N}?\" asked {his} {mom}. \"I cannot find my {color} "
    "{toy},\" said {N}<how>. {His} {mom} [sat down|thought for a moment|put {mhis} arm around {him}]. \"[When did you last have "
    "it?|Where did you play with it?|Where were you when you had it last?]\" {mhe} asked. \"[Yesterday|Last night|This morning], "
    "I {toy.used} {place.at},\" said {N}<how>. \"[Then let us look there|Then we will go to the {place}|Come, let us go to the "
    "{place} and look],\" said {his} {mom}.\n"
    "So they went to the {place}[ together| hand in hand|]. <meanwhile> They looked {outdoors}. [Nothing.|No {toy}.|It was not "
    "there.] Then {N} looked {outdoors2}, and there was [something {color}|the {toy}, {color} and {look}|{his} {color} "
    "{toy}]! \"[I found it!|Here it is!|Hooray, my {toy}!]\" {N} [shouted|called|cried happily]. "
    "[lostend:<He> hugged the {toy} and {toy.used} all the way home. From then on, {N} always put the {toy} back {indoors} "
    "when {he} was done.|Beside it sat a small {animal}, which had [kept it warm|guarded it all night]. {N} gave the {animal} "
    "some {animal.food} to thank it, and then {he} {toy.used} once more.|\"Thank you for helping me, {Mom},\" {he} said. "
    "\"You only had to remember,\" <mkindly>.] [<heart>|]\n"
    "[lostend:{N} had learned to take good care of {his} things. <end>|<end>|<end>]",

    /* Baking, with something missing that a neighbor lends, and a promise kept. */
    "=bake",
    "<intro> {N} liked to [help in the kitchen|bake|cook] with {his} {mom}.\n"
    "<oneday> {his} {mom} said, \"[Today is|Tomorrow is] [bakewhy:the birthday of {F}|the village fair|the day {F} comes to "
    "visit]. Let us make a {treat}.\" \"[Yes!|Hooray!|Oh, yes!]\" [said|cried|shouted] {N}, and {he} put on a {color} apron. "
    "[They washed their hands.|{His} {mom} took out a big bowl.|{N} climbed on a stool.|] {N} [got|found|fetched] the "
    "{treat.first}, but there [bakemiss:were no {treat.second} left|was not enough of the {treat.second}].\n"
    "\"[Oh no!|Oh dear!] We cannot make a {treat} without {treat.second},\" said {N}<how>. \"[Run|Go] to the {job} and ask,\" "
    "<mkindly>. So {N} [ran|hurried|skipped] to the {job.place} and [knocked|knocked on the door|rang the bell]. \"[Good "
    "morning|Hello|Please], may I have some {treat.second}?\" {he} asked. \"What is it for?\" asked the {job}. \"We are making a "
    "{treat} for [bakewhy:the birthday of {F}|the village fair|{F}],\" said {N}<how>. \"Then take this,\" said the {job}. "
    "\"[bakeprice:But you must promise to bring me a slice|But promise to tell me how it tastes|But please bring back my {color2} "
    "bowl].\" \"I promise,\" said {N}<how>.\n"
    "Back home, {N} [stirred and stirred|mixed everything|stirred until {his} arm hurt]. [bakemess:<He> spilled some of the "
    "{treat.first} on the floor, but {he} cleaned it up.|The cat stole some of the {treat.first}, and everyone laughed.|<He> "
    "licked the spoon when no one was looking.] They put the {treat} in the oven, and soon the [whole house|kitchen] smelled "
    "[wonderful|good|sweet]. <waited>\n"
    "[bakewhy:When {F} saw the {treat}, {fhe} clapped {fhis} hands. \"A birthday {treat} for me!\" {fhe} said.|At the fair, "
    "everyone wanted a piece of the {treat}, and it won a {color} ribbon.|When {F} came, they all sat down and ate. \"This is the "
    "best {treat} I ever had,\" said {F}<how>.] But {N} had not forgotten {his} promise. [bakeprice:<He> cut a big slice and took it "
    "to the {job}.|<He> ran to the {job} and said, \"It tastes [sweet|wonderful|like sunshine]!\"|<He> washed the {color2} bowl and "
    "took it back to the {job}.] \"You kept your promise,\" said the {job}, [smiling|who was very {glad}]. "
    "[bakemess:{N} smiled. \"And I even cleaned the floor!\" {he} said.|\"The cat liked it too!\" said {N}<how>.|There was still a "
    "little {treat.first} on the nose of {N}.] <end>",

    /* A present made by hand; a mishap changes it. */
    "=gift",
    "<intro>\n"
    "<oneday> {N} [remembered|heard] that it was almost the birthday of {his} {mom}. {N} had [no money|only one coin|an empty "
    "purse], so {he} [decided|made up {his} mind] to make a present. \"[What does {Mom} like?|What would make {Mom} happy?]\" "
    "{he} [thought|wondered]. <He> remembered that {his} {mom} loved [giftlike:{flower.many}|the color {color}|music|birds].\n"
    "[giftlike:{N} took paper and paint and began to paint a picture of {number} {flower.many}|{N} took wool and needles and began "
    "to knit a {color} {clothes}|{N} took wood and strings and began to build a small guitar|{N} took wood and nails and began to "
    "build a little house for birds]. <He> worked [in the attic|in the shed|late at night|behind a locked door], so that no one would see. [It took {number2} days.|It was hard "
    "work.|Each evening {he} worked a bit more.|] <suddenly> [giftbad:{he} knocked over a cup of tea, and a brown spot spread "
    "over [giftlike:the picture|the {clothes}|the guitar|the roof]|{his} sleeve caught, and there was a [giftlike:tear in the "
    "paper|hole in the {clothes}|crack in the wood|crack in the wall]]. \"[It is ruined!|Now it is spoiled!]\" {N} [said|gasped|sobbed]. "
    "<sadly>\n"
    "{F} came [by|in] and [saw|looked at] it. \"[Do not cry|Do not give up|Wait], {N},\" said {F}<how>. \"[giftbad:You can turn the "
    "spot into a {animal}|You can cover it with a {color2} heart].\" \"[That is a good idea|What a clever thought|I will try "
    "that],\" said {N}<how>. So {he} [giftbad:turned the brown spot into a little {animal}|made a {color2} heart and put it right "
    "there]. [Now it looked even better.|Soon you could not see what had happened.|It looked lovely.]\n"
    "On the birthday, {N} [gave|handed] the present to {his} {mom}. {Mom} [opened it slowly|untied the string|took off the "
    "paper]. \"[giftlike:You painted {flower.many}, my favorite|A {clothes}, and it is {color}, my favorite color|A guitar! You know "
    "how I love music|A house for the birds! You know how I love them]!\" {mhe} said. \"And I like the [giftbad:little "
    "{animal}|{color2} heart] best of all.\" {N} [winked at|smiled at|looked at] {F}. [giftlike:The picture still hangs in the "
    "house {home}.|{His} {mom} wore the {clothes} every winter.|That evening, there was music in the house {home}.|In spring, "
    "{number} little birds lived in it.] [<end>|{N} learned that a mistake can become something good.|A gift made with love is "
    "the best gift of all.]",

    /* Building something that falls down, with the right help it stands, and then it is needed. */
    "=build",
    "<intro> {N} and {his} friend {F} [liked|loved] to build things.\n"
    "<oneday> {F} said, \"Let us build a [buildwhat:tree house|bridge over the stream|big raft|fort]!\" \"[What will we build it "
    "with?|What do we need?]\" asked {N}. \"With [buildof:old boards|branches|boxes and rope],\" said {F}<how>. They carried "
    "[buildof:the boards|the branches|the boxes] to the {place} and [began to work|set to work|started at once]. {N} wanted to "
    "make it {color}, but {F} wanted it to be {color2}.\n"
    "They worked [all morning|for {number} hours|until lunch]. <meanwhile> <suddenly> there was a loud crack, and the [buildwhat:"
    "tree house|bridge|raft|fort] [fell apart|fell down|broke in two]. \"[This is no good|We will never do it|It is too hard],\" "
    "said {F}, who was {sad}. \"[We can try again|Let us not give up|Let us find out why],\" said {N}<how>. So they went to the {job} "
    "{home2} and asked, \"Why does our [buildwhat:tree house|bridge|raft|fort] not hold?\" The {job} [looked at it|nodded slowly|thought] and said, \"[buildof:The boards need long nails|The branches must be tied with rope|Boxes get weak when "
    "they are wet]. [buildof:Here are {number2} nails|Here is a good rope|Cover them with this cloth].\"\n"
    "\"[buildof:Long nails! Of course|A rope! That is it|A cloth! How clever]!\" [said|cried] {N}. They began again, and this time "
    "it [held|did not fall]. [buildpaint:At the end, they painted one half {color} and one half {color2}.|In the end, they painted "
    "it {color}, because {F} said it was fair.|Then they painted it {color2}, and {N} did not mind at all.]\n"
    "[buildwhat:That night there was a storm, but the next day the tree house still stood, and a {animal} was asleep in it|The "
    "next day, an old {beast} wanted to cross the stream, and the bridge was strong enough|On {day2}, they sailed on the raft all "
    "the way to an island|On {day2}, it rained, but inside the fort they were warm and dry]. \"[Our|Look, our] "
    "[buildpaint:{color} and {color2}|{color}|{color2}] [buildwhat:tree house|bridge|raft|fort] is the best in the world,\" said "
    "{F}. [\"And we did not give up,\" said {N}<how>.|\"That is because of [buildof:the nails|the rope|the cloth],\" said {N}, and "
    "they both laughed.|They took the {job} a [basket|bag] of {fruit.many} to say thank you.] <end>",

    /* A surprise party; the secret is nearly told; the wish of the beginning is the gift of the end. */
    "=surprise",
    "<intro> {His} best friend was {F}. {F} [often|always] [said|told {him}], \"I wish I had a {color} {toy}.\"\n"
    "<oneday> {N} [heard|learned] that on {day2} it would be the birthday of {F}. \"Let us make a surprise party,\" said {his} "
    "{mom}. \"But it is a secret. [Can you keep it?|Do not tell {F}!|Not a word to {F}!]\" \"[I can keep a secret|I will not tell "
    "anyone|I will be as quiet as a mouse],\" said {N}<how>. <He> made {number} [surpthing:paper stars|{color2} flags|little cards], and {T} "
    "[baked|brought] a {treat}. They hid everything {indoors}.\n"
    "[But it was hard to keep the secret.|Keeping a secret is not easy.] \"[Why are you smiling|What are you doing|Why do you "
    "whisper], {N}?\" asked {F}. [surpslip:{N} almost told {fhim}. \"I, I was thinking of a [funny story|joke],\" {he} said|{N} put "
    "{his} hand over {his} mouth and ran home|\"I am counting the days until {day2},\" said {N}, and then {he} turned red]. {F} "
    "[surpslip:asked to hear it, and {N} had to think fast|was {sad}, because {fhe} thought that {N} was angry|did not understand, "
    "but {fhe} began to count, too]. {N} [wanted to tell {fhim} everything|nearly burst], but {he} [had promised|kept {his} word].\n"
    "On {day2}, {F} came to the house {home}. It was dark and still. <suddenly> everyone jumped out and shouted, \"Surprise!\" {F} "
    "saw the {number} [surpthing:paper stars|{color2} flags|little cards], the {treat} and all {fhis} friends. \"So that is why you [surpslip:told no joke|ran "
    "away|counted the days]!\" said {F}<how>. {N} [nodded|laughed] and gave {fhim} a box. [Inside was|In it was|{F} opened it and found] "
    "a {color} {toy}. \"[You remembered|Just what I wished for|A {toy}, and it is {color}]!\" cried {F}, and {fhe} {toy.used} "
    "[at once|right away]. [\"I [told no one|kept the secret],\" said {N}<how>.|{F} gave {N} the biggest piece of the {treat}.|{T} "
    "sang a song, and they danced until bedtime.] [<end>|It is hard to keep a secret, but the surprise is worth it.]",

    /* A noise in the night, and what made it. */
    "=night",
    "<intro> {N} was not afraid of [dogs|thunder|spiders|high trees], but {he} did not like the dark. [Each night|At bedtime], "
    "{he} held {his} {color} {toy} [tight|close|in {his} arms].\n"
    "One night, {N} woke up. There was a noise: [nightwhat:scratch, scratch|tap, tap, tap|squeak, squeak|whoo, whoo]! It came from "
    "[nightwhere:the roof|under the bed|the window|behind the door]. \"[Who is there?|What is that?|Is it a monster?]\" {N} "
    "[whispered|asked in a small voice]. [nightwhat:Scratch, scratch|Tap, tap, tap|Squeak, squeak|Whoo, whoo], went the noise. {N} "
    "[pulled the blanket over {his} head|shook with fear|lay very still]. <He> [thought of|could almost see] a monster with "
    "{number} [{color2} eyes|long teeth|hairy arms].\n"
    "[nightwho:<He> called, and {his} {mom} came with a lamp. \"What is wrong?\" {mhe} asked. \"There is a monster at "
    "[nightwhere:the roof|my bed|the window|the door],\" said {N}<how>. \"[Then let us look at it together|Monsters are afraid of light|We "
    "will see],\" <mkindly>.|But {N} was {trait}, and {he} wanted to know. <He> took a lamp in one hand and the {toy} in the other. "
    "\"I am not afraid,\" {he} told the {toy}.] Step by step, [nightwho:they|{he}] went to look [nightwhere:out at the roof|under the "
    "bed|out of the window|behind the door]. {N} held {his} breath.\n"
    "[There was no monster.|It was not a monster at all.] [nightwhat:It was only a little {animal} that scratched to be let in from "
    "the cold|It was only a branch that tapped in the wind|It was only a mouse with a nut, as small as a thumb|It was only an owl, "
    "calling its friend]. {N} laughed. \"[nightwhat:You may sleep in my {clothes}|Good night, branch|Eat well, mouse|Good night, "
    "owl],\" {he} said. [nightwho:\"You see, things look smaller in the light,\" said {his} {mom}.|\"You and I were very brave,\" {he} "
    "said to the {toy}.] {N} went back to bed with {his} {color} {toy}. When the noise went [nightwhat:scratch, scratch|tap, tap, "
    "tap|squeak, squeak|whoo, whoo] again, {he} [only smiled|was not afraid|did not even wake up]. [In the morning, {he} told "
    "[nightwho:{F}|{his} {mom}] about [nightwhat:the {animal}|the branch|the mouse|the owl].|From that night on, the dark was just "
    "the dark.]",

    /* A warning that is not heeded; the consequence, the help and the lesson fit the warning. */
    "=disobey",
    "<intro> {N} [did not always listen|liked to do things {his} own way|sometimes forgot what {he} was told].\n"
    "<oneday> {his} {mom} said, \"[I am going to the {job}|I have to go out|I must work in the garden]. [Please|Remember], do not "
    "[dis:touch the hot stove|climb the old wall|eat the {fruit.many}|open the gate|play near the {look} vase].\" \"[Why "
    "not?|Why?]\" asked {N}. \"Because [dis:it can burn you|the stones are loose|they are for {F}|the {beast} will run away|it can "
    "break],\" said {his} {mom}. \"[All right|Yes, {Mom}|I promise],\" said {N}<how>.\n"
    "But when {his} {mom} was gone, {N} [dis:saw a pan on the stove|looked at the wall|smelled the {fruit.many}|looked at the "
    "gate|took out {his} {color} {toy} right by the vase]. \"[Just once|Only a bit|No one will know|It will be fine],\" {he} "
    "[thought|told {himself}]. <He> [dis:touched the stove with one finger|climbed up, step by step|ate one, then another, until all "
    "{number} were gone|opened the gate just a bit|{toy.used}, faster and faster]. <suddenly> [dis:it hurt very much, and {N} "
    "screamed|a stone slipped, and {N} fell and hurt {his} knee|{his} belly began to ache|the {beast} pushed past {him} and ran down "
    "the road|the vase fell and broke into {number} pieces]. <sadly>\n"
    "[After a while|Soon], {his} {mom} came back. \"What happened?\" {mhe} asked. [dishon:{N} told {mhim} the truth. \"I did not "
    "listen,\" {he} said. \"I am sorry.\"|\"Nothing,\" said {N}<how>. But {his} {mom} looked at {him}, and then {N} began to cry. \"It was "
    "me,\" {he} said.|\"It was the cat,\" said {N}<how>. \"We have no cat,\" said {his} {mom}. {N} looked at {his} feet. \"Then it was me,\" "
    "{he} said softly.] {His} {mom} [dis:put cool water on {his} finger|washed {his} knee|made {him} some tea|ran after the {beast} "
    "with a rope and brought it home|picked up the sharp pieces]. \"[dishon:I am glad that you told the truth|The truth is always "
    "better, even when it is hard|A lie makes it worse, but now you have told the truth],\" {mhe} said.\n"
    "{N} wanted to make it right. [dis:<He> set the table and did not go near the stove|<He> painted a sign for the wall, so that no one else would climb it|"
    "<He> picked new {fruit.many} for {F}|<He> gave the {beast} some water and closed the gate well|<He> glued the vase together, and "
    "it took all day]. [dis:The finger was {color2} for a week|The knee had a {color2} bandage for a week|The next day, {his} belly was "
    "fine again|The {beast} was [glad|happy] to be back|It looked a little crooked, but {his} {mom} put a {flower} in it]. [The next time|From "
    "then on, when] {his} {mom} said no, {N} [dis:stayed away from the stove|did not climb|kept {his} hands in {his} pockets|did not "
    "open the gate|played outside]. [{N} had learned to listen.|<He> knew that a warning is there for a reason.|{N} never forgot [dis:the hot stove|the old wall|the {fruit.many}|the gate|the vase].]",

    NULL,
};
