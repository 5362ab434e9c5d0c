/* Files written whole or not at all, and outputs that are no files. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/data.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    data_folder_remove(folder);
    return 0;
}

static void expect_content(const char *path, const char *want)
{
    size_t size;
    char *text = (char *)data_file_read(path, &size);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(text, want, size);
    free(text);
}

static int count_files(void)
{
    char *command = memory_format("exit $(ls -A '%s' | wc -l)", folder);
    int code = system(command);
    free(command);
    return WEXITSTATUS(code);
}

/* What a stream forgot is found out: a reader of "Input/output error" looks for a broken disk. */
static void why_a_write_failed(void **state)
{
    (void)state;
    char *path = file_join(folder, "big"), block[65536] = {1};
    struct file_writer w;
    struct error err = {0};
    struct rlimit before, small = {.rlim_cur = 100000};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(file_create(&w, path, NULL), STATUS_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 4; i++)
        fwrite(block, 1, sizeof block, w.stream);
    int status = file_commit(&w, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old);
    assert_int_equal(status, STATUS_DISK);
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void old_until_committed(void **state)
{
    (void)state;
    char *path = file_join(folder, "a");
    struct file_writer w;
    assert_int_equal(file_write_all(path, "old", 3, NULL), STATUS_OK);
    assert_int_equal(file_create(&w, path, NULL), STATUS_OK);
    fputs("new", w.stream);
    expect_content(path, "old");
    file_abandon(&w);
    expect_content(path, "old");
    assert_int_equal(file_create(&w, path, NULL), STATUS_OK);
    fputs("new", w.stream);
    assert_int_equal(file_commit(&w, NULL), STATUS_OK);
    expect_content(path, "new");
    assert_int_equal(count_files(), 1);
    free(path);
}

/* A device stays a device: what is written goes into it, and a failure of it is one. */
static void devices_are_written_to(void **state)
{
    (void)state;
    static const char *const targets[] = {"/dev/null", "/dev/full"};
    for (int i = 0; i < 2; i++) {
        char *path = file_join(folder, "device");
        struct error err = {0};
        struct stat st;
        assert_int_equal(symlink(targets[i], path), 0);
        if (stat(path, &st) != 0 || !S_ISCHR(st.st_mode))
            skip();
        assert_int_equal(file_write_all(path, "text", 4, &err), i ? STATUS_DISK : STATUS_OK);
        assert_true(i == 0 || strstr(err.text, "No space left"));
        assert_true(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
        assert_int_equal(count_files(), 1);
        unlink(path);
        free(path);
    }
}

static void directories_are_refused_at_once(void **state)
{
    (void)state;
    struct file_writer w;
    struct error err = {0};
    assert_int_equal(file_create(&w, folder, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "Is a directory"));
    file_abandon(&w);
    char *nowhere = file_join(folder, "no/such/file");
    assert_int_equal(file_create(&w, nowhere, &err), STATUS_FAILED);
    free(nowhere);
}

static void leftovers_alone_are_removed(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "a.writing-aB3dEf", "a.writing-note", "a.backup", "b.writing-aB3dEf"};
    for (int i = 0; i < 5; i++) {
        char *path = file_join(folder, names[i]);
        assert_int_equal(file_write_all(path, "x", 1, NULL), STATUS_OK);
        free(path);
    }
    file_remove_leftovers(folder, "a");
    for (int i = 0; i < 5; i++) {
        char *path = file_join(folder, names[i]);
        assert_int_equal(access(path, F_OK), i == 1 ? -1 : 0);
        free(path);
    }
    file_remove_leftovers("/nowhere", "a");
}

static void directories_are_made(void **state)
{
    struct error err = {0};
    struct stat st;
    (void)state;
    char *deep = file_join(folder, "a//b/c");
    assert_int_equal(file_make_directories(deep, &err), STATUS_OK);
    assert_true(stat(deep, &st) == 0 && S_ISDIR(st.st_mode));
    assert_int_equal(file_make_directories(deep, &err), STATUS_OK);
    assert_int_equal(file_make_directories("", &err), STATUS_BAD_INPUT);
    free(deep);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {CASE(old_until_committed),         CASE(why_a_write_failed),
                                       CASE(devices_are_written_to),      CASE(directories_are_refused_at_once),
                                       CASE(leftovers_alone_are_removed), CASE(directories_are_made)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
