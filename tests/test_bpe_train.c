/* Training: by hand, with the tie rule; against a trainer that recounts everything; on any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/data/bpe_train.h"
#include "core/data/pretokenize.h"
#include "core/base/memory.h"
#include "tests/support/data.h"

static int train_bytes(struct tokenizer **t, const void *bytes, size_t size, uint32_t vocab, int threads,
                       struct error *err)
{
    char *folder = data_folder_make(), *path = data_file_write(folder, "t", bytes, size);
    struct text text;
    assert_int_equal(text_open(&text, path, NULL), STATUS_OK);
    int status = tokenizer_train(t, &text, vocab, threads, NULL, err);
    text_close(&text);
    free(path);
    data_folder_remove(folder);
    return status;
}

/* Train until nothing is left and compare the tokens made, in order. */
static void expect_tokens(const char *text, const char *const *want)
{
    uint32_t count = 0;
    while (want[count])
        count++;
    struct tokenizer *t;
    struct error err = {0};
    assert_int_equal(train_bytes(&t, text, strlen(text), 257 + count, 1, &err), STATUS_OK);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const unsigned char *bytes = tokenizer_decode_bytes(t, 256 + i, &length);
        if (length != strlen(want[i]) || memcmp(bytes, want[i], length) != 0)
            fail_msg("'%s': merge %u: want '%s', got '%.*s'", text, i, want[i], (int)length, (const char *)bytes);
    }
    tokenizer_destroy(t);
    assert_int_equal(train_bytes(&t, text, strlen(text), 258 + count, 1, &err), STATUS_BAD_INPUT);
    assert_null(t);
    char supports[64];
    snprintf(supports, sizeof supports, "supports a vocabulary of %u ", 257 + count);
    assert_non_null(strstr(err.text, supports));
}

/* The text, then the tokens it makes. */
#define TOKENS(...) expect_list((const char *const[]){__VA_ARGS__, NULL})

static void expect_list(const char *const *list)
{
    expect_tokens(list[0], list + 1);
}

static void test_by_hand(void **state)
{
    (void)state;
    /* Words: "hug" 1, " hug" 2, " pug" 2. Pairs: hu 3, ug 5, " h" 2, " p" 2, pu 2.
     * 1. ug (5). Then h+ug 3, " h" 2, " p" 2, p+ug 2.  2. hug (3). Then " "+hug 2, " p" 2, p+ug 2.
     * 3. a tie of 2 between (" ", "hug"), (" ", "p") and ("p", "ug"): the greatest first token is "p": pug.
     * 4. a tie between (" ", "hug") and (" ", "pug"): the greater second token is "pug".  5. " hug". */
    TOKENS("hug hug pug hug pug", "ug", "hug", "pug", " pug", " hug");
    /* Bytes compare as unsigned: (0xc3, 0xa9) is above any ASCII pair. */
    TOKENS("zz \u00e9 zz \u00e9", "\u00e9", "zz", " \u00e9");
    /* Pairs ab, bx, ac, cx, each 2: the greatest first byte is c, then b, then of (a, bx) and (a, cx) the latter. */
    TOKENS("abx.acx.abx.acx", "cx", "bx", "acx", "abx");
    /* Overlaps: "aaaaa" has aa 4 times; merged from the left it is aa aa a. Twice each below (with a separating dot):
     * aa (8); then (aa,aa) 2, (aa,a) 2: the second "aa" is greater than "a". Then (aaaa, a) 2. */
    TOKENS("aaaaa.aaaaa", "aa", "aaaa", "aaaaa");
    TOKENS("aaa.aaa", "aa", "aaa");
    /* ab 3 (ba 2); then (ab, ab) 2, merged from the left. */
    TOKENS("ababab", "ab", "abab");
    /* Nothing occurs twice. */
    TOKENS("abc");
    /* Merges do not cross words or documents. */
    TOKENS("a\n<|endoftext|>\nb\n<|endoftext|>\na\n<|endoftext|>\nb");
}

/* ---- a naive trainer ---- */

struct naive_word {
    uint32_t *ids;
    size_t count;
};

struct naive {
    struct naive_word *words; /* every occurrence of every piece */
    size_t word_count, capacity;
    const unsigned char *token[1024];
    size_t length[1024];
};

static int compare_ids(const struct naive *n, uint32_t a, uint32_t b)
{
    size_t shorter = n->length[a] < n->length[b] ? n->length[a] : n->length[b];
    int order = memcmp(n->token[a], n->token[b], shorter);
    return order ? order : (n->length[a] > n->length[b]) - (n->length[a] < n->length[b]);
}

static void naive_load(struct naive *n, const struct tokenizer *bytes, const unsigned char *text, size_t size)
{
    struct pretokenizer *p;
    assert_int_equal(pretokenizer_create(&p, NULL), STATUS_OK);
    pretokenizer_start(p, text, size);
    size_t begin, end;
    while (pretokenizer_next(p, &begin, &end, NULL) == 1) {
        if (n->word_count == n->capacity) {
            n->capacity = n->capacity ? 2 * n->capacity : 64;
            n->words = memory_resize(n->words, n->capacity, sizeof *n->words);
        }
        struct naive_word w = {memory_alloc(end - begin, sizeof *w.ids), end - begin};
        for (size_t i = 0; i < w.count; i++)
            w.ids[i] = tokenizer_byte_id(bytes, text[begin + i]);
        n->words[n->word_count++] = w;
    }
    pretokenizer_destroy(p);
}

/* Count every pair anew, by a full table; false when none occurs twice. */
static bool naive_best(const struct naive *n, uint32_t ids, uint32_t best[2])
{
    uint32_t *counts = memory_alloc((size_t)ids * ids, sizeof *counts), most = 1;
    for (size_t w = 0; w < n->word_count; w++)
        for (size_t i = 0; i + 1 < n->words[w].count; i++)
            counts[n->words[w].ids[i] * ids + n->words[w].ids[i + 1]]++;
    for (uint32_t a = 0; a < ids; a++)
        for (uint32_t b = 0; b < ids; b++) {
            uint32_t count = counts[a * ids + b];
            if (count < 2 || count < most)
                continue;
            int order = count > most ? 1 : compare_ids(n, a, best[0]);
            if (order > 0 || (order == 0 && compare_ids(n, b, best[1]) > 0)) {
                most = count;
                best[0] = a;
                best[1] = b;
            }
        }
    free(counts);
    return most > 1;
}

static void naive_merge(struct naive *n, const uint32_t pair[2], uint32_t id)
{
    for (size_t w = 0; w < n->word_count; w++) {
        struct naive_word *word = &n->words[w];
        size_t kept = 0;
        for (size_t i = 0; i < word->count; i++) {
            bool joins = i + 1 < word->count && word->ids[i] == pair[0] && word->ids[i + 1] == pair[1];
            word->ids[kept++] = joins ? id : word->ids[i];
            i += joins;
        }
        word->count = kept;
    }
}

/* Train both ways as far as it goes (at most `most` merges) and compare every merge. Returns how many. */
static uint32_t compare_with_naive(const unsigned char *text, size_t size, uint32_t most)
{
    struct tokenizer *bytes = tokenizer_create(NULL, 0);
    struct naive n = {0};
    unsigned char *made[1024] = {0};
    for (int b = 0; b < 256; b++) {
        uint32_t id = tokenizer_byte_id(bytes, (unsigned char)b);
        n.token[id] = tokenizer_decode_bytes(bytes, id, &n.length[id]);
    }
    naive_load(&n, bytes, text, size);
    struct tokenizer_merge merges[512];
    uint32_t count = 0, pair[2] = {0, 0};
    for (; count < most && naive_best(&n, 256 + count, pair); count++) {
        uint32_t id = 256 + count;
        merges[count] = (struct tokenizer_merge){pair[0], pair[1], id};
        n.length[id] = n.length[pair[0]] + n.length[pair[1]];
        made[id] = memory_alloc(n.length[id], 1);
        memcpy(made[id], n.token[pair[0]], n.length[pair[0]]);
        memcpy(made[id] + n.length[pair[0]], n.token[pair[1]], n.length[pair[1]]);
        n.token[id] = made[id];
        naive_merge(&n, pair, id);
    }
    struct tokenizer *t;
    struct error err = {0};
    assert_int_equal(train_bytes(&t, text, size, 257 + count, 1 + (int)(size % 3), &err), STATUS_OK);
    uint32_t got;
    const struct tokenizer_merge *trained = tokenizer_merges(t, &got);
    assert_int_equal(got, count);
    assert_memory_equal(trained, merges, count * sizeof *merges);
    tokenizer_destroy(t);
    if (count < most) {
        assert_int_equal(train_bytes(&t, text, size, 258 + count, 1, &err), STATUS_BAD_INPUT);
        assert_null(t);
    }
    for (size_t w = 0; w < n.word_count; w++)
        free(n.words[w].ids);
    free(n.words);
    for (int i = 0; i < 1024; i++)
        free(made[i]);
    tokenizer_destroy(bytes);
    return count;
}

static void test_as_naive(void **state)
{
    (void)state;
    uint64_t seed = 41;
    unsigned char text[3000];
    uint32_t merges = 0;
    for (int round = 0; round < 60; round++) {
        size_t size = 1 + data_random(&seed, round % 5 ? 300 : sizeof text - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = round % 4 == 0   ? (unsigned char)"ab"[data_random(&seed, 2)]     /* one word, many overlaps */
                      : round % 4 == 1 ? (unsigned char)"aab \n"[data_random(&seed, 5)] /* short words */
                      : round % 4 == 2 ? (unsigned char)"the cat's \xff\xc3\xa9z1"[data_random(&seed, 16)]
                                       : 0;
        if (round % 4 == 3)
            data_random_text(&seed, text, size);
        merges += compare_with_naive(text, size, 60);
    }
    assert_true(merges > 1000);
}

/* NUL and other binary bytes are trained on like any. */
static void test_binary(void **state)
{
    (void)state;
    unsigned char text[] = {0, 1, 0, 1, 0, 1, ' ', 0, 1, 0xff, 0xfe, ' ', 0xff, 0xfe};
    struct tokenizer *t;
    struct error err = {0};
    assert_int_equal(train_bytes(&t, text, sizeof text, 259, 2, &err), STATUS_OK);
    size_t n;
    const unsigned char *first = tokenizer_decode_bytes(t, 256, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(first, "\0\1", 2);
    const unsigned char *second = tokenizer_decode_bytes(t, 257, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(second, "\xff\xfe", 2);
    tokenizer_destroy(t);
}

static void test_threads(void **state)
{
    (void)state;
    uint64_t seed = 9;
    enum { N = 60000 };
    unsigned char *text = memory_alloc(N, 1);
    data_random_text(&seed, text, N);
    for (size_t i = 0; i + 20 < N; i += 700)
        memcpy(text + i, "\n<|endoftext|>\n", 15);
    unsigned char digest[TOKENIZER_DIGEST_BYTES];
    for (int threads = 1; threads <= 5; threads++) {
        struct tokenizer *t;
        struct error err = {0};
        assert_int_equal(train_bytes(&t, text, N, 600, threads, &err), STATUS_OK);
        if (threads == 1)
            memcpy(digest, tokenizer_digest(t), sizeof digest);
        assert_memory_equal(digest, tokenizer_digest(t), sizeof digest);
        tokenizer_destroy(t);
    }
    free(text);
}

static void test_bounds(void **state)
{
    (void)state;
    struct tokenizer *t;
    struct error err = {0};
    assert_int_equal(train_bytes(&t, "aa", 2, 256, 1, &err), STATUS_BAD_INPUT);
    assert_null(t);
    assert_int_equal(train_bytes(&t, "aa", 2, TOKENIZER_MOST_VOCAB + 1, 1, &err), STATUS_BAD_INPUT);
    assert_int_equal(train_bytes(&t, "aa", 2, 257, 1, &err), STATUS_OK);
    assert_int_equal(tokenizer_vocab_size(t), 257);
    tokenizer_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_as_naive), cmocka_unit_test(test_binary),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
