/* Regular English endings, for the fields that a record leaves out. Irregular words are written out in the lists. */
#include <stdlib.h>
#include <string.h>

#include "core/data/corpus/corpus_grammar_internal.h"
#include "core/base/memory.h"

static bool is_vowel(char c)
{
    return c && strchr("aeiou", c);
}

static bool ends_with(const char *word, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length > n && !memcmp(word + length - n, end, n);
}

/* Whether a last consonant is doubled: words of one syllable that end in consonant, vowel, consonant (hop, hopping). */
static bool doubles(const char *word, size_t length)
{
    size_t groups = 0;
    for (size_t i = 0; i < length; i++)
        groups += is_vowel(word[i]) && (i == 0 || !is_vowel(word[i - 1]));
    if (groups != 1 || length < 3 || strchr("wxy", word[length - 1]) || is_vowel(word[length - 1]))
        return false;
    return is_vowel(word[length - 2]) && (!is_vowel(word[length - 3]) || ends_with(word, length, "quit"));
}

static bool ends_consonant_y(const char *word, size_t length)
{
    return length > 1 && word[length - 1] == 'y' && !is_vowel(word[length - 2]);
}

/* The stem and the ending that a word takes for a wanted ending: how many letters stay, and what follows them. */
struct inflection {
    size_t stay;
    const char *middle, *end;
    char twice[2];
};

static void inflect_s(const char *word, size_t length, struct inflection *in)
{
    static const char *const hissing[] = {"s", "x", "z", "ch", "sh"};
    if (ends_consonant_y(word, length)) {
        in->stay--;
        in->end = "ies";
    }
    for (size_t i = 0; i < sizeof hissing / sizeof hissing[0]; i++)
        if (ends_with(word, length, hissing[i]))
            in->end = "es";
    if (word[length - 1] == 'o' && length > 1 && !is_vowel(word[length - 2]))
        in->end = "es";
}

/* -ed, -er and -est share their spelling; -ing differs after e and y. */
static void inflect_vowel(const char *word, size_t length, struct inflection *in)
{
    bool ing = in->end[0] == 'i';
    if (ing && ends_with(word, length, "ie")) {
        in->stay -= 2;
        in->middle = "y";
    } else if (ends_with(word, length, "e")) {
        bool kept = ends_with(word, length, "ee") || ends_with(word, length, "oe") || ends_with(word, length, "ye");
        in->stay -= !ing || !kept; /* seeing, tiptoeing, dyeing */
    } else if (!ing && ends_consonant_y(word, length)) {
        in->stay--;
        in->middle = "i";
    } else if (ends_with(word, length, "ic")) {
        in->middle = "k";
    } else if (doubles(word, length)) {
        in->twice[0] = word[length - 1];
        in->middle = in->twice;
    }
}

static void inflect_ly(const char *word, size_t length, struct inflection *in)
{
    if (ends_consonant_y(word, length)) {
        in->stay--;
        in->end = "ily";
    } else if (ends_with(word, length, "le") && !is_vowel(word[length - 3])) {
        in->stay--;
        in->end = "y";
    } else if (ends_with(word, length, "ll")) {
        in->end = "y";
    } else if (ends_with(word, length, "ic")) {
        in->end = "ally";
    }
}

char *grammar_inflect(const char *word, size_t length, const char *ending)
{
    struct inflection in = {length, "", ending, ""};
    if (!strcmp(ending, "s"))
        inflect_s(word, length, &in);
    else if (!strcmp(ending, "ed") || !strcmp(ending, "er") || !strcmp(ending, "est") || !strcmp(ending, "ing"))
        inflect_vowel(word, length, &in);
    else if (!strcmp(ending, "ly"))
        inflect_ly(word, length, &in);
    else
        return NULL;
    return memory_format("%.*s%s%s", (int)in.stay, word, in.middle, in.end);
}
