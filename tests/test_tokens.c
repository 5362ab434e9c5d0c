/* Token files: round trips byte for byte, on any number of threads and both widths, and every lie in a header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "core/data/bpe_train.h"
#include "core/data/tokens.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/data.h"

enum { HEADER = 128 };

/* A vocabulary above 65,536: every pair of bytes is a token. */
static struct tokenizer *wide_tokenizer(void)
{
    struct tokenizer_merge *merges = memory_alloc(65536, sizeof *merges);
    for (uint32_t i = 0; i < 65536; i++)
        merges[i] = (struct tokenizer_merge){.left = i / 256, .right = i % 256};
    struct tokenizer *t = tokenizer_create(merges, 65536);
    free(merges);
    return t;
}

/* Four merges: "he", "the", " the", two newlines. */
static struct tokenizer *small_tokenizer(void)
{
    struct tokenizer_merge merges[] = {{.left = 71, .right = 68},
                                       {.left = 83, .right = 256},
                                       {.left = 220, .right = 257},
                                       {.left = 198, .right = 198}};
    return tokenizer_create(merges, 4);
}

static void expect_round_trip(const struct tokenizer *t, const char *folder, const void *bytes, size_t size,
                              int threads)
{
    char *in = data_file_write(folder, "in", bytes, size), *out = file_join(folder, "out"),
         *back = file_join(folder, "back");
    struct text text;
    struct tokens tokens;
    struct error err = {0};
    unsigned char digest[TEXT_DIGEST_BYTES];
    uint64_t count;
    assert_int_equal(text_open(&text, in, &err), STATUS_OK);
    assert_int_equal(tokens_write(out, t, &text, threads, &count, NULL, &err), STATUS_OK);
    assert_int_equal(tokens_open(&tokens, out, &err), STATUS_OK);
    assert_int_equal(tokens.count, count);
    assert_int_equal(tokens.vocab, tokenizer_vocab_size(t));
    assert_int_equal(tokens.width, tokens.vocab > 65536 ? 4 : 2);
    text_digest(&text, NULL, digest);
    assert_memory_equal(tokens.text_digest, digest, sizeof digest);
    uint64_t separators = 0;
    for (uint64_t i = 0; i < count; i++)
        separators += tokens_get(&tokens, i) == tokens.end_of_text;
    assert_int_equal(separators, text.count - !text.closed);
    FILE *stream = fopen(back, "w");
    assert_non_null(stream);
    assert_int_equal(tokens_decode(&tokens, t, out, stream, &err), STATUS_OK);
    fclose(stream);
    size_t got;
    unsigned char *again = data_file_read(back, &got);
    assert_int_equal(got, size);
    assert_memory_equal(again, bytes, size);
    free(again);
    tokens_close(&tokens);
    text_close(&text);
    free(in);
    free(out);
    free(back);
}

static void test_round_trips(void **state)
{
    (void)state;
    static const char *const parts[] = {"\n", TEXT_SEPARATOR, "\n" TEXT_SEPARATOR "\n", "the ", " the", "\n\n", "z\r"};
    struct tokenizer *both[] = {small_tokenizer(), wide_tokenizer()};
    char *folder = data_folder_make();
    uint64_t seed = 1;
    for (int round = 0; round < 120; round++) {
        unsigned char bytes[2000];
        size_t n = 0;
        for (uint32_t k = 1 + data_random(&seed, 30); k > 0; k--) {
            uint32_t which = data_random(&seed, 9);
            size_t more = which < 7 ? strlen(parts[which]) : data_random(&seed, 30);
            if (which < 7)
                memcpy(bytes + n, parts[which], more);
            else {
                data_random_text(&seed, bytes + n + 1, more);
                bytes[n] = bytes[n + 1 + more] = 'q'; /* blanks of its ends would be a separator's */
                more += 2;
            }
            n += more;
        }
        if (n)
            expect_round_trip(both[round % 10 == 0], folder, bytes, n, 1 + round % 4);
    }
    tokenizer_destroy(both[0]);
    tokenizer_destroy(both[1]);
    data_folder_remove(folder);
}

static void test_ids(void **state)
{
    (void)state;
    static const char bytes[] = "the the\n" TEXT_SEPARATOR "\nx\n" TEXT_SEPARATOR;
    static const uint32_t want[] = {257, 258, 260, 87, 260};
    struct tokenizer *t = small_tokenizer();
    char *folder = data_folder_make(), *in = data_file_write(folder, "in", bytes, sizeof bytes - 1);
    char *out = file_join(folder, "out");
    struct text text;
    struct tokens tokens;
    int32_t some[3];
    assert_int_equal(text_open(&text, in, NULL), STATUS_OK);
    assert_int_equal(tokens_write(out, t, &text, 1, NULL, NULL, NULL), STATUS_OK);
    assert_int_equal(tokens_open(&tokens, out, NULL), STATUS_OK);
    assert_int_equal(tokens.count, 5);
    assert_true(tokens.bare_end);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(tokens_get(&tokens, i), want[i]);
    tokens_read(&tokens, 1, 3, some);
    for (int i = 0; i < 3; i++)
        assert_int_equal(some[i], (int32_t)want[i + 1]);
    /* The layout of docs/formats.md, byte for byte. */
    size_t size;
    unsigned char *file = data_file_read(out, &size);
    assert_int_equal(size, HEADER + 2 * 5);
    assert_memory_equal(file, "TAPERTOK\1\0\0\0\2\0\0\0\5\0\0\0\0\0\0\0\5\1\0\0\4\1\0\0\1\0\0\0\0\0\0\0", 40);
    assert_memory_equal(file + 40, tokenizer_digest(t), 32);
    assert_memory_equal(file + HEADER, "\1\1\2\1\4\1\x57\0\4\1", 10);
    free(file);
    tokens_close(&tokens);
    text_close(&text);
    tokenizer_destroy(t);
    free(in);
    free(out);
    data_folder_remove(folder);
}

static void test_threads(void **state)
{
    (void)state;
    enum { N = 300000 };
    unsigned char *bytes = memory_alloc(N, 1), *first = NULL;
    uint64_t seed = 5;
    data_random_text(&seed, bytes, N);
    for (size_t i = 0; i + 1000 < N; i += 10 + data_random(&seed, 900))
        memcpy(bytes + i, "\n" TEXT_SEPARATOR "\n", 15);
    struct tokenizer *t = small_tokenizer();
    char *folder = data_folder_make(), *in = data_file_write(folder, "in", bytes, N), *out = file_join(folder, "out");
    struct text text;
    assert_int_equal(text_open(&text, in, NULL), STATUS_OK);
    assert_true(text.count > 300);
    size_t want = 0, got;
    for (int threads = 1; threads <= 5; threads += 2) {
        assert_int_equal(tokens_write(out, t, &text, threads, NULL, NULL, NULL), STATUS_OK);
        unsigned char *file = data_file_read(out, &got);
        if (!first) {
            first = file;
            want = got;
            continue;
        }
        assert_int_equal(got, want);
        assert_memory_equal(file, first, want);
        free(file);
    }
    text_close(&text);
    tokenizer_destroy(t);
    free(first);
    free(bytes);
    free(in);
    free(out);
    data_folder_remove(folder);
}

/* ---- damage ---- */

/* Put a header right again after a change, so that what is behind its checksum is tried too. */
static void seal(unsigned char *file)
{
    crypto_generichash(file + 112, 16, file, 112, NULL, 0);
}

static void refuse(const char *folder, const unsigned char *file, size_t size, const char *why)
{
    char *path = data_file_write(folder, "damaged", file, size);
    struct tokens tokens;
    struct error err = {0};
    assert_int_equal(tokens_open(&tokens, path, &err), STATUS_BAD_INPUT);
    assert_null(tokens.map.data);
    if (!strstr(err.text, why) || !strstr(err.text, path))
        fail_msg("want '%s' in '%s'", why, err.text);
    free(path);
}

static unsigned char *encode_file(const char *folder, const struct tokenizer *t, const char *bytes, size_t *size)
{
    char *in = data_file_write(folder, "in", bytes, strlen(bytes)), *out = file_join(folder, "out");
    struct text text;
    assert_int_equal(text_open(&text, in, NULL), STATUS_OK);
    assert_int_equal(tokens_write(out, t, &text, 1, NULL, NULL, NULL), STATUS_OK);
    text_close(&text);
    unsigned char *file = data_file_read(out, size);
    free(in);
    free(out);
    return file;
}

static void test_damaged(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer();
    char *folder = data_folder_make();
    size_t size;
    unsigned char *file = encode_file(folder, t, "the the xyz", &size), *copy = memory_alloc(size + 8, 1);
    refuse(folder, file, 0, "not a token file");
    refuse(folder, file, 7, "not a token file");
    refuse(folder, (const unsigned char *)"plain text, long enough to hold a header", 40, "not a token file");
    for (size_t n = 8; n < HEADER; n++)
        refuse(folder, file, n, "truncated");
    for (size_t n = HEADER; n < size; n++)
        refuse(folder, file, n, "the header promises");
    memcpy(copy, file, size);
    refuse(folder, copy, size + 1, "the header promises");
    for (size_t at = 8; at < HEADER; at++) { /* any flipped bit of the header is seen */
        memcpy(copy, file, size);
        copy[at] ^= (unsigned char)(1u << at % 8);
        refuse(folder, copy, size, at < 12 ? "version" : "damaged");
    }
    /* Lies under a right checksum: where, how many bytes, what. */
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *why;
    } lies[] = {
        {8, 4, 2, "version 2"},
        {12, 4, 4, "the header promises"},
        {12, 4, 0, "width 0"},
        {12, 4, 3, "width 3"},
        {16, 8, 1, "the header promises"},
        {16, 8, UINT64_MAX, "the header promises"},
        {16, 8, (UINT64_MAX - HEADER) / 2 + 2, "the header promises"},
        {16, 8, UINT64_C(1) << 63, "the header promises"},
        {24, 4, 0, "vocabulary 0"},
        {24, 4, 70000, "vocabulary 70000"},
        {24, 4, 256, "end of text 260"},
        {28, 4, 261, "end of text 261"},
        {32, 4, 2, "flags 2"},
        {36, 4, 1, "makes no sense"},
        {110, 1, 1, "makes no sense"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        memcpy(copy, file, size);
        memcpy(copy + lies[i].at, &lies[i].value, lies[i].bytes);
        seal(copy);
        refuse(folder, copy, size, lies[i].why);
    }
    memcpy(copy, file, size);
    copy[HEADER + 2] = 5; /* id 258 becomes 261 */
    refuse(folder, copy, size, "id 261 at position 1 is outside the vocabulary of 261");
    tokenizer_destroy(t);
    free(file);
    free(copy);
    data_folder_remove(folder);
}

static void test_damaged_wide(void **state)
{
    (void)state;
    struct tokenizer *t = wide_tokenizer();
    char *folder = data_folder_make();
    size_t size;
    unsigned char *file = encode_file(folder, t, "abcdef", &size);
    assert_int_equal(size, HEADER + 3 * 4);
    file[HEADER + 4 + 3] = 0x80;
    refuse(folder, file, size, "at position 1 is outside the vocabulary of 65793");
    tokenizer_destroy(t);
    free(file);
    data_folder_remove(folder);
}

static void test_wrong_tokenizer(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer(), *other = tokenizer_create(NULL, 0);
    char *folder = data_folder_make(), *out = file_join(folder, "out"), hex[65];
    size_t size;
    free(encode_file(folder, t, "the the xyz", &size));
    struct tokens tokens;
    struct error err = {0};
    assert_int_equal(tokens_open(&tokens, out, &err), STATUS_OK);
    assert_int_equal(tokens_check_tokenizer(&tokens, t, out, &err), STATUS_OK);
    assert_int_equal(tokens_decode(&tokens, other, out, stderr, &err), STATUS_BAD_INPUT);
    sodium_bin2hex(hex, sizeof hex, tokenizer_digest(t), 32);
    assert_non_null(strstr(err.text, hex));
    sodium_bin2hex(hex, sizeof hex, tokenizer_digest(other), 32);
    assert_non_null(strstr(err.text, hex));
    tokens_close(&tokens);
    tokenizer_destroy(t);
    tokenizer_destroy(other);
    free(out);
    data_folder_remove(folder);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct tokenizer *t = small_tokenizer();
    char *folder = data_folder_make(), *in = data_file_write(folder, "in", "the", 3), *out = file_join(folder, "out");
    struct text text;
    struct tokens tokens;
    struct error err = {0};
    assert_int_equal(text_open(&text, in, NULL), STATUS_OK);
    assert_int_equal(tokens_write(out, t, &text, 1, NULL, NULL, &err), STATUS_OK);
    assert_int_equal(tokens_open(&tokens, out, &err), STATUS_OK);
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    assert_int_equal(tokens_decode(&tokens, t, out, full, &err), STATUS_DISK);
    assert_non_null(strstr(err.text, "No space left"));
    fclose(full);
    /* Into a directory that is not there: an error, and nothing is left behind. */
    char *nowhere = file_join(folder, "no/where");
    assert_int_equal(tokens_write(nowhere, t, &text, 1, NULL, NULL, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, nowhere));
    tokens_close(&tokens);
    text_close(&text);
    tokenizer_destroy(t);
    free(nowhere);
    free(in);
    free(out);
    data_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips), cmocka_unit_test(test_ids),          cmocka_unit_test(test_threads),
        cmocka_unit_test(test_damaged),     cmocka_unit_test(test_damaged_wide), cmocka_unit_test(test_wrong_tokenizer),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
