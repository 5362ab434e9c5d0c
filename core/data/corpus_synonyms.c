/* Words and phrases of the built-in corpus that any sentence may say in another way. The first of a row is what is looked
 * for in the sentences; a repeated one is more likely. */
#include <stddef.h>

#include "core/data/corpus_source.h"

const char *const corpus_synonyms[] = {
    /* Speech. These keep the quotation mark, so that only speech is meant. */
    "~\" said|\" said|\" said|\" said|\" said|\" remarked|\" declared|\" murmured|\" whispered|\" called",
    "~\" asked|\" asked|\" asked|\" asked|\" inquired|\" wondered",
    "~\" cried|\" cried|\" exclaimed|\" called out|\" shouted|\" burst out",
    "~\" shouted|\" yelled|\" called out|\" cried|\" roared",
    "~Thank you|Thank you|Thanks|Many thanks|Thank you so much",
    "~I am sorry|I'm sorry|I am so sorry|I am very sorry|I feel bad",
    "~Of course|Certainly|Naturally|Why, of course", "~Hello|Hi|Hey there|Hello there", "~Hooray|Hurrah|Yippee|Yay|Wow",
    "~Oh no|Oh dear|Oh my|Goodness|Alas", "~good idea|great idea|clever idea|fine idea|wonderful idea",
    "~May I|Can I|Could I|Might I", "~Will you|Would you", "~I must|I have to|I need to", "~you must|you have to|you need to",
    "~Yes,|Yes,|Yes,|Oh yes,|Yes, yes,", "~No,|No,|No,|Oh no,|No, no,", "~I promise|I promise|You have my word|I give you my word",

    /* Short forms; the space behind keeps the end of a sentence out. */
    "~did not|didn't", "~could not|couldn't", "~was not|wasn't", "~do not |don't ", "~cannot |can't ", "~I am |I'm ",
    "~it is |it's ", "~Let us |Let's ", "~I will |I'll ", "~That is |That's ", "~What is |What's ", "~Where is |Where's ",
    "~There is |There's ", "~will not |won't ", "~you are |you're ", "~we will |we'll ",

    /* Doing. */
    "~looked at|gazed at|stared at|peered at|glanced at", "~went to the|went to the|walked to the|headed for the|set off for the",
    "~ran to|hurried to|rushed to|raced to|dashed to", "~ran home|hurried home|rushed home|raced home",
    "~came back|came back|returned", "~came by|stopped by|passed by|came along", "~came in|stepped in|walked in",
    "~began to|started to", "~wanted to|wanted to|wished to|longed to|hoped to", "~walked|strolled|wandered|walked|marched",
    "~saw|saw|noticed|spotted", "~found|found|discovered", "~gave|gave|handed", "~smiled|grinned|beamed|smiled",
    "~laughed|giggled|chuckled|laughed", "~jumped|leaped|jumped|hopped", "~carried|carried|brought|hauled",
    "~ate|ate|munched|gobbled", "~hugged|squeezed|hugged", "~remembered|recalled|remembered", "~decided|chose|decided",
    "~was gone|had vanished|had disappeared|was gone", "~turned around|swung around|spun around",
    "~loved|loved|adored", "~quarrel|fight|quarrel|argue", "~picked|picked|gathered", "~grabbed|snatched|grabbed",
    "~painted|colored|painted", "~looked for|searched for|hunted for|looked for", "~thought for|pondered for|thought for",

    /* What things are like. */
    "~little|little|little|small|tiny", "~big|large|huge|great|big", "~clever|smart|bright|clever|wise",
    "~lovely|beautiful|lovely|pretty", "~wonderful|marvelous|splendid|wonderful|delightful", "~quiet|silent|still|quiet",
    "~angry|cross|mad|angry|furious", "~afraid|scared|frightened|afraid", "~very much|so much|very much|a great deal",
    "~very|very|really|truly|very", "~loud|great|terrible|loud|sharp", "~surprised|amazed|astonished|surprised",
    "~slowly|carefully|slowly", "~softly|quietly|gently|softly", "~happily|joyfully|with joy|gladly", "~a bit|a bit|a little",
    "~strange|odd|strange|curious|unusual", "~warm|warm|cozy", "~funny|silly|funny", "~good|good|good|fine",

    /* When. */
    "~Soon,|Soon,|Before long,|A short while later,", "~At last,|Finally,|At last,|At long last,", "~at last|at last|finally",
    "~for a long time|for a long while|for quite some time|for ages", "~every day|each day|day after day|every single day",
    "~the next day|the next morning|the following day|a day later", "~from then on|after that|from that day on|ever since then",
    "~in the evening|at dusk|at sunset|in the evening", "~in the morning|at sunrise|when the sun rose|in the morning",
    "~at once|right away|immediately|without delay|at once", "~All at once|All of a sudden|All at once", "~as soon as|the moment",
    "~a moment|a moment|a while|a minute", "~Suddenly|Suddenly|Without warning|Out of nowhere",

    /* Who, where and why. */
    "~everyone|everyone|everybody", "~someone|someone|somebody", "~no one|no one|nobody", "~children|kids|children",
    "~each other|one another|each other", "~everywhere|all over|high and low|everywhere", "~, because|, because|, for|, since",
    "~, but|, but|, but|, but|, yet", "~dinner|supper|dinner", "~belly|tummy|stomach|belly", "~a noise|a sound|a noise",
    "~the whole|the whole|the entire", "~without a word|in silence|without a sound|without a word",

    NULL,
};
