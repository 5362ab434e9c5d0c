/* Capped logs: progress bars collapse, lines of any length are kept, and the files stay within their bound. */
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

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/base/log_writer.h"

static char folder[] = "/tmp/taper-log.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char *path = file_join(folder, "log"), *older = file_join(folder, "log.1");
    unlink(path);
    unlink(older);
    free(path);
    free(older);
    return rmdir(folder);
}

static char *log_path(void)
{
    char *path = file_join(folder, "log");
    unlink(path);
    return path;
}

static void holds(const char *path, const char *want)
{
    struct file_map map;
    assert_int_equal(file_map_open(&map, path, NULL), STATUS_OK);
    assert_int_equal(map.size, strlen(want));
    assert_memory_equal(map.data, want, map.size);
    file_map_close(&map);
}

static void carriage_returns_collapse(void **state)
{
    (void)state;
    const char *bytes = "start\r\n10%\r50%\r100%\n\rdone\nlast\rpartial";
    for (size_t piece = 1; piece <= strlen(bytes); piece++) {
        struct log_writer w;
        char *path = log_path();
        assert_int_equal(log_writer_open(&w, path, NULL), STATUS_OK);
        for (size_t at = 0; at < strlen(bytes); at += piece)
            log_writer_feed(&w, bytes + at, at + piece < strlen(bytes) ? piece : strlen(bytes) - at);
        assert_string_equal(w.last, "done");
        log_writer_close(&w);
        holds(path, "start\n100%\ndone\npartial\n");
        free(path);
    }
}

static void long_lines_are_kept_whole(void **state)
{
    (void)state;
    struct log_writer w;
    char *path = log_path();
    size_t size = 5 * LOG_LINE + 17;
    char *bytes = memory_alloc(size + 2, 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i % 26);
    bytes[size] = '\n';
    assert_int_equal(log_writer_open(&w, path, NULL), STATUS_OK);
    log_writer_feed(&w, bytes, size + 1);
    log_writer_close(&w);
    holds(path, bytes);
    free(bytes);
    free(path);
}

static void the_size_is_bounded(void **state)
{
    (void)state;
    struct log_writer w;
    struct stat st;
    char *path = log_path(), *older = file_join(folder, "log.1"), line[100];
    assert_int_equal(log_writer_open(&w, path, NULL), STATUS_OK);
    w.most = 10000;
    for (int i = 0; i < 5000; i++) {
        int n = snprintf(line, sizeof line, "line %d\n", i);
        log_writer_feed(&w, line, (size_t)n);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size <= 10000);
        if (stat(older, &st) == 0)
            assert_true(st.st_size <= 10000);
    }
    log_writer_close(&w);
    struct file_map map;
    assert_int_equal(file_map_open(&map, path, NULL), STATUS_OK);
    assert_memory_equal(map.data + map.size - 10, "line 4999\n", 10);
    file_map_close(&map);
    free(path);
    free(older);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(carriage_returns_collapse),
                                       cmocka_unit_test(long_lines_are_kept_whole),
                                       cmocka_unit_test(the_size_is_bounded)};
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
