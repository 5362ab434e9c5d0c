/* Plots of the built-in corpus between two children. */
#include <stddef.h>

#include "core/data/corpus_source.h"

const char *const corpus_plots_friends[] = {
    /* Sharing food, or not; what the other one does later follows from it. */
    "=share",
    "<intro> {N} [loved|liked] {fruit.many} [very much|more than anything else to eat].\n"
    "<oneday> {his} {mom} gave {him} {sum.total} {fruit.many} in a {color} bag. {N} went to the {place} to eat them. There {he} "
    "[met|saw] {F}, who [sat {outdoors}|was all alone|was playing with a {color2} {toy}]. \"What do you have in your {color} bag?\" "
    "asked {F}. \"{sum.total} {fruit.many},\" said {N}<how>. \"I am so hungry. May I have [some|one or two]?\" asked {F}.\n"
    "[sharehow:\"[Of course|Sure|Yes, you may]!\" said {N}<how>. <He> gave {F} {sum.given} {fruit.many}|\"No,\" said {N}, \"they are all mine.\" "
    "{F} turned around and went away|{N} did not want to. But then {he} saw how thin {F} was, and {he} gave {fhim} {sum.given} "
    "{fruit.many}]. [sharehow:Now {N} had {sum.left} {fruit.many}, and {F} had {sum.given}|{N} ate all {sum.total} {fruit.many} by "
    "{himself}, and {his} belly began to hurt|That left {sum.left} {fruit.many} for {N}]. [sharehow:They sat {outdoors2} and ate. "
    "\"[These are good|They taste sweet],\" said {F}<how>.|<sadly> \"Why did I eat so many?\" {he} asked {himself}.|{N} was surprised, because "
    "the {sum.left} {fruit.many} tasted better than ever before.]\n"
    "[<after>|The next day,] {N} saw {F} again. {F} had a {color2} {toy} and {toy.used}. \"[What a nice {toy}!|I have never had a {toy} like that,]\" said {N}<how>. \"[May I play with it, too?|Can I try it?]\" [sharehow:\"You shared your {fruit.many} with me, so I will "
    "share my {toy} with you,\" said {F}<how>.|{F} held the {toy} tight. \"You did not share your {fruit.many} with me,\" said {F}<how>. {N} [turned "
    "red|looked at {his} feet]. \"You are right. I am sorry,\" {he} said.|\"I know that it was hard for you to share,\" said {F}, \"so you "
    "may have the first turn.\"] [sharehow:And they {toy.used} together until the sun went down.|<He> ran home and came back with a big "
    "{fruit}, and {he} gave it to {F}. {F} smiled. \"Now we can both play,\" {fhe} said.|{N} {toy.used}, and then {he} gave it back to "
    "{F}, and so it went on and on.]\n"
    "[sharehow:{N} gave the empty {color} bag to {F}, and {F} put a {flower} in it|In the {color} bag there was nothing left, but {N} had "
    "a friend|At home, {he} folded the {color} bag and put it away for the next time]. [sharehow:Sharing makes friends.|{N} learned that "
    "it is no fun to have everything and be alone.|It was not so hard to share after all.] [<endaway>|]",

    /* A new child who is shy; what they have in common, and a promise for a day. */
    "=newfriend",
    "<intro>\n"
    "<oneday> a new family moved in next door. They had a {fboy} named {F}. {F} had a {color} {toy} and [sat on the steps|stood by the "
    "fence|looked at the ground]. \"[Hello|Hi|Good morning]! My name is {N}. What is your name?\" asked {N}. \"{F},\" was the [quiet|soft] "
    "answer. \"Where do you come from?\" asked {N}. \"From a house {home2},\" said {F}<how>. \"[newsad:I miss my old friends|I miss my {animal}|"
    "I do not know anyone here].\" And {fhe} looked {sad}.\n"
    "{N} [thought about it all evening|could not stop thinking of {F}]. \"How can I [make {F} happy|cheer {F} up]?\" {he} asked {his} {mom}. \"[What does {F} like?|Find out what you both like,]\" <mkindly>. So the next day, {N} took {his} own {toy}, which was {color2}, and went "
    "[over|next door]. \"Look, I have a {toy}, too,\" said {N}<how>. \"[Mine is {color2}, and yours is {color}|Yours is {color}, but mine is "
    "{color2}].\" {F} looked up. \"[newlike:Can you {toy.use}?|Do you also like {fruit.many}?|Do you know how to play {game}?]\" {fhe} asked. "
    "\"[newlike:Yes, watch me|I love {fruit.many}|It is my favorite game]!\" said {N}<how>. [newlike:And {he} {toy.used}|And {he} gave {fhim} "
    "a {fruit}|And they played {game}]. [For the first time, {F} laughed.|{F} began to smile.]\n"
    "\"[Will you come again?|Can we play again tomorrow?|When will you come back?]\" asked {F}. \"On {day}, I promise,\" said {N}<how>. But on "
    "{day}, [newwhen:it rained and rained|{N} had a cold|{his} {mom} needed help in the garden]. {F} [sat at the window|waited] and "
    "thought, \"{N} will not come.\" Then there was a knock. There stood {N}, [newwhen:wet from head to foot under {his} umbrella|with a warm {clothes} around {his} shoulders|with earth on {his} hands]. \"[newwhen:But it is raining|But you have a cold|But you had so much to "
    "do]!\" said {F}<how>. \"I promised,\" said {N}<how>.\n"
    "[newlike:They {toy.used} until it was dark, first with the {color} {toy}, then with the {color2} one|They shared {number} "
    "{fruit.many}, and they were sweet|They played {game}, and {F} won {number} times]. \"[newsad:I still miss my old friends, but now I have "
    "a new one|I still miss my {animal}, but now I have you|Now I know someone here],\" said {F}<how>. [And from then on, every {day} they "
    "{toy.used} together.|Since that {day}, {N} and {F} have been the best of friends.|They traded, so {N} got the {color} {toy}, and {F} "
    "got the {color2} one.] [<endaway>|]",

    /* A borrowed thing breaks; truth or hiding decides what follows. */
    "=borrow",
    "<intro> {His} friend {F} had a {look} {color} {toy}. \"[May I borrow|Can you lend me] your {toy}?\" asked {N}. \"[Yes|All right|You may], "
    "but you must give it back on {day},\" said {F}, \"because [borwhy:my {mom} gave it to me|I need it for the fair|I take it to the {place} "
    "every week].\" \"I promise,\" said {N}<how>.\n"
    "{N} took the {toy} to the {place2}. <He> {toy.used}, and it was [great fun|wonderful]. <meanwhile> <suddenly> [borhow:{he} slipped, and "
    "there was a crack in the {toy}|the {toy} fell in the water and floated away|a {animal} grabbed the {toy} and ran off with it]. <sadly> "
    "\"What will {F} say?\" {he} thought. \"[borwhy:It was a present|It is for the fair|Now there will be no {toy} at the {place}].\"\n"
    "[bortell:\"I must tell the truth,\" said {N} to {himself}, and {he} went to {F}|\"I will just hide,\" thought {N}, and {he} did not go "
    "to see {F}|\"I will say that someone took it,\" thought {N}, and {he} went to {F}]. [bortell:\"[borhow:I cracked your {toy}|I lost your "
    "{toy} in the water|A {animal} took your {toy}],\" {he} said. \"I am so sorry.\"|On {day}, {F} came to the house {home}. \"Where is my "
    "{toy}?\" {fhe} asked. {N} looked at the floor. \"[borhow:It has a crack|It floated away|A {animal} took it],\" {he} said at last.|\"A "
    "thief took your {toy},\" {he} said. \"A thief? What did he look like?\" asked {F}. {N} could not answer. \"There was no thief,\" {he} "
    "said. \"[borhow:I cracked it|It floated away|A {animal} ran off with it].\"] {F} was quiet. \"[bortell:Thank you for telling me.|You "
    "should have told me sooner.|Why did you lie to me?]\" [bortell:|\"I was afraid,\" said {N}<how>.|\"I was afraid that you would be "
    "angry,\" said {N}<how>.]\n"
    "\"[Let us see what we can do|Maybe we can make it right|Come, we will think of something],\" said {F}<how>. [borhow:They took the {toy} to the "
    "{job}, who glued it and painted it {color2}|They walked along the water, and {outdoors} they found the {toy}, wet but whole|They "
    "followed the {animal} to its {animal.home}, and there lay the {toy}. They gave the {animal} some {animal.food}, and it let go]. "
    "[borhow:\"Now it is {color2} and not {color}, but I like it even more,\" said {F}<how>.|\"It swims well,\" said {F}, and they both "
    "laughed.|\"It only wanted something to play with,\" said {F}<how>.] [borwhy:\"And my {mom} will never know,\" {fhe} added|They were just in "
    "time for the fair|Then they took it to the {place} together].\n"
    "[bortell:{N} was [glad|happy] that {he} had told the truth at once|{N} never hid from a friend again|{N} never told a lie again]. [{F} even "
    "lent {him} the {toy} again.|\"Next time, we will {toy.use} together,\" said {F}<how>.|{N} gave {F} {his} own {color3} {toy2} for a week.] "
    "[<end>|]",

    /* A chain of trades that ends where it is wanted. */
    "=trade",
    "<intro> {N} wanted a {color} {toy}, but all {he} had was a {fruit}.\n"
    "<oneday> {N} [took the {fruit} and went for a walk|put the {fruit} in {his} pocket and set off]. First, {he} met {F}, who was [very "
    "hungry|so hungry]. \"May I have your {fruit}?\" asked {F}. \"I will give you [this|my] {treasure} for it.\" \"[That is fair|All right|It "
    "is a trade],\" said {N}<how>. So {F} ate the {fruit}, and {N} had a {treasure}.\n"
    "[Next|Then|A bit later], {N} came to the {job.place} and met the {job}. The {job} was {sad}. \"[tradewhy:Tomorrow my wife has her "
    "birthday, and I have no present|I have nothing pretty in my whole house|My little girl is ill, and I want to cheer her up],\" said the "
    "{job}. \"Would [tradewhy:she|you|she] like a {treasure}?\" asked {N}. [tradewhy:\"She loves such things|\"Very much|\"Oh, yes, very much],\" said the "
    "{job}, and gave {him} a {color2} {clothes} for it. So the {job} had the {treasure}, and {N} had a {clothes}. [It was too big for "
    "{him}, but it was warm.|{N} put it on and walked on.|]\n"
    "<meanwhile> [It grew cold.|A cold wind began to blow.] {Outdoors} sat {T} and shivered. \"I am so cold,\" said {T}. All {T} "
    "had was a {color} {toy}. {N} looked at it for a long time. [tradehow:\"Will you give me the {toy} for this {clothes}?\" asked {N}. "
    "\"Yes, please,\" said {T}|Then {he} gave {T} the {color2} {clothes}. \"You do not have to give me anything,\" said {N}<how>. \"But I want to,\" "
    "said {T}, and held out the {toy}|\"Let us share,\" said {N}<how>. \"The {clothes} is big enough for two.\" \"Then the {toy} is for both of us, "
    "too,\" said {T}]. [tradehow:Now {T} was warm in the {color2} {clothes}, and {N} had {his} {toy}.|{N} [was so {glad}|could not believe "
    "it].|So they sat in one {clothes} and {toy.used}.]\n"
    "When {N} came home, {his} {mom} asked, \"Where is your {fruit}?\" \"I gave the {fruit} to {F} for a {treasure},\" said {N}, \"and the "
    "{treasure} to the {job} for a {clothes}, and the {clothes} to {T}. [tradehow:And now I have|And so I have|And now we both have] a {color} "
    "{toy}!\" {His} {mom} [laughed|shook {mhis} head and smiled]. \"[And everyone got what they needed|You made four people happy with one "
    "{fruit}|That was a very good {fruit}],\" {mhe} said. [<end>|]",

    /* A quarrel about a name or a color, what each says, and how it is made up. */
    "=quarrel",
    "<intro> {N} and {F} were [best|good] friends. [They did everything together.|Every {day}, they met {place.at}.]\n"
    "<oneday> they found a little {animal} {outdoors}. \"[Let us keep it|We will take care of it]!\" said {N}<how>. \"What shall we call it?\" "
    "asked {F}. \"[quarn:Button|Pepper|Biscuit|Clover],\" said {N}<how>. \"No, [quarf:Sunny|Pickle|Marble|Dusty],\" said {F}<how>. \"[quarn:Button|Pepper|"
    "Biscuit|Clover] is [much better|nicer]!\" [said|shouted] {N}. \"[That is a silly name|I do not like it at all]!\" [said|shouted] {F}. They "
    "[became angry|were both red in the face], and {F} went home. The {animal} {animal.said} and [looked from one to the other|hid "
    "{outdoors2}].\n"
    "{N} was alone with the {animal}. \"Come, [quarn:Button|Pepper|Biscuit|Clover],\" {he} said, but [it did not come|the {animal} only looked "
    "at the gate]. <sadly> [<He> missed {F}.|It was no fun without {F}.] \"[Did you and {F} quarrel?|Where is {F} today?]\" asked {his} {mom}. "
    "\"We quarreled about a name,\" said {N}<how>. \"[quarsay:Is a name more important than a friend|Could the {animal} have two names|Have you "
    "asked the {animal}]?\" <mkindly>. {N} thought about it for a long time.\n"
    "In the morning, {N} went to {F}. {F} was already [at the door|on the way to {him}]. \"[I am sorry that I shouted|I am sorry],\" said {N}<how>. "
    "\"So am I,\" said {F}<how>. \"[quarsay:We can call it [quarf:Sunny|Pickle|Marble|Dusty]. You are more important to me than a name|Let us call it "
    "[quarn:Button|Pepper|Biscuit|Clover] [quarf:Sunny|Pickle|Marble|Dusty]. It can have two names|Let us ask the {animal}. You call your name, "
    "and I call mine],\" said {N}<how>. [quarsay:\"No, [quarn:Button|Pepper|Biscuit|Clover] is fine, too,\" said {F}, and they both began to "
    "laugh|\"That is perfect,\" said {F}|They called, \"[quarn:Button|Pepper|Biscuit|Clover]!\" and \"[quarf:Sunny|Pickle|Marble|Dusty]!\" but "
    "the {animal} did not come. Then {N} called, \"{Animal.food}!\" and it came at once]. [They brought it some {animal.food}, and the "
    "{animal} ate it all.|The {animal} {animal.said} and ran around them.]\n"
    "[quarsay:In the end, they called it [quarn:Button|Pepper|Biscuit|Clover] on one day and [quarf:Sunny|Pickle|Marble|Dusty] on the "
    "next|And that is how the {animal} came to be called [quarn:Button|Pepper|Biscuit|Clover] [quarf:Sunny|Pickle|Marble|Dusty]|So they called "
    "it {animal.food}, and everyone who heard it laughed]. [It lived in a {animal.home} {home2}, and {N} and {F} visited it every day.|And {N} "
    "and {F} never quarreled about a name again.|] [<end>|]",

    NULL,
};
