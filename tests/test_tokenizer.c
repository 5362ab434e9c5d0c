/* The pre-tokenizer, encoding against a naive encoder, round trips, the two files and what is refused in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/data/pretokenize.h"
#include "core/data/tokenizer.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/data.h"

/* ---- pre-tokenizer ---- */

static void expect_pieces(bool regex_only, const char *text, size_t length, const char *const *want)
{
    struct pretokenizer *p;
    assert_int_equal(pretokenizer_create(&p, NULL), STATUS_OK);
    pretokenizer_use_regex_only(p, regex_only);
    pretokenizer_start(p, (const unsigned char *)text, length);
    size_t begin, end, at = 0;
    while (pretokenizer_next(p, &begin, &end, NULL) == 1) {
        assert_int_equal(begin, at);
        if (!*want || strlen(*want) != end - begin || memcmp(*want, text + begin, end - begin) != 0)
            fail_msg("'%s': want the piece '%s', got '%.*s'", text, *want ? *want : "(end)", (int)(end - begin),
                     text + begin);
        want++;
        at = end;
    }
    assert_null(*want);
    assert_int_equal(at, length);
    pretokenizer_destroy(p);
}

#define PIECES(text, ...)                                                                                              \
    do {                                                                                                               \
        expect_pieces(false, text, sizeof text - 1, (const char *const[]){__VA_ARGS__, NULL});                         \
        expect_pieces(true, text, sizeof text - 1, (const char *const[]){__VA_ARGS__, NULL});                          \
    } while (0)

static void test_pieces(void **state)
{
    (void)state;
    PIECES("Hello world", "Hello", " world");
    PIECES("I'll say we've, they're; it's don't I'm he'd", "I", "'ll", " say", " we", "'ve", ",", " they", "'re", ";",
           " it", "'s", " don", "'t", " I", "'m", " he", "'d");
    PIECES("IT'S 'twas 'sun ''s", "IT", "'", "S", " '", "twas", " '", "sun", " ''", "s");
    PIECES("'", "'");
    PIECES("a'", "a", "'");
    PIECES("'r", "'", "r");
    PIECES("x 12ab3.5%", "x", " 12", "ab", "3", ".", "5", "%");
    PIECES("a  b", "a", " ", " b");
    PIECES("a   b", "a", "  ", " b");
    PIECES("a \n\nb", "a", " \n", "\n", "b");
    PIECES("a\n b", "a", "\n", " b");
    PIECES("end \n", "end", " \n");
    PIECES("  ", "  ");
    PIECES(" \t", " \t");
    PIECES("a\tb", "a", "\t", "b");
    PIECES("one\r\ntwo", "one", "\r", "\n", "two");
    PIECES("a\x01\x7f!", "a", "\x01\x7f!");
    PIECES("\u00e9t\u00e9 \u0416\u0438", "\u00e9t\u00e9", " \u0416\u0438");
    PIECES("caf\u00e9", "caf\u00e9");
    PIECES("\u6f22\u5b57\u3002", "\u6f22\u5b57", "\u3002");
    PIECES("3\u00bd\u0663\u2167 x", "3\u00bd\u0663\u2167", " x"); /* No, Nd, Nl: all numbers */
    PIECES("a\u00a0\u2003b", "a", "\u00a0", "\u2003", "b");       /* only ' ' joins what follows */
    PIECES("a\u3000 b", "a", "\u3000", " b");
    PIECES("a\xc2\x85"
           "b",
           "a", "\xc2\x85", "b");       /* U+0085 is white space */
    PIECES("a\u180e!", "a", "\u180e!"); /* U+180E is not, any more */
    PIECES("e\u0301", "e", "\u0301");   /* a combining mark is no letter */
    PIECES("hi \U0001f642\U0001f642!", "hi", " \U0001f642\U0001f642!");
    PIECES("<|endoftext|>", "<|", "endoftext", "|>");
}

static void test_pieces_of_invalid(void **state)
{
    (void)state;
    PIECES("ab\xff\xfe"
           "cd",
           "ab", "\xff\xfe", "cd");
    PIECES("ab\xe2\x82 cd", "ab", "\xe2\x82", " cd");
    PIECES("\xc3", "\xc3");
    PIECES("\xc3\xa9\xc3", "\xc3\xa9", "\xc3");
    PIECES("a  \xff", "a", "  ", "\xff"); /* the blanks end a text: nothing follows for the last one */
    PIECES(" \xff"
           "b",
           " ", "\xff", "b");
    PIECES("'\xff", "'", "\xff");
    PIECES("a\xed\xa0\x80z", "a", "\xed\xa0\x80", "z");         /* a surrogate */
    PIECES("a\xc0\x80z", "a", "\xc0\x80", "z");                 /* overlong */
    PIECES("a\xf4\x90\x80\x80z", "a", "\xf4\x90\x80\x80", "z"); /* beyond U+10FFFF */
}

/* The scanner and PCRE2 alone must cut alike, on anything. */
static void test_scanner_is_regex(void **state)
{
    (void)state;
    struct pretokenizer *fast, *slow;
    assert_int_equal(pretokenizer_create(&fast, NULL), STATUS_OK);
    assert_int_equal(pretokenizer_create(&slow, NULL), STATUS_OK);
    pretokenizer_use_regex_only(slow, true);
    uint64_t seed = 11;
    unsigned char text[200];
    size_t pieces = 0;
    for (int round = 0; round < 20000; round++) {
        size_t n = data_random(&seed, sizeof text);
        if (round % 3 == 0) /* ASCII only */
            for (size_t i = 0; i < n; i++)
                text[i] = (unsigned char)(data_random(&seed, 2) ? " \n\t'slvet1.a"[data_random(&seed, 13)]
                                                                : (char)data_random(&seed, 128));
        else
            data_random_text(&seed, text, n);
        pretokenizer_start(fast, text, n);
        pretokenizer_start(slow, text, n);
        size_t a[2], b[2], at = 0;
        int more;
        while ((more = pretokenizer_next(fast, &a[0], &a[1], NULL)) == 1) {
            assert_int_equal(pretokenizer_next(slow, &b[0], &b[1], NULL), 1);
            assert_int_equal(a[0], at);
            assert_int_equal(a[0], b[0]);
            assert_int_equal(a[1], b[1]);
            at = a[1];
            pieces++;
        }
        assert_int_equal(more, 0);
        assert_int_equal(at, n);
        assert_int_equal(pretokenizer_next(slow, &b[0], &b[1], NULL), 0);
    }
    assert_true(pieces > 100000);
    pretokenizer_destroy(fast);
    pretokenizer_destroy(slow);
}

/* ---- encoding ---- */

/* A tokenizer of random merges over a few bytes, so that they apply often. */
static struct tokenizer *random_tokenizer(uint64_t *seed, uint32_t count)
{
    struct tokenizer *bytes = tokenizer_create(NULL, 0);
    struct tokenizer_merge *merges = memory_alloc(count, sizeof *merges);
    uint32_t common[12], made = 0;
    for (int i = 0; i < 12; i++)
        common[i] = tokenizer_byte_id(bytes, (unsigned char)"ab the\n1'sl\xff"[i]);
    while (made < count) {
        uint32_t pick[2];
        for (int k = 0; k < 2; k++)
            pick[k] = made && data_random(seed, 2) ? 256 + data_random(seed, made)
                                                   : common[data_random(seed, data_random(seed, 2) ? 2 : 12)];
        bool known = false;
        for (uint32_t i = 0; i < made; i++)
            known |= merges[i].left == pick[0] && merges[i].right == pick[1];
        if (!known)
            merges[made++] = (struct tokenizer_merge){.left = pick[0], .right = pick[1]};
    }
    struct tokenizer *t = tokenizer_create(merges, count);
    tokenizer_destroy(bytes);
    free(merges);
    return t;
}

/* One piece as GPT-2's own encoder does it: find the pair of lowest rank, merge all of it from the left, repeat. */
static size_t naive_piece(const struct tokenizer *t, const unsigned char *bytes, size_t n, uint32_t *ids)
{
    uint32_t count;
    const struct tokenizer_merge *merges = tokenizer_merges(t, &count);
    for (size_t i = 0; i < n; i++)
        ids[i] = tokenizer_byte_id(t, bytes[i]);
    for (;;) {
        uint32_t best = count;
        for (size_t i = 0; i + 1 < n; i++)
            for (uint32_t r = 0; r < best; r++)
                if (merges[r].left == ids[i] && merges[r].right == ids[i + 1])
                    best = r;
        if (best == count)
            return n;
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            bool joins = i + 1 < n && ids[i] == merges[best].left && ids[i + 1] == merges[best].right;
            ids[kept++] = joins ? merges[best].result : ids[i];
            i += joins;
        }
        n = kept;
    }
}

static size_t naive_encode(const struct tokenizer *t, const unsigned char *bytes, size_t n, uint32_t *ids)
{
    struct pretokenizer *p;
    assert_int_equal(pretokenizer_create(&p, NULL), STATUS_OK);
    pretokenizer_use_regex_only(p, true);
    pretokenizer_start(p, bytes, n);
    size_t begin, end, count = 0;
    while (pretokenizer_next(p, &begin, &end, NULL) == 1)
        count += naive_piece(t, bytes + begin, end - begin, ids + count);
    pretokenizer_destroy(p);
    return count;
}

static void expect_round_trip(const struct tokenizer *t, const uint32_t *ids, size_t count, const unsigned char *bytes,
                              size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const unsigned char *token = tokenizer_decode_bytes(t, ids[i], &length);
        assert_non_null(token);
        assert_true(at + length <= n);
        assert_memory_equal(token, bytes + at, length);
        at += length;
    }
    assert_int_equal(at, n);
}

static void test_encode_as_naive(void **state)
{
    (void)state;
    uint64_t seed = 23;
    unsigned char text[1500];
    uint32_t ids[1500], want[1500];
    size_t merged = 0;
    for (int round = 0; round < 150; round++) {
        struct tokenizer *t = random_tokenizer(&seed, 1 + data_random(&seed, 60));
        struct encoder *e;
        assert_int_equal(encoder_create(&e, t, NULL), STATUS_OK);
        for (int kind = 0; kind < 6; kind++) {
            size_t n = data_random(&seed, round % 10 ? 120 : sizeof text), count;
            for (size_t i = 0; i < n; i++)
                text[i] = kind == 0   ? (unsigned char)data_random(&seed, 256)
                          : kind == 1 ? (unsigned char)"ab"[data_random(&seed, 2)] /* one long word */
                          : kind == 2 ? 'a'
                                      : (unsigned char)"ab the\n1'sl\xff"[data_random(&seed, 12)];
            if (kind == 5)
                data_random_text(&seed, text, n);
            assert_int_equal(tokenizer_encode(e, text, n, ids, &count, NULL), STATUS_OK);
            assert_int_equal(count, naive_encode(t, text, n, want));
            assert_memory_equal(ids, want, count * sizeof *ids);
            expect_round_trip(t, ids, count, text, n);
            merged += n - count;
        }
        encoder_destroy(e);
        tokenizer_destroy(t);
    }
    assert_true(merged > 10000);
}

/* A megabyte without a space: n log n takes a fraction of a second; n^2 would take hours. */
static void test_long_word(void **state)
{
    (void)state;
    enum { N = 1000000 };
    unsigned char *text = memory_alloc(N, 1);
    uint32_t *ids = memory_alloc(N, sizeof *ids);
    uint64_t seed = 3;
    struct tokenizer *t = random_tokenizer(&seed, 60);
    struct encoder *e;
    assert_int_equal(encoder_create(&e, t, NULL), STATUS_OK);
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < N; i++)
            text[i] = kind == 0   ? 'a'
                      : kind == 1 ? (unsigned char)"abthe"[data_random(&seed, 5)]
                      : kind == 2 ? 0xff
                                  : ' ';
        size_t count;
        clock_t begin = clock();
        assert_int_equal(tokenizer_encode(e, text, N, ids, &count, NULL), STATUS_OK);
        assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 60); /* generous: a sanitizer on a busy machine */
        expect_round_trip(t, ids, count, text, N);
    }
    encoder_destroy(e);
    tokenizer_destroy(t);
    free(text);
    free(ids);
}

/* ---- files ---- */

static void test_numbering(void **state)
{
    (void)state;
    struct tokenizer_merge merges[] = {{.left = 71, .right = 68}, {.left = 83, .right = 256}}; /* h+e, t+he */
    struct tokenizer *t = tokenizer_create(merges, 2);
    size_t n;
    assert_int_equal(tokenizer_vocab_size(t), 259);
    assert_int_equal(tokenizer_end_of_text(t), 258);
    /* GPT-2's: "!" is 0, "~" 93, 0xa1 94, 0xae 106, 0xff 187, NUL 188, newline 198, space 220, 0x7f 221, 0xad 255. */
    static const int known[][2] = {{'!', 0}, {'~', 93},   {0xa1, 94}, {0xac, 105}, {0xae, 106}, {0xff, 187},
                                   {0, 188}, {'\n', 198}, {' ', 220}, {0x7f, 221}, {0xa0, 254}, {0xad, 255}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(tokenizer_byte_id(t, (unsigned char)known[i][0]), known[i][1]);
    assert_memory_equal(tokenizer_decode_bytes(t, 257, &n), "the", 3);
    assert_int_equal(n, 3);
    assert_memory_equal(tokenizer_decode_bytes(t, 258, &n), "<|endoftext|>", 13);
    assert_int_equal(n, 13);
    assert_null(tokenizer_decode_bytes(t, 259, &n));
    tokenizer_destroy(t);
}

static void test_save_and_load(void **state)
{
    (void)state;
    uint64_t seed = 77;
    /* Merges by random can name a string twice, which no file may: these do not. */
    struct tokenizer_merge merges[256];
    for (uint32_t i = 0; i < 256; i++)
        merges[i] = (struct tokenizer_merge){.left = i, .right = 255 - i};
    struct tokenizer *t = tokenizer_create(merges, 256), *again;
    char *folder = data_folder_make(), *sub = file_join(folder, "deep/er");
    struct error err = {0};
    assert_int_equal(tokenizer_save(t, sub, &err), STATUS_OK);
    assert_int_equal(tokenizer_load(&again, sub, &err), STATUS_OK);
    assert_int_equal(tokenizer_vocab_size(again), 513);
    assert_memory_equal(tokenizer_digest(t), tokenizer_digest(again), TOKENIZER_DIGEST_BYTES);
    for (uint32_t id = 0; id < 513; id++) {
        size_t n, m;
        const unsigned char *a = tokenizer_decode_bytes(t, id, &n), *b = tokenizer_decode_bytes(again, id, &m);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
    }
    unsigned char text[400];
    uint32_t ids[2][400];
    for (int k = 0; k < 400; k++)
        text[k] = (unsigned char)data_random(&seed, 256);
    struct tokenizer *both[] = {t, again};
    size_t count[2];
    for (int k = 0; k < 2; k++) {
        struct encoder *e;
        assert_int_equal(encoder_create(&e, both[k], NULL), STATUS_OK);
        assert_int_equal(tokenizer_encode(e, text, sizeof text, ids[k], &count[k], NULL), STATUS_OK);
        encoder_destroy(e);
    }
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(ids[0], ids[1], count[0] * sizeof ids[0][0]);
    /* One merge less is another tokenizer. */
    struct tokenizer *other = tokenizer_create(merges, 255);
    assert_memory_not_equal(tokenizer_digest(t), tokenizer_digest(other), TOKENIZER_DIGEST_BYTES);
    tokenizer_destroy(other);
    tokenizer_destroy(t);
    tokenizer_destroy(again);
    free(sub);
    data_folder_remove(folder);
}

/* The files of {h+e, t+he}, with `from` replaced by `to` in one of them (the merges when merges is true). */
static int load_damaged(const char *folder, bool in_merges, const char *from, const char *to, struct error *err)
{
    struct tokenizer_merge merges[] = {{.left = 71, .right = 68}, {.left = 83, .right = 256}};
    struct tokenizer *t = tokenizer_create(merges, 2), *loaded = NULL;
    assert_int_equal(tokenizer_save(t, folder, NULL), STATUS_OK);
    tokenizer_destroy(t);
    char *path = file_join(folder, in_merges ? "merges.txt" : "vocab.json");
    size_t size;
    char *text = (char *)data_file_read(path, &size), *found = strstr(text, from);
    assert_non_null(found);
    char *changed = memory_format("%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
    assert_int_equal(file_write_all(path, changed, strlen(changed), NULL), STATUS_OK);
    int status = tokenizer_load(&loaded, folder, err);
    assert_true((loaded != NULL) == (status == STATUS_OK));
    tokenizer_destroy(loaded);
    free(text);
    free(changed);
    free(path);
    return status;
}

static void test_load_refused(void **state)
{
    (void)state;
    static const struct {
        bool in_merges;
        const char *from, *to, *why;
    } cases[] = {
        {false, "{", "[", "vocab.json:1: "},
        {false, "\"the\": 257", "\"the\": 256", "id 256 is also that of \"he\""},
        {false, "\"the\": 257", "\"the\": 300", "entry \"the\": id 300"},
        {false, "\"the\": 257", "\"the\": -1", "entry \"the\": id -1"},
        {false, "\"the\": 257", "\"the\": 257.0", "entry \"the\": the id is not an integer"},
        {false, "\"the\": 257", "\"the\": \"257\"", "entry \"the\": the id is not an integer"},
        {false, "\"the\": 257", "\"he\": 257", "duplicate"},
        {false, "\"the\": 257", "\"\": 257", "empty string"},
        {false, "\"the\": 257", "\"th \": 257", "entry \"th \": has a character that stands for no byte"},
        {false, "\"the\": 257", "\"th\\u4e00\": 257", "has a character that stands for no byte"},
        {false, "\"the\": 257", "\"tha\": 257", "merges.txt:3: the result \"the\" is not in vocab.json"},
        {false, "\"the\": 257, ", "", "entry \"<|endoftext|>\": id 258"},
        {false, "\"<|endoftext|>\"", "\"<|end|>\"", "no entry \"<|endoftext|>\""},
        {false, "\"!\": 0", "\"!!\": 0", "no entry for byte 0x21"},
        {true, "t he\n", "t hx\n", "merges.txt:3: \"hx\" is not in vocab.json"},
        {true, "h e\nt he\n", "t he\nh e\n", "merges.txt:2: \"he\" is neither a byte nor made by an earlier line"},
        {true, "t he\n", "h e\n", "merges.txt:3: \"he\" is there already"},
        {true, "t he\n", "", "entry \"the\": neither a byte nor made by a line of merges.txt"},
        {true, "t he\n", "t he\na b\n", "merges.txt:4: more merges"},
        {true, "t he\n", "the\n", "merges.txt:3: want two symbols"},
        {true, "t he\n", "t  he\n", "merges.txt:3: want two symbols"},
        {true, "t he\n", "t he \n", "merges.txt:3: want two symbols"},
        {true, "t he\n", "\nt he\n", "merges.txt:3: want two symbols"},
        {true, "t he\n", "t he\r\n", "merges.txt:3: \"he\r\" is not in vocab.json"},
        {true, "t he\n", "t <|endoftext|>\n", "merges.txt:3: <|endoftext|> cannot be merged"},
        {true, "h e\n", "#version: 0.2\nh e\n", "merges.txt:2: "},
    };
    char *folder = data_folder_make();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        assert_int_equal(load_damaged(folder, cases[i].in_merges, cases[i].from, cases[i].to, &err), STATUS_BAD_INPUT);
        if (!strstr(err.text, cases[i].why) || !strstr(err.text, folder))
            fail_msg("case %zu: want '%s' in '%s'", i, cases[i].why, err.text);
    }
    /* What may differ: no first line, no last newline, ids in another order. */
    assert_int_equal(load_damaged(folder, true, "#version: 0.2\n", "", NULL), STATUS_OK);
    assert_int_equal(load_damaged(folder, true, "t he\n", "t he", NULL), STATUS_OK);
    assert_int_equal(load_damaged(folder, false, "\"he\": 256, \"the\": 257", "\"the\": 256, \"he\": 257", NULL),
                     STATUS_OK);
    data_folder_remove(folder);
}

static void test_load_missing(void **state)
{
    (void)state;
    static const char *const names[] = {"vocab.json", "merges.txt"};
    for (int i = 0; i < 2; i++) {
        char *folder = data_folder_make(), *gone = file_join(folder, names[i]);
        struct tokenizer *t = tokenizer_create(NULL, 0), *loaded;
        struct error err = {0};
        assert_int_equal(tokenizer_save(t, folder, NULL), STATUS_OK);
        assert_int_equal(tokenizer_load(&loaded, folder, &err), STATUS_OK);
        tokenizer_destroy(loaded);
        assert_int_equal(remove(gone), 0);
        assert_int_equal(tokenizer_load(&loaded, folder, &err), STATUS_BAD_INPUT);
        assert_null(loaded);
        assert_non_null(strstr(err.text, gone));
        tokenizer_destroy(t);
        free(gone);
        data_folder_remove(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),           cmocka_unit_test(test_pieces_of_invalid),
        cmocka_unit_test(test_scanner_is_regex), cmocka_unit_test(test_encode_as_naive),
        cmocka_unit_test(test_long_word),        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_save_and_load),    cmocka_unit_test(test_load_refused),
        cmocka_unit_test(test_load_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
