/* Numbers and days of the built-in corpus. */
#include <stddef.h>

#include "core/data/corpus/corpus_source.h"

/* Records are packed, several a line. */
/* clang-format off */
const char *const corpus_words_numbers[] = {
    "@number name",
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",

    /* total = given + left */
    "@sum total given left",
    "four|two|two", "seven|five|two", "eight|two|six", "five|two|three", "five|three|two", "six|two|four",
    "six|three|three", "seven|three|four", "seven|four|three", "seven|two|five", "eight|four|four", "eight|three|five",
    "nine|four|five", "nine|three|six", "ten|five|five", "ten|four|six", "nine|two|seven", "ten|seven|three",
    "six|four|two",

    /* price + left = total */
    "@coins total price left",
    "five|three|two coins", "six|four|two coins", "four|three|one coin", "seven|five|two coins",
    "eight|five|three coins", "nine|seven|two coins", "ten|six|four coins", "six|five|one coin",
    "seven|four|three coins", "ten|eight|two coins",

    /* Numbers past those one counts on fingers. */
    "@many name",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "twenty-one",
    "twenty-two", "twenty-three", "twenty-four", "twenty-five", "twenty-six", "twenty-seven", "twenty-eight",
    "twenty-nine", "thirty", "thirty-one", "thirty-two", "thirty-three", "thirty-four", "thirty-five", "thirty-six",
    "thirty-seven", "thirty-eight", "thirty-nine", "forty", "forty-one", "forty-two", "forty-three", "forty-four",
    "forty-five", "forty-six", "forty-seven", "forty-eight", "forty-nine", "fifty", "fifty-one", "fifty-two",
    "fifty-three", "fifty-four", "fifty-five", "fifty-six", "fifty-seven", "fifty-eight", "fifty-nine", "sixty",
    "sixty-one", "sixty-two", "sixty-three", "sixty-four", "sixty-five", "sixty-six", "sixty-seven", "sixty-eight",
    "sixty-nine", "seventy", "seventy-one", "seventy-two", "seventy-three", "seventy-four", "seventy-five",
    "seventy-six", "seventy-seven", "seventy-eight", "seventy-nine", "eighty", "eighty-one", "eighty-two",
    "eighty-three", "eighty-four", "eighty-five", "eighty-six", "eighty-seven", "eighty-eight", "eighty-nine",
    "ninety", "ninety-one", "ninety-two", "ninety-three", "ninety-four", "ninety-five", "ninety-six", "ninety-seven",
    "ninety-eight", "ninety-nine",

    "@digit name",
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",

    "@day name",
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",

    "@month name",
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",

    "@season name",
    "spring", "summer", "autumn", "winter",

    NULL,
};
