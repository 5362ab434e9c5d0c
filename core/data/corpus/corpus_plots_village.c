/* Plots of the built-in corpus that the whole village has a part in. */
#include <stddef.h>

#include "core/data/corpus/corpus_source.h"

const char *const corpus_plots_village[] = {
    /* A soup to which everyone adds one thing; in the end all of them are named again. */
    "=soup",
    "<introduction> That {season}, there was little to eat in {stem}{ending}. <lull>\n"
    "<oneday> {N} [put|set] a big pot {place.at} and filled it with water. \"[What are you cooking|What is that going "
    "to be|Why do you boil water], {N}?\" asked {mister} {surname}. \"[soupname:Stone|Button|Spoon|Nail] soup,\" said "
    "{N}<how>. \"It only needs a [soupname:stone|button|spoon|nail], but [a {veg}|one {veg}|a single {veg}] would make "
    "it {short.er}.\" {Mister} {surname} [laughed|shook {mister.his} head|thought for a moment] and fetched a {veg}. "
    "<meanwhile>\n"
    "Soon the {job} came by. \"[That smells good|I have never heard of that], but it wants a {veg2},\" said the {job}, "
    "and [ran|went] to the {job.place} to get one. <pause>\n"
    "Then came {F} with a {veg3} [and a {tool} to stir it|in a {color} bag|from the {place2}]. \"[May I put this in|Is "
    "there room for this]?\" {fhe} asked. \"[It is just what was missing|Of course],\" said {N}<how>. <pause>\n"
    "At {number} o'clock, the soup was ready. First came the {veg} of {mister} {surname}, then the {veg2} of the "
    "{job}, "
    "and then the {veg3} of {F}. And at the bottom of the pot lay the [soupname:stone|button|spoon|nail]. \"It is "
    "{short.er} than {dish},\" said {mister} {surname}. \"It is {short2.er} than {dish2},\" said the {job}. {F} "
    "[only asked for more|ate {number2} bowls of it]. [\"And you made it of a "
    "[soupname:stone|button|spoon|nail]!\" they all said.|\"We made it together,\" said {N}<how>.] "
    "[soupend:{N} washed the [soupname:stone|button|spoon|nail] and kept it for the next {season}|{N} gave the "
    "[soupname:stone|button|spoon|nail] to {mister} {surname}, who put it {indoors}|The {veg3.many} of {F} are still "
    "famous in {stem}{ending}]. <end>",

    /* A concert lacks one instrument; who plays what is told, and told again. */
    "=concert",
    "<introduction> {He} played the {instrument}, {F} played the {instrument2}, and {T} played the {instrument3}. "
    "[They "
    "practiced in the {room} of the {job}.|Every {day}, they practiced in the {building}.] <lull>\n"
    "<oneday> {mister} {surname} said, \"On {day2}, there will be a concert {place.at}. [Will you play|Can you play] "
    "the song of the {short} {wild}?\" \"We will,\" said {N}<how>. But on {day2}, [concwhy:the {instrument} of {N} was "
    "broken|the {instrument2} of {F} was gone|{T} was ill and could not play the {instrument3}]. <sadly> <pause>\n"
    "\"[What shall we do|How can we play now|What is a song without it]?\" asked {F}. {N} [looked around|scratched "
    "{his} "
    "head|thought for a long time]. In the {room} lay a {tool}. {N} tapped it, and it {noise.past}. \"It sounds almost "
    "like a [concwhy:{instrument}|{instrument2}|{instrument3}]!\" [said|cried] {N}. <He> practiced {mood.ly} until "
    "{number} o'clock. <pause>\n"
    "In the evening, {many} people from {stem}{ending} came to the {place}. [concwhy:{N} played the {tool}, {F} the "
    "{instrument2}, and {T} the {instrument3}|{N} played the {instrument}, {F} the {tool}, and {T} the "
    "{instrument3}|{N} "
    "played the {instrument}, {F} the {instrument2}, and the {job} the {tool}]. The {tool} {noise.past}, and everyone "
    "[clapped|cheered|{act.past}]. \"I have never heard a {short.er} {wild},\" said {mister} {surname}. "
    "[\"It was a {tool},\" said {N}<how>.|\"And I have never seen such a {quality} {instrument2},\" said the {job}.] "
    "<lull>\n"
    "[concwhy:The {job} mended the {instrument}, but {N} kept the {tool}|The {instrument2} was found {indoors}, and "
    "{F} "
    "laughed|The next week {T} was well again, and {N} told {T} everything]. [<end>|]",

    /* A machine for one purpose does another; the part that was wrong decides what. */
    "=machine",
    "<intro> {N} wanted to invent a machine that could [machfor:peel {fruit.many}|catch {wild.many}|wash "
    "{clothes.many}|wake the {job}]. <lull>\n"
    "<oneday> {he} went to the {room} and took a {tool}, a {tool2} and some {material}. {F} held the {tool}, and {N} "
    "tied the {tool2} to it with {material}. \"[Do you think it will work|What will it do|Is it not {degree} "
    "{short}]?\" "
    "asked {F}. \"It will [machfor:peel {fruit.many}|catch {wild.many}|wash {clothes.many}|wake the {job}],\" said "
    "{N}, "
    "\"[and|but] it is {degree} {quality}.\" <pause>\n"
    "{N} turned the handle. <suddenly> it {noise.past}, and then it {noise2.past}. [machhow:The {tool} flew out of the "
    "window|The {tool2} began to spin|All the {material} caught fire]. It did not [machfor:peel one {fruit}|catch one "
    "{wild}|wash one {clothes}|wake anybody]. <sadly> \"[Ask|We could ask|Why not ask] {mister} {surname},\" said "
    "{F}<how>. So they carried it {home2}, where {mister} {surname} lived. <pause>\n"
    "{Mister} {surname} looked at it through a {tool3}. \"[machhow:The {tool} is not tight enough|The {tool2} is not "
    "{short} enough|It must not be {material}],\" {mister.he} said. \"[machhow:Tie it twice|Turn it around|Take "
    "{material2}].\" {N} "
    "[machhow:tied the {tool} twice|turned the {tool2} around|took {material2}] and turned the handle again. It "
    "{noise.past}, and it {noise2.past}, but it still did not [machfor:peel {fruit.many}|catch {wild.many}|wash "
    "{clothes.many}|wake the {job}]. Instead, it [machdo:made {dish}|played the {instrument}|painted {flower.many}]. "
    "<lull>\n"
    "\"[That is even better|Who would have thought it|How {quality2}]!\" [cried|said] {F}. [From {stem}{ending} and "
    "from {land}, people came to see|All of {stem}{ending} came to see] the machine that "
    "[machdo:made {dish}|played the {instrument}|painted {flower.many}]. [\"We only wanted to [machfor:peel "
    "{fruit.many}|catch {wild.many}|wash {clothes.many}|wake the {job}],\" said {N}<how>.|And the "
    "[machhow:{tool}|{tool2}|{material2}] is still in it.] <end>",

    /* The biggest one at the fair; the numbers are weighed, told and compared. */
    "=harvest",
    "<introduction> {N} grew {veg.many} {place.at}, and {mister} {surname} grew {veg2.many} {home2}. Each {season}, "
    "there was a prize at the fair of {stem}{ending}. <lull>\n"
    "<oneday> {N} saw that one {veg} was [{degree} {short}|{short.er} than all the others]. <He> [hartend:sang to "
    "it|gave it {dish} every day|covered it with a {clothes}|read it stories about {land}]. \"[Why do you do "
    "that|What good is that|Does that help]?\" asked {F}. \"[hartend:{Veg.many} like music|With {dish}, they grow "
    "{short2.er}|A {veg} must not be cold|A {veg} wants to see the world],\" said {N}<how>. <pause>\n"
    "In {month}, the {veg} weighed {many} pounds. {Mister} {surname} [laughed|only smiled]. \"My {veg2} weighs {many2} "
    "pounds,\" {mister.he} said. [<meanwhile>|] \"[Is that more|Is that not more] than {many}?\" asked {F}. {N} "
    "[counted on {his} fingers|wrote {many} and {many2} on a {tool}|did not answer]. <lull>\n"
    "On the day of the fair, the {job} put the {veg} of {N} on the {tool2}, and it {noise.past}. \"{Many} pounds!\" "
    "said the {job}. Then came the {veg2} of {mister} {surname}. \"{Many2} pounds!\" said the {job}. "
    "[harwho:But the {veg} was {short.er}, and so {N} got the prize, a {treasure}|But the {veg2} was {short.er}, and "
    "so "
    "{mister} {surname} got the prize, a {treasure}|\"They are both the {short.est}!\" said the {job}, and cut the "
    "prize, a "
    "{treat}, in two]. [harwho:{Mister} {surname} shook {his} hand.|<sadly> But {mister} {surname} let {him} hold the "
    "{treasure}.|They ate it {outdoors}.] \"[hartend:Next year, I will sing|Next year, I will cook {dish}|Next year, I "
    "will knit a {clothes}|Next year, I will read about {land}], too,\" said {mister} {surname}. [<end>|]",

    /* A lesson: what the teacher asks for is recited. */
    "=school",
    "<intro> {N} went to the school of {stem}{ending}, [where the {job} taught {hobby}|which stood {home2}]. <lull>\n"
    "<oneday> {mister} {surname}, the new teacher, said, \"[Learn this by heart|Listen well|Tomorrow I will ask you]: "
    "the {wild} is {short}, the {wild2} is {short2}, and the {wild3} is {short3}.\" \"[That is easy|I will never "
    "remember that|Is that true],\" whispered {F}. [On the way home|All afternoon|In {his} {room}], {N} said it over "
    "and "
    "over: \"The {wild} is {short}, the {wild2} is {short2}, and the {wild3} is {short3}.\" <pause>\n"
    "[But {F} did not learn it.|{F} played {game} instead.] [<meanwhile>|] In the morning, {mister} {surname} asked, "
    "\"{F}, how is the {wild2}?\" [schow:{F} looked at {N}, and {N} showed {fhim} a picture of something {short2}|{F} "
    "said nothing, and {fhis} {body.many} turned red|{F} said, \"The {wild2} is {short4}.\" Everyone laughed]. "
    "[schow:\"The {wild2} is {short2},\" said {F}<how>.|\"I do not know,\" said {F}<how>.|\"No,\" said the teacher, "
    "\"it "
    "is {short2}.\"] \"And how is the {wild}, {N}?\" \"The {wild} is {short},\" said {N}<how>. \"And the {wild3}?\" "
    "\"The {wild3} is {short3}.\" <lull>\n"
    "\"[Very good|Well done|You have learned it],\" said {mister} {surname}, and gave {him} a {treasure}. After "
    "school, "
    "{F} asked, \"How do you remember it all?\" \"[scway:I think of {land}, where they all live|I sing it, and my "
    "{instrument} helps|I draw them on a {tool}],\" said {N}<how>. So [scway:they both thought of {land}|they sang it, "
    "with the {instrument}|they drew a {wild}, a {wild2} and a {wild3}]. [The next {day}|A week later], it was {F} who "
    "said, \"The {wild} is {short}, the {wild2} is {short2}, and the {wild3} is {short3},\" [without a mistake|"
    "{mood.ly}]. [<end>|]",

    NULL,
};
