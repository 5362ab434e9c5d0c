/* Who may open a home and its database: one writer, readers beside it, foreign files, homes that move. */
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
#include "harness/store/store_internal.h"
#include "harness/store/store_rows.h"
#include "tests/support/store_test.h"

static void second_writer_is_refused(void **state)
{
    (void)state;
    struct store *other = NULL;
    char text[64];
    snprintf(text, sizeof text, "is in use by process %ld", (long)getpid());
    BAD(STATUS_FAILED, text, store_open(&other, &f.home, STORE_WRITE, err));
    assert_null(other);
    GOOD(store_open(&other, &f.home, STORE_READ, err));
    store_close(other);
    /* The lock dies with its process: here, with the store. */
    fixture_close(&f);
    GOOD(store_open(&other, &f.home, STORE_WRITE, err));
    store_close(other);
    fixture_open(&f);
}

static void reader_changes_nothing(void **state)
{
    (void)state;
    struct store *reader = NULL;
    fixture_submit(&f, fixture_two_by_two);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    BAD(STATUS_FAILED, "opened for reading", store_event(reader, NULL, NULL, 0, "x", "", err));
    BAD(STATUS_FAILED, "readonly", store_exec(reader, "DELETE FROM run", "test", err));
    store_close(reader);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 4);
}

/* A reader in a long transaction sees what it saw, and the writer goes on. */
static void long_reader_stops_nothing(void **state)
{
    (void)state;
    struct store *reader = NULL;
    fixture_submit(&f, fixture_two_by_two);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    struct store_rows *rows = NULL;
    bool found = false;
    GOOD(store_exec(reader, "BEGIN; SELECT count(*) FROM event", "test", err));
    for (int i = 0; i < 200; i++)
        GOOD(store_event(f.s, "s", NULL, 0, "test", "", err));
    GOOD(store_rows_open(&rows, reader, "test", "SELECT count(*) FROM event WHERE kind = 'test'", err));
    GOOD(store_rows_next(rows, &found, err));
    assert_true(found);
    assert_int_equal(store_rows_at(rows, 0).integer, 0);
    store_rows_close(rows);
    store_close(reader);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'test'"), 200);
}

/* Somebody with the sqlite3 shell holds the write lock: a change fails as busy, whole, and works later. */
static void other_writer_is_waited_out(void **state)
{
    (void)state;
    sqlite3 *other;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, fixture_two_by_two);
    fixture_run_id(&f, "s", 0, id);
    const char *run = id;
    fixture_append(&f, id, fixture_eval_line, strlen(fixture_eval_line));
    assert_int_equal(sqlite3_open(f.home.database, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    store_set_patience(f.s, 20);
    BAD(STATUS_FAILED, "another process is writing", store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    assert_int_equal(store_trouble(f.s), STORE_BUSY);
    BAD(STATUS_FAILED, "another process is writing", intake_pass(f.in, &run, 1, 0, NULL, err));
    assert_int_equal(fixture_find(&f, id).state, RUN_QUEUED);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    assert_int_equal(store_trouble(f.s), STORE_FINE);
    assert_int_equal(attempt, 1);
    assert_int_equal(fixture_take(&f, id).rows, 1);
}

static void missing_and_foreign_databases(void **state)
{
    (void)state;
    struct store *s = NULL;
    struct home home;
    char *dir = file_join(f.dir, "other");
    BAD(STATUS_BAD_INPUT, "no home at", home_init(&home, dir, false, err));
    GOOD(home_init(&home, dir, true, err));
    BAD(STATUS_BAD_INPUT, "no database", store_open(&s, &home, STORE_READ, err));
    GOOD(file_write_all(home.database, "this is no database, whatever it is called", 42, err));
    BAD(STATUS_BAD_INPUT, "not a database", store_open(&s, &home, STORE_WRITE, err));
    BAD(STATUS_BAD_INPUT, "not a database", store_open(&s, &home, STORE_READ, err));
    assert_int_equal(unlink(home.database), 0);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(home.database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine (x)", NULL, NULL, NULL), SQLITE_OK);
    BAD(STATUS_BAD_INPUT, "but not taper's", store_open(&s, &home, STORE_WRITE, err));
    assert_int_equal(sqlite3_exec(db, "DROP TABLE mine; PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    BAD(STATUS_BAD_INPUT, "its schema is version 99", store_open(&s, &home, STORE_WRITE, err));
    BAD(STATUS_BAD_INPUT, "its schema is version 99", store_open(&s, &home, STORE_READ, err));
    assert_null(s);
    home_fini(&home);
    free(dir);
}

/* Read-only, and a log that was never folded in: said, not guessed. The superuser may write anywhere: no such home. */
static void unwritable_home_with_a_log(void **state)
{
    (void)state;
    struct store *reader = NULL;
    char *dir = file_join(f.dir, "frozen"), *command;
    fixture_submit(&f, fixture_two_by_two);
    command = memory_format("mkdir '%s' && cp '%s' '%s-wal' '%s' && chmod a-w '%s'", dir, f.home.database,
                            f.home.database, dir, dir);
    assert_int_equal(system(command), 0);
    struct home home;
    GOOD(home_init(&home, dir, false, err));
    if (access(home.dir, W_OK) == 0) {
        GOOD(store_open(&reader, &home, STORE_READ, err));
        store_close(reader);
    } else {
        BAD(STATUS_FAILED, "still in its -wal file", store_open(&reader, &home, STORE_READ, err));
    }
    home_fini(&home);
    free(command);
    free(dir);
}

static void home_is_found(void **state)
{
    (void)state;
    struct home home;
    setenv("TAPER_HOME", f.home.dir, 1);
    GOOD(home_init(&home, NULL, false, err));
    assert_string_equal(home.dir, f.home.dir);
    home_fini(&home);
    BAD(STATUS_BAD_INPUT, "(--home)", home_init(&home, "/nowhere/at/all", false, err));
    BAD(STATUS_BAD_INPUT, "--home: want a directory", home_init(&home, "", false, err));
    setenv("TAPER_HOME", f.home.database, 1);
    BAD(STATUS_BAD_INPUT, "is not a directory (TAPER_HOME)", home_init(&home, NULL, false, err));
    unsetenv("TAPER_HOME");
}

static void moved_home_goes_on(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    char *moved = file_join(f.dir, "moved");
    fixture_submit(&f, fixture_two_by_two);
    fixture_run_id(&f, "s", 0, id);
    fixture_append(&f, id, fixture_eval_line, strlen(fixture_eval_line));
    assert_int_equal(fixture_take(&f, id).rows, 1);
    fixture_close(&f);
    assert_int_equal(rename(f.home.dir, moved), 0);
    home_fini(&f.home);
    GOOD(home_init(&f.home, moved, false, err));
    fixture_open(&f);
    assert_int_equal(fixture_take(&f, id).rows, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 1);
    free(moved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(second_writer_is_refused),
        STORE_TEST(reader_changes_nothing),
        STORE_TEST(long_reader_stops_nothing),
        STORE_TEST(other_writer_is_waited_out),
        STORE_TEST(missing_and_foreign_databases),
        STORE_TEST(unwritable_home_with_a_log),
        STORE_TEST(home_is_found),
        STORE_TEST(moved_home_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
