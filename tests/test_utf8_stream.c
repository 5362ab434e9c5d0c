/* A text written in pieces: what is out at any time is whole characters, and in the end every byte is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/utf8_stream.h"
#include "tests/support/data.h"

/* What has been written so far. */
static size_t written(FILE *f, char *to)
{
    fflush(f);
    long size = ftell(f);
    rewind(f);
    size_t got = fread(to, 1, 4000, f);
    fseek(f, size, SEEK_SET);
    return got;
}

static void expect(const char *const *pieces, const char *const *after)
{
    FILE *f = tmpfile();
    char text[4001];
    assert_non_null(f);
    struct utf8_stream s = {.out = f};
    for (int i = 0; pieces[i]; i++) {
        assert_int_equal(utf8_stream_write(&s, (const unsigned char *)pieces[i], strlen(pieces[i])), 0);
        size_t got = written(f, text);
        text[got] = '\0';
        assert_string_equal(text, after[i]);
    }
    assert_int_equal(utf8_stream_end(&s), 0);
    fclose(f);
}

static void test_characters_are_held_until_whole(void **state)
{
    (void)state;
    expect((const char *const[]){"a\xc3",
                                 "\xa9"
                                 "b",
                                 "\xe2", "\x82", "\xac", NULL},
           (const char *const[]){"a", "a\u00e9b", "a\u00e9b", "a\u00e9b", "a\u00e9b\u20ac"});
    expect((const char *const[]){"\xf0\x9f", "\x98\x80!", NULL}, (const char *const[]){"", "\xf0\x9f\x98\x80!"});
    expect((const char *const[]){"\xf0", "\x9f", "\x98", "\x80\xf0\x9f", "\x98\x81", NULL},
           (const char *const[]){"", "", "", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80\xf0\x9f\x98\x81"});
}

static void test_what_is_no_character_passes(void **state)
{
    (void)state;
    expect((const char *const[]){"\x80\xff", "\xc3", "x", NULL},
           (const char *const[]){"\x80\xff", "\x80\xff", "\x80\xff\xc3x"});
    expect((const char *const[]){"\xe2\x82", "\xe2", "\x82\xac", NULL},
           (const char *const[]){"", "\xe2\x82", "\xe2\x82\xe2\x82\xac"});
    expect((const char *const[]){"\xe2\x82", "A", NULL}, (const char *const[]){"", "\xe2\x82"
                                                                                   "A"});
}

/* Any bytes in any pieces come out as they went in. */
static void test_bytes_are_kept(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 300; round++) {
        unsigned char bytes[200];
        char out[4001];
        FILE *f = tmpfile();
        struct utf8_stream s = {.out = f};
        size_t n = data_random(&seed, 200);
        data_random_text(&seed, bytes, n);
        for (size_t at = 0; at < n;) {
            size_t piece = 1 + data_random(&seed, 4);
            piece = piece < n - at ? piece : n - at;
            assert_int_equal(utf8_stream_write(&s, bytes + at, piece), 0);
            at += piece;
        }
        assert_int_equal(utf8_stream_end(&s), 0);
        assert_int_equal(written(f, out), n);
        assert_memory_equal(out, bytes, n);
        fclose(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters_are_held_until_whole),
        cmocka_unit_test(test_what_is_no_character_passes),
        cmocka_unit_test(test_bytes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
