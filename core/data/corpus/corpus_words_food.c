/* Food of the built-in corpus. Records of one list are interchangeable in every
 * sentence that mentions it; a field with =+ending is formed where a record leaves it out (corpus_inflect.c). */
#include <stddef.h>

#include "core/data/corpus/corpus_source.h"

/* Records are packed, several a line. */
/* clang-format off */
const char *const corpus_words_food[] = {
    "@fruit one many=+s",
    "apple", "cookie", "plum", "pear", "peach", "carrot", "muffin", "cherry", "strawberry", "bun", "nut", "grape",
    "banana", "orange", "pancake", "candy", "fig", "lemon", "radish", "dumpling", "biscuit", "apricot", "raisin",
    "walnut", "acorn cake", "almond", "bagel", "blackberry", "blueberry", "brownie", "caramel", "cashew", "chestnut",
    "chocolate egg", "cinnamon roll", "clementine", "coconut", "cranberry", "cream puff", "crumpet", "cupcake",
    "currant", "date", "donut", "eclair", "egg roll", "gingersnap", "gooseberry", "grapefruit", "gumdrop", "hazelnut",
    "honey bun", "huckleberry", "jelly bean", "kiwi", "kumquat", "lime", "lollipop", "macaroon", "mandarin",
    "mango|mangoes", "meatball", "melon slice", "mulberry", "nectarine", "oatcake", "olive", "papaya", "parsnip",
    "peanut", "pecan", "persimmon", "pickle", "pineapple", "pistachio", "plantain", "pomegranate", "pretzel", "prune",
    "quince", "raspberry", "rice ball", "sandwich", "satsuma", "scone", "shortcake", "spring roll", "sprout",
    "sugar cube", "sweet bun", "tangerine", "tart", "toffee", "truffle", "turnip", "waffle", "wafer", "watermelon",
    "yam",

    "@veg name many=+s",
    "artichoke", "asparagus tip", "beet", "broad bean", "cabbage", "carrot", "cauliflower", "celery stalk", "chickpea",
    "chili|chilies", "corncob", "cucumber", "eggplant", "fennel bulb", "garlic clove", "green bean", "horseradish",
    "kale leaf|kale leaves", "leek", "lentil", "lettuce", "mushroom", "onion", "parsnip", "pea", "pepper", "potato",
    "pumpkin", "radish", "rutabaga", "shallot", "soybean", "spinach leaf|spinach leaves", "split pea", "squash",
    "sweet potato", "tomato", "turnip", "zucchini|zucchini",

    "@dish name",
    "applesauce", "barley soup", "beef stew", "black bread", "borscht", "bread pudding", "broth", "buttered toast",
    "buttermilk", "casserole", "cheese", "chicken soup", "chocolate pudding", "chowder", "chutney", "cider",
    "cinnamon tea", "cocoa", "cornbread", "couscous", "cream of wheat", "curry", "custard", "dried fish", "egg salad",
    "fish soup", "fried rice", "fruit salad", "fudge", "gingerbread", "goulash", "gravy", "ham", "hazelnut spread",
    "hot chocolate", "ice cream", "jam", "jelly", "ketchup", "lamb stew", "lasagna", "lemonade", "macaroni",
    "maple syrup", "marmalade", "marzipan", "mashed potatoes", "mayonnaise", "meatloaf", "mint tea", "molasses",
    "mushroom soup", "mustard", "noodle soup", "noodles", "oatmeal", "omelet", "onion soup", "pasta", "pea soup",
    "peanut butter", "peppermint tea", "pickled beets", "pizza", "popcorn", "porridge", "potato salad", "pumpkin soup",
    "ravioli", "rhubarb jam", "rice", "rice pudding", "risotto", "roast beef", "roast chicken", "rosehip tea",
    "rye bread", "salad", "salmon", "sauerkraut", "sausage", "scrambled eggs", "sherbet", "soda bread", "sour milk",
    "spaghetti", "sponge cake", "stew", "stuffed peppers", "sushi", "toast", "tomato juice", "tomato soup", "trifle",
    "vegetable stew", "vinegar", "whipped cream", "yogurt",

    "@treat name first second",
    "cake|flour|eggs", "loaf of bread|flour|yeast", "apple pie|apples|butter", "carrot cake|carrots|sugar",
    "berry tart|berries|cream", "honey cake|honey|flour", "cheese pie|cheese|milk", "nut loaf|nuts|butter",
    "plum cake|plums|milk", "lemon cake|lemons|sugar", "poppy seed roll|milk|poppy seeds", "pumpkin pie|pumpkin|cream",
    "almond cake|almonds|eggs", "apple strudel|apples|cinnamon", "banana bread|bananas|baking powder",
    "blueberry pie|blueberries|cornstarch", "butter cake|butter|baking soda", "caramel custard|sugar|vanilla",
    "cheesecake|cream cheese|lemon juice", "cherry pie|cherries|almond paste", "chocolate cake|chocolate|cocoa",
    "cinnamon loaf|cinnamon|yeast", "coconut tart|coconut|condensed milk", "corn pudding|corn|sour cream",
    "date cake|dates|walnuts", "fig roll|figs|orange peel", "fruitcake|raisins|nutmeg", "ginger cake|ginger|molasses",
    "lentil pie|lentils|onions", "marble cake|flour|cocoa", "mince pie|raisins|cloves",
    "mushroom pie|mushrooms|parsley", "oat loaf|oats|buttermilk", "peach cobbler|peaches|brown sugar",
    "pear tart|pears|marzipan", "pecan pie|pecans|corn syrup", "pizza|tomatoes|mozzarella",
    "potato pie|potatoes|cheese", "raspberry roll|raspberries|powdered sugar", "rhubarb crumble|rhubarb|oats",
    "rice cake|rice|cardamom", "saffron bun|saffron|currants", "shepherd's pie|potatoes|gravy",
    "spice cake|cinnamon|cloves", "spinach pie|spinach|feta", "strawberry tart|strawberries|gelatin",
    "walnut torte|walnuts|coffee",

    NULL,
};
