/* The corpus generator: that it is a function of (seed, index), that its English is well-formed, and that what comes
 * later in a story can be told from what came before. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "core/data/corpus/corpus.h"
#include "core/data/corpus/corpus_grammar.h"
#include "core/base/memory.h"

enum { STORIES = 3000, MANY = 20000 };

struct text {
    char *bytes;
    size_t length, stop_after, calls;
};

static int collect(void *arg, const char *bytes, size_t length, struct error *err)
{
    struct text *text = arg;
    text->bytes = memory_resize(text->bytes, text->length + length + 1, 1);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    text->calls++;
    if (text->stop_after && text->calls >= text->stop_after)
        return error_set(err, STATUS_STOPPED, "enough");
    return STATUS_OK;
}

static struct text generate(uint64_t seed, uint64_t size, int threads)
{
    struct text text = {0};
    struct error err = {0};
    assert_int_equal(corpus_generate(seed, size, threads, collect, &text, &err), STATUS_OK);
    return text;
}

/* A story as a string, without its separator. */
static size_t story_at(uint64_t seed, uint64_t i, char out[CORPUS_STORY_MAX + 1])
{
    size_t length = corpus_story(seed, i, out, CORPUS_STORY_MAX), separator = strlen(CORPUS_SEPARATOR);
    assert_true(length > separator);
    assert_memory_equal(out + length - separator, CORPUS_SEPARATOR, separator);
    out[length - separator] = '\0';
    return length - separator;
}

static void test_same_bytes_for_any_threads(void **state)
{
    (void)state;
    struct text one = generate(1, 300000, 1), again = generate(1, 300000, 1);
    assert_int_equal(one.length, again.length);
    assert_memory_equal(one.bytes, again.bytes, one.length);
    for (int threads = 2; threads <= 7; threads += 5) {
        struct text many = generate(1, 300000, threads);
        assert_int_equal(one.length, many.length);
        assert_memory_equal(one.bytes, many.bytes, one.length);
        free(many.bytes);
    }
    free(one.bytes);
    free(again.bytes);
}

static void test_smaller_is_a_prefix(void **state)
{
    (void)state;
    struct text all = generate(9, 1000000, 2);
    assert_true(all.length >= 1000000 && all.length < 1000000 + CORPUS_STORY_MAX);
    const uint64_t sizes[] = {1, 999, 1000, 54321, 700000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct text some = generate(9, sizes[i], 1 + (int)i % 3);
        assert_true(some.length >= sizes[i] && some.length < sizes[i] + CORPUS_STORY_MAX);
        assert_memory_equal(some.bytes, all.bytes, some.length);
        free(some.bytes);
    }
    struct text none = generate(9, 0, 1);
    assert_int_equal(none.calls, 0);
    free(all.bytes);
}

static void test_text_is_the_stories_in_order(void **state)
{
    (void)state;
    char story[CORPUS_STORY_MAX];
    struct text all = generate(4, 200000, 2);
    size_t at = 0;
    for (uint64_t i = 0; at < all.length; i++) {
        size_t length = corpus_story(4, i, story, sizeof story);
        assert_true(at < 200000 && length <= all.length - at); /* none begins past the size */
        assert_memory_equal(all.bytes + at, story, length);
        at += length;
    }
    assert_int_equal(corpus_story(4, 0, story, sizeof story - 1), 0);
    assert_true(corpus_story(4, UINT64_MAX, story, sizeof story) > 0);
    free(all.bytes);
}

static void test_sink_stops_it(void **state)
{
    (void)state;
    struct text text = {.stop_after = 2};
    struct error err = {0};
    assert_int_equal(corpus_generate(1, 100000000, 2, collect, &text, &err), STATUS_STOPPED);
    assert_string_equal(err.text, "enough");
    assert_int_equal(text.calls, 2);
    free(text.bytes);
}

/* The first megabyte of seed 1 at CORPUS_VERSION 2: raise the version whenever this has to change. */
static void test_bytes_are_pinned(void **state)
{
    (void)state;
    static const char *const want[] = {NULL, NULL, "08c0450c12df513745b072a1eef217bfa7ea532f0be22b1ff27a56e331d8b48b"};
    assert_true(CORPUS_VERSION < (int)(sizeof want / sizeof want[0]));
    struct text text = generate(1, 1000000, 2);
    unsigned char hash[32];
    char hex[65];
    assert_int_equal(crypto_generichash(hash, sizeof hash, (unsigned char *)text.bytes, 1000000, NULL, 0), 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    assert_string_equal(hex, want[CORPUS_VERSION]);
    free(text.bytes);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_stories_and_seeds_differ(void **state)
{
    (void)state;
    char story[CORPUS_STORY_MAX];
    uint64_t *hashes = memory_alloc(MANY, sizeof *hashes);
    for (uint64_t i = 0; i < MANY; i++) { /* half of one seed, half of the next */
        size_t length = corpus_story(i & 1, i / 2, story, sizeof story);
        crypto_shorthash((unsigned char *)&hashes[i], (unsigned char *)story, length,
                         (const unsigned char *)"0123456789abcdef");
    }
    qsort(hashes, MANY, sizeof *hashes, compare_u64);
    for (size_t i = 1; i < MANY; i++)
        assert_true(hashes[i - 1] != hashes[i]);
    free(hashes);
}

static void test_bounds(void **state)
{
    (void)state;
    char story[CORPUS_STORY_MAX + 1];
    for (uint64_t i = 0; i < MANY; i++) {
        size_t length = story_at(5, i, story);
        int words = 0, paragraphs = 1;
        for (size_t k = 0; k < length; k++) {
            assert_true(story[k] == '\n' || (story[k] >= ' ' && story[k] <= '~'));
            assert_false(strchr("{}<>[]|*_", story[k]));
            words += isspace((unsigned char)story[k]) && !isspace((unsigned char)story[k + 1]);
            if (story[k] != '\n')
                continue;
            assert_int_equal(story[k + 1], '\n'); /* line ends come in pairs, never three */
            assert_true(story[k + 2] != '\n' && story[k + 2] != '\0');
            paragraphs++;
            k++;
            words++;
        }
        assert_in_range(words + 1, CORPUS_WORDS_MIN, CORPUS_WORDS_MAX);
        assert_in_range(paragraphs, 3, 8);
    }
}

/* strchr, but the end of the text is in no set. */
static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool takes_an(const char *word)
{
    static const char *const sounds[] = {"one", "use", "usu", "uni", "uku", "euc"};
    if (!strncmp(word, "hones", 5) || !strncmp(word, "hour", 4) || !strncmp(word, "honor", 5))
        return true;
    for (size_t i = 0; i < sizeof sounds / sizeof sounds[0]; i++)
        if (!strncmp(word, sounds[i], 3))
            return false;
    return strchr("aeiou", word[0]);
}

/* Fail with the story when `ok` is not so. */
static void check_english(bool ok, const char *story, const char *at, const char *what)
{
    if (!ok)
        fail_msg("%s at '%.40s' in:\n%s", what, at, story);
}

static void check_words(const char *story)
{
    for (const char *c = story; *c; c++) {
        bool start = c == story || !isalpha((unsigned char)c[-1]);
        check_english(!(c[0] == ' ' && is_one_of(c[1], " .,!?\n")), story, c, "space");
        check_english(!(is_one_of(c[0], ".,!?") && is_one_of(c[1], ".,!?")), story, c, "two marks");
        check_english(!(is_one_of(c[0], ".,!?") && isalpha((unsigned char)c[1])), story, c, "no space after a mark");
        if (start && (c[0] == 'a' || c[0] == 'A') && c[1] == ' ')
            check_english(!takes_an(c + 2), story, c, "a");
        if (start && (c[0] == 'a' || c[0] == 'A') && c[1] == 'n' && c[2] == ' ')
            check_english(takes_an(c + 3), story, c, "an");
        size_t length = strcspn(c, " .,!?\"\n");
        if (start && length && c[length] == ' ' && !strncmp(c, c + length + 1, length) && strncmp(c, "had", length))
            check_english(isalpha((unsigned char)c[2 * length + 1]), story, c, "a word twice");
    }
}

static void test_words_and_marks(void **state)
{
    (void)state;
    char story[CORPUS_STORY_MAX + 1];
    for (uint64_t i = 0; i < STORIES; i++) {
        story_at(5, i, story);
        check_words(story);
    }
}

/* Sentences begin with a capital, quotation marks are paired in a paragraph, paragraphs end with an end mark. */
static void test_sentences(void **state)
{
    (void)state;
    char story[CORPUS_STORY_MAX + 1];
    for (uint64_t i = 0; i < STORIES; i++) {
        size_t length = story_at(5, i, story);
        bool open = false;
        for (const char *c = story; c < story + length; c++) {
            if (*c == '\n')
                continue;
            bool first = c == story || c[-1] == '\n';
            if (first)
                check_english(isupper((unsigned char)c[*c == '"']), story, c, "no capital first");
            if (is_one_of(*c, ".!?") && c[1] == ' ' && isalpha((unsigned char)c[2]))
                check_english(isupper((unsigned char)c[2]), story, c, "no capital after a mark");
            if (*c == '.' && c[1] == '"' && c[2] == ' ')
                check_english(isupper((unsigned char)c[c[3] == '"' ? 4 : 3]), story, c, "no capital after speech");
            if (*c == '"') {
                open = !open;
                char before = first ? '\n' : c[-1];
                check_english(open ? is_one_of(before, " \n") : is_one_of(before, ".,!?"), story, c, "quote");
                check_english(open ? isalnum((unsigned char)c[1]) : !c[1] || is_one_of(c[1], " \n"), story, c, "quote");
            }
            if (c + 1 == story + length || c[1] == '\n') {
                check_english(!open, story, c, "open quote");
                check_english(*c == '"' ? is_one_of(c[-1], ".!?") : is_one_of(*c, ".!?"), story, c, "end");
            }
        }
    }
}

/* What a wrong table is told. */
static void test_bad_tables(void **state)
{
    (void)state;
    static const struct {
        const char *table[8], *want;
    } rows[] = {
        {{"=story", "a {thing}", NULL}, "rule 'story': no list or field 'thing'"},
        {{"@thing name", "a", "b", "c", "d", "=story", "{thing.color}", NULL}, "no list or field 'thing.color'"},
        {{"=story", "see <other>", NULL}, "rule 'story': no rule 'other'"},
        {{"=story", "[a|b", NULL}, "rule 'story': a choice is not closed"},
        {{"=story", "a]", NULL}, "rule 'story': stray ']'"},
        {{"=story", "[k:a|b] [k:a|b|c]", NULL}, "another number of alternatives"},
        {{"=story", "<a>", "=a", "x <story>", NULL}, "recursive"},
        {{"=tale", "x", NULL}, "no rule 'story'"},
        {{"=story", NULL}, "rule 'story': empty"},
        {{"@thing name use", "a|b", "c", NULL}, "list 'thing': want 2 fields, found 1 in 'c'"},
        {{"@thing", NULL}, "list 'thing': no fields"},
        {{"@thing name many=s", NULL},
         "list 'thing': want an ending such as =+ed on a field but the first, found '=s'"},
        {{"@thing name=+s", NULL}, "on a field but the first, found '=+s'"},
        {{"@thing name many=+en", NULL}, "found '=+en'"},
        {{"@thing name many=+s use", "owl", NULL}, "list 'thing': want 3 fields, found 2 in 'owl'"},
        {{"@thing name many=+s", "", NULL}, "list 'thing': want 2 fields, found 1 in ''"},
        {{"lost", NULL}, "'lost' is under no list or rule"},
        {{"~big", NULL}, "synonyms '~big': want at least two"},
        {{"=story", "a {thing", NULL}, "a slot is not closed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *const tables[] = {rows[i].table, NULL};
        struct error err = {0};
        assert_null(corpus_grammar_create(tables, &err));
        assert_int_equal(err.status, STATUS_BAD_INPUT);
        if (!strstr(err.text, rows[i].want))
            fail_msg("want '%s', found '%s'", rows[i].want, err.text);
    }
}

/* A small grammar whose every expansion is known. */
static void test_expansion(void **state)
{
    (void)state;
    static const char *const table[] = {
        "@thing name many",
        "owl|owls",
        "cat|cats",
        "elk|elks",
        "hen|hens",
        "=story",
        "a {thing} [|] met a [k:old|young] {thing2}.\n[|]\nthe [k:old|young] {thing2}[ |], a big one, said, \"see two "
        "{thing.many}!\" so.\n <end>",
        "~big|large",
        "=end",
        "{Thing} and {thing3}",
        NULL,
    };
    const char *const *const tables[] = {table, NULL};
    struct error err = {0};
    struct corpus_grammar *g = corpus_grammar_create(tables, &err);
    assert_non_null(g);
    for (uint32_t i = 0; i < 200; i++) {
        char out[512], one[8], two[8], again[8], many[8], one_again[8], three[8];
        char a[4], b[4], age[8], age_again[8], size[8];
        double ways;
        const struct rng_stream stream = {7, RNG_CORPUS, i};
        size_t length = corpus_grammar_expand(g, &stream, i % 3, out, &ways);
        assert_true(length <= corpus_grammar_longest(g) && corpus_grammar_longest(g) < sizeof out);
        out[length] = '\0';
        int n = sscanf(out,
                       "%3s %7s met %3s %7s %7[a-z].\n\nThe %7s %7[a-z], a %7s one, said, \"see two %7[a-z]!\" so."
                       "\n\n%7s and %7s",
                       a, one, b, age, two, age_again, again, size, many, one_again, three);
        if (n != 11)
            fail_msg("%d of 11 parts in: %s", n, out);
        assert_string_equal(a, strchr("oe", one[0]) ? "An" : "A");
        assert_string_equal(b, age[0] == 'o' ? "an" : "a");
        assert_string_equal(age, age_again);
        assert_string_equal(two, again);
        assert_memory_equal(one, many, strlen(one));
        assert_true(isupper((unsigned char)one_again[0]) && !strcmp(one + 1, one_again + 1));
        assert_true(strcmp(one, two) && strcmp(one, three) && strcmp(two, three));
        assert_true(!strcmp(size, "big") || !strcmp(size, "large"));
        assert_true(ways == 4.0 * 4 * 4 /* things */ * 2 /* k */ * 2 /* big */ * 2 * 2 * 2 /* empty choices */);
    }
    corpus_grammar_destroy(g);
}

static void test_longest_story_fits(void **state)
{
    (void)state;
    struct error err = {0};
    struct corpus_grammar *g = corpus_grammar_create(corpus_tables, &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_in_range(corpus_grammar_longest(g) + strlen(CORPUS_SEPARATOR), 1000, CORPUS_STORY_MAX);
    corpus_grammar_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes_for_any_threads),
        cmocka_unit_test(test_smaller_is_a_prefix),
        cmocka_unit_test(test_text_is_the_stories_in_order),
        cmocka_unit_test(test_sink_stops_it),
        cmocka_unit_test(test_bytes_are_pinned),
        cmocka_unit_test(test_stories_and_seeds_differ),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_words_and_marks),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_longest_story_fits),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
