/* The corpus "novels": R's data file read without R, whole and damaged; the package by apt-get and dpkg-deb. */
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
#include <zlib.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/dataset.h"
#include "core/data/fetch.h"
#include "core/data/novels.h"
#include "core/data/rdata.h"
#include "tests/support/data.h"
#include "tests/support/tiny.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    tiny_cache(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    data_folder_remove(folder);
    return 0;
}

/* ---- R's file ---- */

struct bytes {
    unsigned char at[4096];
    size_t size;
};

static void put(struct bytes *b, const void *from, size_t size)
{
    assert_true(b->size + size <= sizeof b->at);
    memcpy(b->at + b->size, from, size);
    b->size += size;
}

static void put_word(struct bytes *b, uint32_t word)
{
    const unsigned char big[4] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16), (unsigned char)(word >> 8),
                                  (unsigned char)word};
    put(b, big, sizeof big);
}

/* A character vector as R writes it; a NULL is NA. */
static struct bytes vector_of(uint32_t version, const char *const *strings, uint32_t count)
{
    struct bytes b = {.size = 0};
    put(&b, "X\n", 2);
    put_word(&b, version);
    put_word(&b, 0x040201);
    put_word(&b, 0x030500);
    if (version == 3) {
        put_word(&b, 5);
        put(&b, "UTF-8", 5);
    }
    put_word(&b, 16);
    put_word(&b, count);
    for (uint32_t i = 0; i < count; i++) {
        put_word(&b, 0x40009);
        put_word(&b, strings[i] ? (uint32_t)strlen(strings[i]) : UINT32_MAX);
        if (strings[i])
            put(&b, strings[i], strlen(strings[i]));
    }
    return b;
}

static void put_object(struct bytes *file, const struct bytes *object)
{
    unsigned char packed[4096];
    uLongf size = sizeof packed;
    assert_int_equal(compress(packed, &size, object->at, object->size), Z_OK);
    put_word(file, (uint32_t)object->size);
    put(file, packed, size);
}

static const char *const first[] = {"EMMA", "", "VOLUME I", "CHAPTER I", "Emma Woodhouse,", "CHAPTER II", "Mr. Weston"};
static const char *const second[] = {"Persuasion", NULL, "Chapter 1", "chapters of it", "caf\xc3\xa9"};

static struct bytes two_novels(void)
{
    struct bytes file = {.size = 0}, a = vector_of(3, first, 7), b = vector_of(2, second, 5);
    put_object(&file, &a);
    put_object(&file, &b);
    return file;
}

static int join(void *arg, size_t vector, size_t index, const char *bytes, size_t length, struct error *err)
{
    (void)err;
    char *text = arg;
    size_t used = strlen(text);
    snprintf(text + used, 1000 - used, "%zu.%zu %.*s\n", vector, index, (int)length, bytes);
    return STATUS_OK;
}

static void vectors_are_read(void **state)
{
    (void)state;
    struct bytes file = two_novels();
    char text[1000] = "";
    struct error err = {0};
    if (rdata_read_strings(file.at, file.size, "r", join, text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text, "0.0 EMMA\n0.1 \n0.2 VOLUME I\n0.3 CHAPTER I\n0.4 Emma Woodhouse,\n0.5 CHAPTER II\n"
                              "0.6 Mr. Weston\n1.0 Persuasion\n1.1 \n1.2 Chapter 1\n1.3 chapters of it\n"
                              "1.4 caf\xc3\xa9\n");
}

static void expect_damaged(const struct bytes *object, const char *what)
{
    struct bytes file = {.size = 0};
    char text[1000] = "";
    struct error err = {0};
    put_object(&file, object);
    assert_int_equal(rdata_read_strings(file.at, file.size, "file", join, text, &err), STATUS_BAD_INPUT);
    if (!strstr(err.text, what) || !strstr(err.text, "file: object at byte 0"))
        fail_msg("'%s' does not say '%s'", err.text, what);
}

static void damage_is_told(void **state)
{
    (void)state;
    struct bytes good = vector_of(3, first, 7), bad;
    bad = good;
    bad.at[0] = 'A';
    expect_damaged(&bad, "XDR serialization");
    bad = good;
    bad.at[5] = 4;
    expect_damaged(&bad, "XDR serialization");
    bad = good;
    bad.at[26] = 14; /* a vector of numbers */
    expect_damaged(&bad, "want a character vector");
    bad = good;
    bad.at[34] = 0; /* NULL for the first string */
    expect_damaged(&bad, "want a string");
    bad = good;
    bad.at[35] = 0x10; /* its length */
    expect_damaged(&bad, "longer than the object");
    for (size_t size = 0; size < good.size; size++) {
        bad = good;
        bad.size = size;
        expect_damaged(&bad, "object at byte 0");
    }
    struct bytes file = two_novels();
    for (size_t size = 1, whole = 0; size < file.size; size++) {
        char text[1000] = "", *part = memory_alloc(size, 1);
        memcpy(part, file.at, size);
        whole += rdata_read_strings((unsigned char *)part, size, "file", join, text, NULL) == STATUS_OK;
        assert_true(whole <= 1); /* the first novel alone */
        free(part);
    }
    memset(file.at, 0xff, 4);
    char text[1000] = "";
    struct error err = {0};
    assert_int_equal(rdata_read_strings(file.at, file.size, "file", join, text, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "larger than any"));
}

/* ---- the package ---- */

static void write_program(const char *name, const char *text)
{
    char *path = memory_format("%s/bin/%s", folder, name);
    struct error err = {0};
    assert_int_equal(file_write_all(path, text, strlen(text), &err), STATUS_OK);
    assert_int_equal(chmod(path, 0700), 0);
    free(path);
}

/* A machine whose apt-get and dpkg-deb are these scripts; NULL: it has none. */
static char *fetch_with(const char *apt, const char *dpkg, struct error *err)
{
    const char *was = getenv("PATH");
    char *bin = file_join(folder, "bin"), *before = memory_string(was ? was : ""), *path = NULL,
         *wider = memory_format("%s:%s", bin, before);
    assert_int_equal(file_make_directories(bin, err), STATUS_OK);
    if (apt)
        write_program("apt-get", apt);
    if (dpkg)
        write_program("dpkg-deb", dpkg);
    setenv("PATH", apt ? wider : "/nowhere", 1);
    const struct fetch_set *set = fetch_find("novels");
    fetch_get(set, &set->files[0], NULL, NULL, &path, NULL, err);
    setenv("PATH", before, 1);
    free(wider);
    free(before);
    free(bin);
    return path;
}

static void what_fails_is_told(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(fetch_with(NULL, NULL, &err));
    assert_non_null(strstr(err.text, "no apt-get"));
    assert_non_null(strstr(err.text, NOVELS_PACKAGE));
    err = (struct error){0};
    assert_null(fetch_with("#!/bin/sh\necho line\necho 'E: Unable to locate package' >&2\nexit 100\n", NULL, &err));
    assert_non_null(strstr(err.text, "apt-get of " NOVELS_PACKAGE " failed: E: Unable to locate package"));
    err = (struct error){0};
    assert_null(fetch_with("#!/bin/sh\nexit 0\n", NULL, &err));
    assert_non_null(strstr(err.text, "no " NOVELS_PACKAGE "_*.deb"));
    err = (struct error){0};
    assert_null(fetch_with("#!/bin/sh\n: > " NOVELS_PACKAGE "_9_all.deb\n", "#!/bin/sh\nmkdir unpacked\n", &err));
    assert_non_null(strstr(err.text, "Rdata.rdb"));
}

static void novels_become_a_corpus(void **state)
{
    (void)state;
    struct error err = {0};
    struct bytes file = two_novels();
    char *rdb = file_join(folder, "made.rdb");
    assert_int_equal(file_write_all(rdb, file.at, file.size, &err), STATUS_OK);
    char *dpkg =
        memory_format("#!/bin/sh\n[ \"$1 $3\" = '--extract unpacked' ] || exit 2\n"
                      "d=unpacked/usr/lib/R/site-library/janeaustenr/data\nmkdir -p $d\ncp '%s' $d/Rdata.rdb\n",
                      rdb);
    char *path = fetch_with("#!/bin/sh\n: > " NOVELS_PACKAGE "_9_all.deb\n", dpkg, &err);
    if (!path)
        fail_msg("%s", err.text);
    struct file_map map;
    assert_int_equal(file_map_open(&map, path, &err), STATUS_OK);
    static const char want[] =
        "EMMA\n\nVOLUME I\n<|endoftext|>\nCHAPTER I\nEmma Woodhouse,\n<|endoftext|>\nCHAPTER II\nMr. Weston\n"
        "<|endoftext|>\nPersuasion\n\n<|endoftext|>\nChapter 1\nchapters of it\ncaf\xc3\xa9\n";
    assert_int_equal(map.size, strlen(want));
    assert_memory_equal(map.data, want, map.size);
    file_map_close(&map);
    char *left = memory_format("%s.part.apt", path), corpus[DATASET_DIGEST], tokenizer[DATASET_DIGEST];
    assert_int_not_equal(access(left, F_OK), 0);
    struct config cfg = tiny_config((const char *const[]){"data.corpus=novels", NULL});
    assert_int_equal(dataset_digests(&cfg, corpus, tokenizer, &err), STATUS_OK);
    free(left);
    free(path);
    free(dpkg);
    free(rdb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_read),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(what_fails_is_told),
        cmocka_unit_test(novels_become_a_corpus),
    };
    return cmocka_run_group_tests_name("novels", tests, make_folder, remove_folder);
}
