/* Word lists of the built-in corpus. Records of one list are interchangeable in every sentence that mentions it. */
#include <stddef.h>

#include "core/data/corpus_source.h"

#define GIRL(name) name "|she|her|her|herself|girl"
#define BOY(name) name "|he|him|his|himself|boy"

const char *const corpus_words[] = {
    "@child name he him his himself boy",
    GIRL("Lily"), BOY("Tom"), GIRL("Mia"), BOY("Ben"), GIRL("Anna"), BOY("Sam"), GIRL("Ruby"), BOY("Leo"),
    GIRL("Nora"), BOY("Finn"), GIRL("Sara"), BOY("Max"), GIRL("Ella"), BOY("Jack"), GIRL("Zoe"), BOY("Owen"),
    GIRL("Ivy"), BOY("Theo"), GIRL("Clara"), BOY("Noah"), GIRL("Hazel"), BOY("Henry"), GIRL("Molly"), BOY("Oscar"),
    GIRL("Daisy"), BOY("Peter"), GIRL("Lucy"), BOY("Adam"), GIRL("Tara"), BOY("Eli"), GIRL("Rosie"), BOY("Hugo"),
    GIRL("Maya"), BOY("Toby"), GIRL("Nina"), BOY("Arlo"), GIRL("Emma"), BOY("Felix"), GIRL("Kate"), BOY("Jamal"),
    GIRL("Priya"), BOY("Mateo"), GIRL("Yuki"), BOY("Omar"), GIRL("Lena"), BOY("Kofi"), GIRL("Bella"), BOY("Ravi"),
    GIRL("Alice"), BOY("Simon"), GIRL("Jane"), BOY("Luke"), GIRL("Sophie"), BOY("Milo"), GIRL("Amy"), BOY("Jacob"),
    GIRL("Poppy"), BOY("Ivan"), GIRL("Eva"), BOY("Marco"), GIRL("June"), BOY("Paul"), GIRL("Leila"), BOY("Erik"),
    GIRL("Stella"), BOY("Rufus"), GIRL("Maria"), BOY("David"), GIRL("Greta"), BOY("Amir"), GIRL("Fiona"), BOY("Jonah"),
    GIRL("Wanda"), BOY("Caleb"), GIRL("Naomi"), BOY("Emil"), GIRL("Olive"), BOY("Ned"), GIRL("Sana"), BOY("Diego"),

    "@grown noun call he him his",
    "mom|Mom|she|her|her", "dad|Dad|he|him|his", "grandma|Grandma|she|her|her", "grandpa|Grandpa|he|him|his",
    "aunt|Auntie|she|her|her", "uncle|Uncle|he|him|his",

    /* What a story may be about when its hero is an animal; apart from the animals that are met. */
    "@critter name",
    "bear", "fox", "raccoon", "otter", "badger", "beaver", "panda", "mole", "koala", "monkey", "deer", "goat",

    "@toy name use used",
    "ball|bounce it|bounced it", "kite|fly it|flew it", "truck|push it|pushed it",
    "doll|dance with it|danced with it",
    "drum|tap it|tapped it", "boat|float it|floated it", "top|spin it|spun it", "robot|wind it up|wound it up",
    "train|roll it|rolled it", "puppet|make it talk|made it talk", "whistle|blow it|blew it",
    "marble|roll it|rolled it", "teddy bear|hug it|hugged it", "hat|wear it|wore it", "scarf|wear it|wore it",
    "book|read it|read it", "yo-yo|spin it|spun it", "wagon|pull it|pulled it", "balloon|toss it|tossed it",
    "crown|wear it|wore it", "bell|ring it|rang it", "lantern|light it|lit it", "toy plane|throw it|threw it",
    "toy car|race it|raced it", "toy horse|ride it|rode it", "magnet|play with it|played with it",
    "sled|pull it|pulled it", "mask|wear it|wore it",
    "rattle|shake it|shook it", "toy ship|sail it|sailed it", "music box|open it|opened it",
    "rag doll|hug it|hugged it",
    "flute|play it|played it", "umbrella|open it|opened it",

    "@color name",
    "red", "blue", "green", "yellow", "purple", "orange", "pink", "white", "brown", "gray", "golden", "silver",
    "black", "violet", "turquoise", "crimson",

    "@shade name",
    "red", "blue", "green", "yellow", "black", "white", "striped", "spotted", "checkered", "old", "muddy", "woolen",

    "@look name",
    "shiny", "soft", "striped", "tiny", "bright", "smooth", "spotted", "old", "new", "round", "pretty", "fancy",

    "@place name at",
    "park|in the park", "beach|at the beach", "garden|in the garden", "forest|in the forest",
    "meadow|in the meadow", "farm|on the farm", "hill|on the hill", "lake|by the lake", "river|by the river",
    "playground|at the playground", "orchard|in the orchard", "water mill|at the old mill",
    "school yard|in the school yard",
    "village square|in the village square", "duck pond|by the duck pond", "train station|near the train station",
    "harbor|at the harbor", "castle|at the castle", "valley|in the valley", "marsh|in the marsh",
    "vineyard|in the vineyard",
    "cornfield|in the cornfield",

    "@home where",
    "near the river", "at the edge of the woods", "on top of a hill", "beside the sea", "at the end of a long road",
    "behind the bakery", "next to a windmill", "under the tall pine trees", "across from the school",
    "above the toy shop", "beside a wheat field", "by the old stone bridge", "on a small island",
    "behind a tall hedge", "below the church tower",
    "between two apple trees", "not far from the harbor", "where two paths cross",

    "@indoors where",
    "under the bed", "behind the sofa", "in the laundry basket", "on the top shelf", "inside a boot",
    "under a pile of pillows", "behind the curtain", "in the kitchen drawer", "under the stairs", "in the toy box",
    "inside the piano", "beneath the table",

    "@outdoors where",
    "under a bush", "behind a big rock", "in the tall grass", "inside a hollow log", "next to the old well",
    "under a heap of leaves", "up in an oak tree", "beside the fence", "under a wooden bench", "behind the shed",
    "in a muddy puddle", "between two roots", "behind a haystack", "under the old cart", "beside a row of beehives",
    "at the foot of a birch", "between the flower pots", "under a broken wheel",

    /* Animals that are found and helped. */
    "@animal name said food home part",
    "bird|chirped|seeds|nest|wing", "kitten|meowed|fish|basket|paw", "puppy|barked|meat|kennel|paw",
    "duckling|peeped|bread|pond|foot", "squirrel|squeaked|nuts|tree|tail", "frog|croaked|bugs|pond|leg",
    "hedgehog|snuffled|berries|burrow|foot", "rabbit|squeaked|carrots|burrow|ear", "mouse|squeaked|cheese|hole|tail",
    "piglet|grunted|apples|barn|leg", "turtle|hissed|lettuce|pond|foot", "owl|hooted|grain|tree|wing",
    "chipmunk|chattered|nuts|burrow|paw", "gosling|cheeped|corn|pond|wing",

    "@pet name",
    "dog", "puppy", "cat", "kitten", "pony", "goat", "piglet", "goose",

    /* Animals that talk. */
    "@beast name adj",
    "lion|proud", "wolf|hungry", "crow|clever", "snail|slow", "ant|busy", "bee|cheerful", "donkey|stubborn",
    "elephant|gentle", "cat|sleepy", "hen|fussy", "pig|jolly", "horse|strong", "parrot|noisy", "spider|quiet",
    "moose|tall", "swan|graceful", "toad|grumpy", "sheep|shy",
    "camel|dusty", "bat|nervous", "peacock|vain", "mule|tired", "rooster|loud", "whale|lonely",

    "@fruit one many",
    "apple|apples", "cookie|cookies", "plum|plums", "pear|pears", "peach|peaches", "carrot|carrots", "muffin|muffins",
    "cherry|cherries", "strawberry|strawberries", "bun|buns", "nut|nuts", "grape|grapes", "banana|bananas",
    "orange|oranges", "pancake|pancakes", "candy|candies", "fig|figs", "lemon|lemons", "radish|radishes",
    "dumpling|dumplings", "biscuit|biscuits", "apricot|apricots",
    "raisin|raisins", "walnut|walnuts",

    /* total = given + left */
    "@sum total given left",
    "four|two|two", "seven|five|two", "eight|two|six", "five|two|three", "five|three|two", "six|two|four",
    "six|three|three", "seven|three|four", "seven|four|three", "seven|two|five", "eight|four|four",
    "eight|three|five", "nine|four|five", "nine|three|six", "ten|five|five", "ten|four|six", "nine|two|seven",
    "ten|seven|three",
    "six|four|two",

    /* price + change = coins */
    "@coins total price left",
    "five|three|two coins", "six|four|two coins", "four|three|one coin", "seven|five|two coins",
    "eight|five|three coins", "nine|seven|two coins", "ten|six|four coins", "six|five|one coin",
    "seven|four|three coins", "ten|eight|two coins",

    "@treat name first second",
    "cake|flour|eggs", "loaf of bread|flour|yeast", "apple pie|apples|butter", "carrot cake|carrots|sugar",
    "berry tart|berries|cream", "honey cake|honey|flour", "cheese pie|cheese|milk", "nut loaf|nuts|butter",
    "plum cake|plums|milk", "lemon cake|lemons|sugar", "poppy seed roll|milk|poppy seeds",
    "pumpkin pie|pumpkin|cream",

    "@job name place",
    "baker|bakery", "farmer|barn", "fisherman|harbor", "teacher|school", "doctor|clinic", "gardener|greenhouse",
    "mailman|post office", "shopkeeper|shop", "painter|studio", "carpenter|workshop", "librarian|library",
    "blacksmith|forge", "tailor|tailor shop", "shepherd|field", "miller|mill", "beekeeper|orchard",
    "potter|pottery", "sailor|ship",
    "clockmaker|clock shop", "cook|kitchen",

    "@flower name many",
    "rose|roses", "tulip|tulips", "daisy|daisies", "sunflower|sunflowers", "lily|lilies", "poppy|poppies",
    "lilac|lilacs", "pumpkin|pumpkins", "tomato|tomatoes", "bean|beans", "melon|melons", "bluebell|bluebells",

    "@trait name",
    "kind", "brave", "curious", "gentle", "cheerful", "helpful", "clever", "careful", "patient", "honest", "polite",
    "thoughtful",
    "lively", "friendly", "sensible", "generous", "merry", "bold",

    "@day name",
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",

    "@clothes name",
    "coat", "sweater", "vest", "jacket", "apron", "cape", "raincoat", "cloak", "poncho", "cardigan", "tunic",

    "@number name",
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",

    "@game name",
    "tag", "hide and seek", "catch", "hopscotch", "jump rope", "pirates", "knights", "follow the leader", "leapfrog",
    "marbles",

    "@treasure name",
    "seashell", "copper coin", "glass bead", "rusty key", "gold ring", "wishing stone", "feather", "thimble",
    "pocket watch",
    "pearl", "little mirror", "brass button", "wooden flute", "crystal",

    /* Feelings that fit "felt X" and "was X". */
    "@glad name",
    "happy", "glad", "content", "cheerful", "joyful", "pleased", "jolly", "merry", "lighthearted",
    "@sad name",
    "sad", "upset", "gloomy", "unhappy", "worried", "miserable", "downhearted", "troubled", "glum",

    "@sky name",
    "sunny", "warm", "bright", "cool", "windy", "misty", "quiet", "cloudy", "fine", "crisp", "lovely",

    NULL,
};
