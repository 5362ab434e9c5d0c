/* Cutting text into documents: the rule by hand, rebuilding random files from their documents, directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "core/data/text.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/data.h"

#define SEP TEXT_SEPARATOR

static void expect(const char *bytes, size_t size, const char *const *documents, bool closed, bool bare_end)
{
    char *folder = data_folder_make(), *path = data_file_write(folder, "t", bytes, size);
    struct error err = {0};
    struct text text;
    assert_int_equal(text_open(&text, path, &err), STATUS_OK);
    size_t n = 0;
    uint64_t total = 0;
    for (; documents[n]; n++) {
        assert_true(n < text.count);
        assert_int_equal(text.documents[n].length, strlen(documents[n]));
        assert_memory_equal(text.documents[n].bytes, documents[n], strlen(documents[n]));
        total += strlen(documents[n]);
    }
    assert_int_equal(text.count, n);
    assert_int_equal(text.bytes, total);
    assert_int_equal(text.closed, closed);
    assert_int_equal(text.bare_end, bare_end);
    text_close(&text);
    free(path);
    data_folder_remove(folder);
}

#define EXPECT(text, closed, bare, ...)                                                                                \
    expect(text, sizeof text - 1, (const char *const[]){__VA_ARGS__, NULL}, closed, bare)

static void test_rule(void **state)
{
    (void)state;
    EXPECT("one", false, false, "one");
    EXPECT("one\n", false, false, "one\n");
    EXPECT("one\n" SEP "\ntwo\n" SEP "\n", true, false, "one", "two");
    EXPECT("one\n\n" SEP "\n\ntwo", false, false, "one\n", "\ntwo");
    EXPECT("one\n" SEP, true, true, "one");
    EXPECT(SEP "\none", false, false, "", "one");
    EXPECT(SEP, true, true, "");
    EXPECT(SEP "\n", true, false, "");
    EXPECT("\n" SEP "\n" SEP "\n\n" SEP "\n", true, false, "\n", "", "\n");
    EXPECT("\n\n", false, false, "\n\n");
    /* Blanks around it, and carriage returns. */
    EXPECT("one\n" SEP " \ntwo", false, false, "one", "two");
    EXPECT("one\n\t " SEP "\t\n two\n " SEP "  ", true, true, "one", " two");
    EXPECT("one\r\n" SEP "\r\ntwo\r\n" SEP "\r\n", true, false, "one", "two");
    EXPECT("one\r\n" SEP "\ntwo", false, false, "one\r", "two");
    EXPECT("one\n" SEP "\r", true, true, "one");
    /* No line of its own: ordinary text. */
    EXPECT("one" SEP "\ntwo", false, false, "one" SEP "\ntwo");
    EXPECT("one\n" SEP "\rtwo", false, false, "one\n" SEP "\rtwo");
    EXPECT("one\n" SEP "\f\ntwo", false, false, "one\n" SEP "\f\ntwo");
    EXPECT("one\n" SEP SEP "\n" SEP "\nx", false, false, "one\n" SEP SEP, "x");
}

/* Write the text from its documents, as text.h says. */
static size_t rebuild(const struct text *text, unsigned char *out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < text->count; i++) {
        const struct text_document *d = &text->documents[i];
        memcpy(out + n, d->bytes, d->length);
        n += d->length;
        bool last = i + 1 == text->count;
        if (last && !text->closed)
            continue;
        size_t newlines = 0;
        while (newlines < d->length && d->bytes[newlines] == '\n')
            newlines++;
        n += (size_t)snprintf((char *)out + n, room - n, "%s" SEP "%s", newlines < d->length ? "\n" : "",
                              last && text->bare_end ? "" : "\n");
    }
    return n;
}

static void test_rebuild(void **state)
{
    (void)state;
    static const char *const parts[] = {"\n", "\n", SEP, "\n" SEP "\n", "a", "b ", "c\r", "<|"};
    char *folder = data_folder_make();
    uint64_t seed = 1;
    for (int round = 0; round < 400; round++) {
        unsigned char bytes[512], again[1024], digest[TEXT_DIGEST_BYTES], want[TEXT_DIGEST_BYTES];
        size_t n = 0;
        for (uint32_t k = 1 + data_random(&seed, 12); k > 0; k--) {
            const char *part = parts[data_random(&seed, 8)];
            memcpy(bytes + n, part, strlen(part));
            n += strlen(part);
        }
        char *path = data_file_write(folder, "t", bytes, n);
        struct text text;
        assert_int_equal(text_open(&text, path, NULL), STATUS_OK);
        assert_int_equal(rebuild(&text, again, sizeof again), n);
        assert_memory_equal(again, bytes, n);
        text_digest(&text, NULL, digest);
        crypto_generichash(want, sizeof want, bytes, n, NULL, 0);
        assert_memory_equal(digest, want, sizeof want);
        text_close(&text);
        free(path);
    }
    data_folder_remove(folder);
}

static void test_directory(void **state)
{
    (void)state;
    char *folder = data_folder_make();
    free(data_file_write(folder, "b.txt", "bee", 3)); /* no newline at the end: one is thought */
    free(data_file_write(folder, "B.txt", "Bee\n" SEP, 4 + strlen(SEP)));
    free(data_file_write(folder, "a/z.txt", "zed\n" SEP "\nzoo\n", 9 + strlen(SEP)));
    free(data_file_write(folder, "a/empty", "", 0));
    free(data_file_write(folder, ".hidden", "no", 2));
    free(data_file_write(folder, ".git/x", "no", 2));
    free(data_file_write(folder, "c", "end\n", 4));
    char *fifo = file_join(folder, "fifo"), *link = file_join(folder, "link");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("c", link), 0);
    struct text text;
    assert_int_equal(text_open(&text, folder, NULL), STATUS_OK);
    static const char *const want[] = {"Bee", "zed", "zoo", "bee", "end", "end\n"};
    assert_int_equal(text.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(text.documents[i].length, strlen(want[i]));
        assert_memory_equal(text.documents[i].bytes, want[i], strlen(want[i]));
    }
    assert_false(text.closed);
    /* The digest is that of the one text the directory stands for. */
    static const char whole[] = "Bee\n" SEP "\nzed\n" SEP "\nzoo\n" SEP "\nbee\n" SEP "\nend\n" SEP "\nend\n";
    unsigned char digest[TEXT_DIGEST_BYTES], expected[TEXT_DIGEST_BYTES];
    text_digest(&text, NULL, digest);
    crypto_generichash(expected, sizeof expected, (const unsigned char *)whole, sizeof whole - 1, NULL, 0);
    assert_memory_equal(digest, expected, sizeof digest);
    text_close(&text);
    free(fifo);
    free(link);
    data_folder_remove(folder);
}

static void refuse(const char *path, const char *why)
{
    struct error err = {0};
    struct text text;
    assert_int_equal(text_open(&text, path, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
    if (!strstr(err.text, why))
        fail_msg("want '%s' in '%s'", why, err.text);
    text_close(&text);
}

static void test_refused(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *missing = file_join(folder, "missing");
    refuse(missing, "No such file");
    refuse(folder, "no text");
    char *empty = data_file_write(folder, "empty", "", 0);
    refuse(empty, "empty");
    refuse(folder, "no text");
    char *loop = file_join(folder, "loop");
    assert_int_equal(symlink(".", loop), 0);
    struct error err = {0};
    struct text text;
    assert_int_equal(text_open(&text, folder, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "loop"));
    assert_int_equal(unlink(loop), 0);
    assert_int_equal(symlink("nowhere", loop), 0);
    assert_int_equal(text_open(&text, folder, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "loop"));
    free(missing);
    free(empty);
    free(loop);
    data_folder_remove(folder);
}

static void test_split(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *path;
    unsigned char *bytes = memory_alloc(1, 1 << 16);
    size_t n = 0;
    uint64_t seed = 5;
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf((char *)bytes + n, (1 << 16) - n, "%0*d\n" SEP "\n", 1 + (int)data_random(&seed, 100), i);
    path = data_file_write(folder, "t", bytes, n);
    struct text text;
    assert_int_equal(text_open(&text, path, NULL), STATUS_OK);
    assert_int_equal(text.count, 200);
    for (int threads = 1; threads <= 7; threads++)
        for (uint64_t most = 1; most < 40000; most = most * 3 + 1) {
            size_t bounds[8], from = 0;
            while (from < text.count) {
                text_split(&text, from, most, threads, bounds);
                assert_int_equal(bounds[0], from);
                uint64_t total = 0;
                for (int i = 0; i < threads; i++)
                    assert_true(bounds[i] <= bounds[i + 1]);
                for (size_t i = from; i < bounds[threads]; i++)
                    total += text.documents[i].length;
                assert_true(bounds[threads] > from && bounds[threads] <= text.count);
                assert_true(total <= most || bounds[threads] == from + 1);
                from = bounds[threads];
            }
        }
    text_close(&text);
    free(path);
    free(bytes);
    data_folder_remove(folder);
}

static void expect_refusal(const void *bytes, size_t size, const char *field, const char *want)
{
    char *folder = data_folder_make(), *path = data_file_write(folder, "t", bytes, size);
    struct error err = {0};
    struct text text;
    assert_int_equal(text_open_field(&text, path, field, &err), STATUS_BAD_INPUT);
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, want))
        fail_msg("want '%s' in: %s", want, err.text);
    free(path);
    data_folder_remove(folder);
}

/* What is no plain text says what it is. */
static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *want;
    } shapes[] = {
        {"\x1f\x8b\x08\0\0\0", 6, "gzip -d"},
        {"\x28\xb5\x2f\xfd\x24", 5, "zstd -d"},
        {"\xfd"
         "7zXZ\0\0",
         7, "xz -d"},
        {"BZh91AY", 7, "bzip2 -d"},
        {"PK\x03\x04..", 6, "a zip archive"},
        {"PAR1\x15", 5, "a Parquet table"},
        {"ARROW1\0\0", 8, "an Arrow table"},
        {"TAPERTOK\1", 9, "a token file"},
        {"\xff\xfeh\0i\0", 6, "iconv -f UTF-16"},
        {"\xfe\xff\0h\0i", 6, "iconv -f UTF-16"},
        {"\xff\xfe\0\0h\0\0\0", 8, "iconv -f UTF-32"},
        {"\xef\xbb\xbfhi", 5, "a byte-order mark"},
        {"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", 28, "--field NAME"},
        {"\n{\"text\": \"a\"}", 14, "--field NAME"},
        {" [\n {\"text\": \"a\"}, {", 20, "a JSON array: jq"},
        {"Rar!\x1a\x07\1\0", 8, "a RAR archive"},
        {"\x1f\x9d\x90", 3, "gzip -d"},
        {"Obj\1\4\x16", 6, "an Avro table"},
        {"\x80\4\x95\x10", 4, "a pickle"},
        {"\x80\2}q", 4, "a pickle"},
        {"\2\0\0\0\0\0\0\0{\"", 10, "a model in safetensors"},
    };
    unsigned char wide[200] = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        expect_refusal(shapes[i].bytes, shapes[i].size, NULL, shapes[i].want);
    for (size_t i = 0; i < sizeof wide; i += 2)
        wide[i] = 'a';
    expect_refusal(wide, sizeof wide, NULL, "iconv -f UTF-16LE");
    memmove(wide + 1, wide, sizeof wide - 1);
    wide[0] = 0;
    expect_refusal(wide, sizeof wide, NULL, "iconv -f UTF-16BE");
    unsigned char tar[600] = "name";
    memcpy(tar + 257, "ustar", 5);
    expect_refusal(tar, sizeof tar, NULL, "a tar archive");
    /* One of them in a directory is enough, and it is the one that is named. */
    char *folder = data_folder_make(), *bad = data_file_write(folder, "b", "\x1f\x8b\x08", 3);
    struct error err = {0};
    struct text text;
    free(data_file_write(folder, "a", "text", 4));
    assert_int_equal(text_open(&text, folder, &err), STATUS_BAD_INPUT);
    assert_memory_equal(err.text, bad, strlen(bad));
    free(bad);
    data_folder_remove(folder);
    EXPECT("{\"not\": one line of JSON\n{}", false, false, "{\"not\": one line of JSON\n{}");
}

static void test_json_lines(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"text\": \"one\\ntwo\", \"id\": 1}\r\n\n{\"id\": 2, \"text\": \"\\u00e9\\u0000\"}\n{\"text\": \"\"}";
    char *folder = data_folder_make(), *path = data_file_write(folder, "t", lines, sizeof lines - 1);
    struct error err = {0};
    struct text text;
    if (text_open_field(&text, path, "text", &err))
        fail_msg("%s", err.text);
    assert_int_equal(text.count, 3);
    assert_true(text.closed);
    assert_int_equal(text.documents[0].length, 7);
    assert_memory_equal(text.documents[0].bytes, "one\ntwo", 7);
    assert_int_equal(text.documents[1].length, 3);
    assert_memory_equal(text.documents[1].bytes, "\xc3\xa9\0", 3);
    assert_int_equal(text.documents[2].length, 0);
    text_close(&text);
    free(path);
    data_folder_remove(folder);
    expect_refusal("{\"text\": \"a\"}\n{\"text\": 3}", strlen("{\"text\": \"a\"}\n{\"text\": 3}"), "text",
                   ":2: field text: want a text");
    expect_refusal("{\"text\": \"a\"}\n\n{\"body\": 3}", strlen("{\"text\": \"a\"}\n\n{\"body\": 3}"), "text",
                   ":3: field text: missing");
    expect_refusal("{\"text\": \"a\"}\nplain", strlen("{\"text\": \"a\"}\nplain"), "text",
                   ":2: want a JSON object a line");
    expect_refusal("[1]", strlen("[1]"), "text", ":1: want a JSON object a line");
    expect_refusal("\n \n", strlen("\n \n"), "text", "no line of JSON");
}

/* A spelt separator inside a line is text, and said. */
static void test_strays_are_told(void **state)
{
    (void)state;
    static const char stray[] = "one\n" SEP "\ntwo\nthree " SEP " four\n" SEP "x\n", none[] = "one\n" SEP "\r\ntwo";
    char *folder = data_folder_make(), *path = data_file_write(folder, "t", stray, sizeof stray - 1);
    struct text text;
    assert_int_equal(text_open(&text, path, NULL), STATUS_OK);
    assert_non_null(text_warning(&text));
    assert_memory_equal(text_warning(&text), path, strlen(path));
    assert_memory_equal(text_warning(&text) + strlen(path), ":4: ", 4);
    text_close(&text);
    free(path);
    path = data_file_write(folder, "t", none, sizeof none - 1);
    assert_int_equal(text_open(&text, path, NULL), STATUS_OK);
    assert_null(text_warning(&text));
    text_close(&text);
    free(path);
    data_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),       cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_json_lines), cmocka_unit_test(test_strays_are_told),
        cmocka_unit_test(test_rebuild),    cmocka_unit_test(test_directory),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
