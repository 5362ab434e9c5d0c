/* Regular endings, word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/data/corpus/corpus_grammar_internal.h"

static void check(const char *word, const char *ending, const char *want)
{
    char *found = grammar_inflect(word, strlen(word), ending);
    assert_non_null(found);
    assert_string_equal(found, want);
    free(found);
}

static void test_plurals_and_third_persons(void **state)
{
    (void)state;
    check("owl", "s", "owls");
    check("fox", "s", "foxes");
    check("peach", "s", "peaches");
    check("dish", "s", "dishes");
    check("waltz", "s", "waltzes");
    check("dress", "s", "dresses");
    check("berry", "s", "berries");
    check("toy", "s", "toys");
    check("potato", "s", "potatoes");
    check("kangaroo", "s", "kangaroos");
    check("music box", "s", "music boxes");
    check("cry", "s", "cries");
}

static void test_past_and_participle(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"walk", "walked", "walking"},
        {"hop", "hopped", "hopping"},
        {"bake", "baked", "baking"},
        {"cry", "cried", "crying"},
        {"play", "played", "playing"},
        {"wait", "waited", "waiting"},
        {"fix", "fixed", "fixing"},
        {"row", "rowed", "rowing"},
        {"whisper", "whispered", "whispering"},
        {"tie", "tied", "tying"},
        {"tiptoe", "tiptoed", "tiptoeing"},
        {"agree", "agreed", "agreeing"},
        {"argue", "argued", "arguing"},
        {"shrug", "shrugged", "shrugging"},
        {"gallop", "galloped", "galloping"},
        {"squint", "squinted", "squinting"},
        {"knead", "kneaded", "kneading"},
        {"buzz", "buzzed", "buzzing"},
        {"panic", "panicked", "panicking"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(rows[i][0], "ed", rows[i][1]);
        check(rows[i][0], "ing", rows[i][2]);
    }
}

static void test_comparison_and_adverbs(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"big", "bigger", "biggest", "bigly"},       {"late", "later", "latest", "lately"},
        {"happy", "happier", "happiest", "happily"}, {"gray", "grayer", "grayest", "grayly"},
        {"gentle", "gentler", "gentlest", "gently"}, {"quiet", "quieter", "quietest", "quietly"},
        {"dull", "duller", "dullest", "dully"},      {"cool", "cooler", "coolest", "coolly"},
        {"new", "newer", "newest", "newly"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(rows[i][0], "er", rows[i][1]);
        check(rows[i][0], "est", rows[i][2]);
        check(rows[i][0], "ly", rows[i][3]);
    }
    check("heroic", "ly", "heroically");
    check("whole", "ly", "wholely"); /* "le" after a vowel keeps its e */
}

static void test_other_endings_are_none(void **state)
{
    (void)state;
    assert_null(grammar_inflect("walk", 4, "en"));
    assert_null(grammar_inflect("walk", 4, ""));
}

/* A record without a field takes it from the first; one with it keeps its own. */
static void test_lists_are_completed(void **state)
{
    (void)state;
    static const char *const table[] = {
        "@thing name many=+s past=+ed",      "hop", "mouse|mice", "run|runs|ran", "dry", "=story",
        "{thing}/{thing.many}/{thing.past}", NULL};
    const char *const *const tables[] = {table, NULL};
    static const char *const want[] = {"Hop/hops/hopped", "Mouse/mice/moused", "Run/runs/ran", "Dry/dries/dried"};
    struct error err = {0};
    struct corpus_grammar *g = corpus_grammar_create(tables, &err);
    if (!g)
        fail_msg("%s", err.text);
    int seen[4] = {0};
    for (uint32_t i = 0; i < 100; i++) {
        char out[256];
        double ways;
        const struct rng_stream stream = {1, RNG_CORPUS, i};
        assert_true(corpus_grammar_longest(g) < sizeof out);
        out[corpus_grammar_expand(g, &stream, 0, out, &ways)] = '\0';
        int which = 0;
        while (which < 4 && strcmp(out, want[which]))
            which++;
        if (which == 4)
            fail_msg("%s", out);
        seen[which]++;
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 0);
    corpus_grammar_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plurals_and_third_persons), cmocka_unit_test(test_past_and_participle),
        cmocka_unit_test(test_comparison_and_adverbs),    cmocka_unit_test(test_other_endings_are_none),
        cmocka_unit_test(test_lists_are_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
