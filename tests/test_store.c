/* The store: opening and locking, versions, submitting, every change of state, other processes in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/memory.h"
#include "harness/embedded.h"
#include "harness/store_internal.h"
#include "tests/support/store_fixture.h"

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_fini(&f);
    return 0;
}

static const char eval_line[] = "{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":1}\n";

static const char two_by_two[] = "sweep: s\nvariants: {base: {taper.sites: none}, all: {taper.sites: all}}\n"
                                 "grid: {seed: [0, 1]}\nrun: {retries: 1}\n";

/* The call fails, and its text holds `part`. */
#define BAD(status, part, call)                                                                                        \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        assert_int_equal(call, status);                                                                                \
        if (!strstr(err_.text, part))                                                                                  \
            fail_msg("'%s' does not say '%s'", err_.text, part);                                                       \
    } while (0)

static const struct store_start start = {"local", "host", "cpu", "cpu:0", "{\"sqlite\":\"3\"}"};

static struct store_run find(const char *id)
{
    struct store_run run;
    GOOD(store_run_find(f.s, id, &run, err));
    return run;
}

/* --------------------------------------------------------------------------------------------- opening */

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
    fixture_submit(&f, two_by_two);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    BAD(STATUS_FAILED, "opened for reading", store_event(reader, NULL, NULL, 0, "x", "", err));
    assert_int_not_equal(sqlite3_exec(store_connection(reader), "DELETE FROM run", NULL, NULL, NULL), SQLITE_OK);
    store_close(reader);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 4);
}

/* A reader in a long transaction sees what it saw, and the writer goes on. */
static void long_reader_stops_nothing(void **state)
{
    (void)state;
    struct store *reader = NULL;
    fixture_submit(&f, two_by_two);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    sqlite3 *db = store_connection(reader);
    sqlite3_stmt *count;
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM event", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 200; i++)
        GOOD(store_event(f.s, "s", NULL, 0, "test", "", err));
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM event WHERE kind = 'test'", -1, &count, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(count, 0), 0);
    sqlite3_finalize(count);
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
    fixture_submit(&f, two_by_two);
    fixture_run_id(&f, "s", 0, id);
    const char *run = id;
    fixture_append(&f, id, eval_line, strlen(eval_line));
    assert_int_equal(sqlite3_open(f.home.database, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    store_set_patience(f.s, 20);
    BAD(STATUS_FAILED, "another process is writing", store_attempt_begin(f.s, id, &start, &attempt, err));
    assert_int_equal(store_trouble(f.s), STORE_BUSY);
    BAD(STATUS_FAILED, "another process is writing", intake_pass(f.in, &run, 1, 0, NULL, err));
    assert_int_equal(find(id).state, RUN_QUEUED);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
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

/* What a program leaves that was killed before its first transaction. */
static void reader_brings_a_schema_up_to_date(void **state)
{
    (void)state;
    struct store *reader = NULL;
    fixture_close(&f);
    GOOD(file_write_all(f.home.database, "", 0, err));
    struct store *writer_elsewhere = NULL;
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(store_connection(reader), "SELECT count(*) FROM sweep_status", -1, &row, NULL),
                     SQLITE_OK);
    sqlite3_finalize(row);
    store_close(reader);
    /* Not while somebody holds the lock. */
    GOOD(store_open(&writer_elsewhere, &f.home, STORE_WRITE, err));
    store_exec(writer_elsewhere, "PRAGMA user_version = 0", "test", NULL);
    BAD(STATUS_FAILED, "cannot be brought up to date", store_open(&reader, &f.home, STORE_READ, err));
    /* A query takes it as it is, when it is one of taper's at all. */
    BAD(STATUS_FAILED, "cannot be brought up to date", store_open(&reader, &f.home, STORE_QUERY, err));
    if (store_version_known() > 1) {
        store_exec(writer_elsewhere, "PRAGMA user_version = 1", "test", NULL);
        BAD(STATUS_FAILED, "cannot be brought up to date", store_open(&reader, &f.home, STORE_READ, err));
        GOOD(store_open(&reader, &f.home, STORE_QUERY, err));
        store_close(reader);
    }
    char pragma[40];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", store_version_known());
    store_exec(writer_elsewhere, pragma, "test", NULL);
    store_close(writer_elsewhere);
    fixture_open(&f);
}

/* Read-only, and a log that was never folded in: said, not guessed. The superuser may write anywhere: no such home. */
static void unwritable_home_with_a_log(void **state)
{
    (void)state;
    struct store *reader = NULL;
    char *dir = file_join(f.dir, "frozen"), *command;
    fixture_submit(&f, two_by_two);
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
    fixture_submit(&f, two_by_two);
    fixture_run_id(&f, "s", 0, id);
    fixture_append(&f, id, eval_line, strlen(eval_line));
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

/* --------------------------------------------------------------------------------------------- versions */

/* Version 1 as it was released. Never changed: it stands for the files people have. */
static const char version_1[] =
    "CREATE TABLE sweep (name TEXT PRIMARY KEY, about TEXT NOT NULL, spec TEXT NOT NULL, path TEXT NOT NULL, created "
    "INTEGER NOT NULL, updated INTEGER NOT NULL, paused INTEGER NOT NULL DEFAULT 0, fail_fast INTEGER NOT NULL DEFAULT "
    "0) "
    "STRICT, WITHOUT ROWID;"
    "CREATE TABLE run (id TEXT PRIMARY KEY, sweep TEXT NOT NULL REFERENCES sweep (name), variant TEXT NOT NULL, seed "
    "INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'done', 'failed', "
    "'cancelled')), params INTEGER, created INTEGER NOT NULL, started INTEGER, ended INTEGER, device TEXT, host TEXT, "
    "version TEXT, val_loss ANY, fold_error ANY, wants TEXT NOT NULL CHECK (wants IN ('cpu', 'cuda')), priority "
    "INTEGER "
    "NOT NULL, position INTEGER NOT NULL, slots INTEGER NOT NULL, retries INTEGER NOT NULL, timeout_us INTEGER NOT "
    "NULL, "
    "attempts INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0, "
    "cancel INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL, after TEXT NOT NULL, config TEXT NOT NULL) STRICT;"
    "CREATE INDEX run_queue ON run (state, wants, priority DESC, position); CREATE INDEX run_sweep ON run (sweep);"
    "CREATE TABLE sweep_run (sweep TEXT NOT NULL REFERENCES sweep (name), run TEXT NOT NULL REFERENCES run (id), "
    "variant "
    "TEXT NOT NULL, position INTEGER NOT NULL, wanted INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (sweep, run, variant)) "
    "STRICT, WITHOUT ROWID; CREATE INDEX sweep_run_run ON sweep_run (run);"
    "CREATE TABLE attempt (run TEXT NOT NULL REFERENCES run (id), attempt INTEGER NOT NULL, started INTEGER NOT NULL, "
    "ended INTEGER, cause TEXT, text TEXT, code INTEGER, signal INTEGER, outcome TEXT, outcome_text TEXT, executor "
    "TEXT "
    "NOT NULL, host TEXT, device TEXT, slot TEXT, handle TEXT, pid INTEGER, pid_started INTEGER, boot_id TEXT, version "
    "TEXT NOT NULL, revision TEXT NOT NULL, libraries TEXT, cpu_us INTEGER, peak_bytes INTEGER, PRIMARY KEY (run, "
    "attempt)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE step (run TEXT NOT NULL, step INTEGER NOT NULL, tokens ANY, ce ANY, aux ANY, lr ANY, gate ANY, "
    "grad_norm ANY, scale_mean ANY, scale_std ANY, scale_max ANY, scale_target ANY, logit_rms ANY, logit_max ANY, "
    "logit_std ANY, margin ANY, p_correct ANY, entropy ANY, radial ANY, radial_rms ANY, tangential_rms ANY, "
    "radial_share "
    "ANY, aux_radial ANY, ms ANY, attempt INTEGER NOT NULL, step_ms TEXT, PRIMARY KEY (run, step)) STRICT, WITHOUT "
    "ROWID;"
    "CREATE TABLE site_step (run TEXT NOT NULL, step INTEGER NOT NULL, site TEXT NOT NULL, c ANY, scale_mean ANY, "
    "agreement ANY, gamma_norm ANY, gamma_tilde_norm ANY, PRIMARY KEY (run, step, site)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE eval (run TEXT NOT NULL, step INTEGER NOT NULL, split TEXT NOT NULL, loss ANY, tokens INTEGER, "
    "attempt "
    "INTEGER, PRIMARY KEY (run, step, split)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE bench (run TEXT NOT NULL, kind TEXT NOT NULL, variant TEXT NOT NULL, batch INTEGER NOT NULL, context "
    "INTEGER NOT NULL, tokens_per_s ANY, ms ANY, repeats INTEGER, device TEXT, attempt INTEGER, PRIMARY KEY (run, "
    "kind, "
    "variant, batch, context)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE event (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, sweep TEXT, run TEXT, attempt INTEGER, step "
    "INTEGER, kind TEXT NOT NULL, text TEXT NOT NULL, journal INTEGER) STRICT;"
    "CREATE UNIQUE INDEX event_journal ON event (run, journal) WHERE journal IS NOT NULL; CREATE INDEX event_run ON "
    "event "
    "(run);"
    "CREATE TABLE journal (run TEXT PRIMARY KEY REFERENCES run (id), offset INTEGER NOT NULL, inode INTEGER NOT NULL, "
    "device INTEGER NOT NULL, lines INTEGER NOT NULL, bad INTEGER NOT NULL, step INTEGER NOT NULL, seen INTEGER NOT "
    "NULL) "
    "STRICT, WITHOUT ROWID;"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO sweep VALUES ('old', 'about', 'sweep: old', 'old.yaml', 1, 2, 0, 0);"
    "INSERT INTO run VALUES ('0123456789ab', 'old', 'all', 7, 'done', 330048, 10, 20, 30, 'cpu', 'h', '0.1.0', 'NaN', "
    "NULL, "
    "'cpu', 0, 1, 1, 2, 0, 1, 0, 0, 0, 600, '{}', '{}');"
    "INSERT INTO sweep_run VALUES ('old', '0123456789ab', 'all', 0, 1);"
    "INSERT INTO step (run, step, ce, attempt) VALUES ('0123456789ab', 10, 6.5, 1);"
    "PRAGMA user_version = 1;";

/* Columns of every table, as one text. */
static char *describe(sqlite3 *db)
{
    sqlite3_stmt *row;
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT group_concat(line, char(10)) FROM (SELECT t.name || '.' || c.name || ' ' || c.type "
                           "|| ' ' || c.\"notnull\" || "
                           "' ' || c.pk || ' ' || coalesce(c.dflt_value, '') AS line FROM sqlite_schema t, "
                           "pragma_table_info(t.name) c "
                           "WHERE t.type = 'table' UNION ALL SELECT i.name || ' on ' || i.tbl_name || ' ' || "
                           "coalesce(x.name, '') || x.seqno "
                           "FROM sqlite_schema i, pragma_index_info(i.name) x WHERE i.type = 'index' ORDER BY 1)",
                           -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    char *text = memory_string((const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return text;
}

static void version_1_is_brought_up_to_date(void **state)
{
    (void)state;
    sqlite3 *db;
    struct store *reader = NULL;
    char *fresh = describe(store_connection(f.s));
    fixture_close(&f);
    assert_int_equal(unlink(f.home.database), 0);
    assert_int_equal(sqlite3_open(f.home.database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    fixture_open(&f);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    store_close(reader);
    char *migrated = describe(store_connection(f.s));
    assert_string_equal(migrated, fresh);
    assert_int_equal(fixture_integer(&f, "SELECT seed FROM run WHERE id = '0123456789ab'"), 7);
    assert_int_equal(fixture_integer(&f, "SELECT ce = 6.5 FROM step_last"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT val_loss IS NULL AND val_loss_raw = 'NaN' FROM run_in_sweep"), 1);
    assert_int_equal(fixture_integer(&f, "PRAGMA user_version"), store_version_known());
    free(fresh);
    free(migrated);
}

static void migrations_go_step_by_step(void **state)
{
    (void)state;
    static const struct store_migration good[] = {{"CREATE TABLE a (x); INSERT INTO a VALUES (1)"},
                                                  {"ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1"}};
    static const struct store_migration broken[] = {{"CREATE TABLE a (x)"}, {"CREATE TABLE b (x); SELECT nonsense"}};
    int version = 0;
    store_exec(f.s, "PRAGMA user_version = 1", "test", NULL);
    BAD(STATUS_FAILED, "migrate from version 2 to 3", store_migrate_with(f.s, broken, 3, "", err));
    GOOD(store_version(f.s, &version, err));
    assert_int_equal(version, 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM sqlite_schema WHERE name IN ('a', 'b')"), 0);
    GOOD(store_migrate_with(f.s, good, 3, "", err));
    GOOD(store_version(f.s, &version, err));
    assert_int_equal(version, 3);
    assert_int_equal(fixture_integer(&f, "SELECT y FROM a"), 2);
    GOOD(store_migrate_with(f.s, good, 3, "", err));
}

static void views_follow_their_text(void **state)
{
    (void)state;
    store_exec(f.s,
               "UPDATE meta SET value = 'old' WHERE key = 'views'; DROP VIEW step_last; CREATE VIEW \"odd \"\"one\" AS "
               "SELECT 1",
               "test", NULL);
    fixture_close(&f);
    fixture_open(&f);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM sqlite_schema WHERE name = 'step_last'"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'odd%'"), 0);
}

static void files_are_embedded_whole(void **state)
{
    (void)state;
    int count = 0;
    for (const struct embedded *e; (e = embedded_at(count)); count++) {
        struct file_map map;
        GOOD(file_map_open(&map, e->name, err));
        assert_int_equal(map.size, e->size);
        assert_memory_equal(map.data, e->text, e->size);
        assert_int_equal(e->text[e->size], '\0');
        file_map_close(&map);
    }
    assert_true(count >= 2);
    assert_null(embedded_find("results/none.sql"));
}

/* --------------------------------------------------------------------------------------------- submitting */

static void submit_makes_runs(void **state)
{
    (void)state;
    struct store_submitted out = fixture_submit(&f, two_by_two);
    assert_int_equal(out.runs, 4);
    assert_int_equal(out.fresh, 4);
    assert_int_equal(
        fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'queued' AND sweep = 's' AND retries = 1"), 4);
    assert_int_equal(fixture_integer(&f, "SELECT count(DISTINCT position) FROM run"), 4);
    assert_int_equal(
        fixture_integer(&f, "SELECT config ->> '$.\"taper.sites\"' = 'all' FROM run WHERE variant = 'all'"), 1);
    /* What the run holds is what makes its name. */
    char id[CONFIG_ID], again[CONFIG_ID], corpus[65], tokenizer[65];
    struct config cfg;
    for (int i = 0; i < 4; i++) {
        fixture_run_id(&f, "s", i, id);
        GOOD(store_run_config(f.s, id, &cfg, err));
        fixture_digests(&cfg, corpus, tokenizer, NULL);
        config_identity(&cfg, corpus, tokenizer, again);
        assert_string_equal(id, again);
        assert_int_equal(cfg.seed, i / 2);
        assert_int_equal(cfg.sites, i % 2 ? SITES_ALL : SITES_NONE);
    }
    out = fixture_submit(&f, two_by_two);
    assert_int_equal(out.fresh, 0);
    assert_int_equal(out.known[RUN_QUEUED], 4);
    assert_int_equal(out.dropped, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 4);
}

/* A fast way makes the names and the JSON of a sweep; it must agree with the configuration's own on anything. */
static void names_agree_with_the_configuration(void **state)
{
    (void)state;
    char id[CONFIG_ID], wanted[CONFIG_ID], corpus[65], tokenizer[65];
    struct store_identities *ids = store_identities_create(fixture_digests);
    for (int i = 0; i < 200; i++) {
        struct config cfg;
        const char *json;
        char text[32];
        config_init(&cfg);
        snprintf(text, sizeof text, "%d", i * 7919);
        GOOD(config_set(&cfg, "seed", text, err));
        snprintf(text, sizeof text, "0.%d", 1 + i % 45);
        GOOD(config_set(&cfg, "aux.lambda", text, err));
        GOOD(config_set(&cfg, "sample.prompt", "\"seed\":12", err));
        GOOD(config_set(&cfg, "data.seed", i % 2 ? "12" : "3", err));
        GOOD(config_finish(&cfg, err));
        GOOD(store_identify(ids, &cfg, id, &json, err));
        fixture_digests(&cfg, corpus, tokenizer, NULL);
        config_identity(&cfg, corpus, tokenizer, wanted);
        assert_string_equal(id, wanted);
        json_t *got = json_loads(json, 0, NULL), *own = config_to_json(&cfg);
        assert_true(json_equal(got, own));
        json_decref(got);
        json_decref(own);
    }
    store_identities_destroy(ids);
}

static void runs_are_shared_between_sweeps(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, two_by_two);
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    GOOD(store_attempt_end(f.s, id, attempt, &(struct store_exit){.cause = "done", .code = 0, .signal = -1}, RUN_DONE,
                           err));
    /* The same configurations under other names, one new, twice the same one, a higher priority. */
    struct store_submitted out = fixture_submit(&f, "sweep: t\nvariants: {plain: {}, same: {taper.sites: none}, new: "
                                                    "{aux.lambda: 1}}\nrun: {priority: 5}\n");
    assert_int_equal(out.runs, 3);
    assert_int_equal(out.fresh, 1);
    assert_int_equal(out.known[RUN_DONE], 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 5);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_in_sweep WHERE sweep = 't' AND state = 'done'"), 2);
    char *names =
        fixture_text(&f, "SELECT group_concat(variant, ' ') FROM (SELECT variant FROM run_in_sweep WHERE sweep = 't' "
                         "ORDER BY position)");
    assert_string_equal(names, "plain same new");
    free(names);
    assert_int_equal(fixture_integer(&f, "SELECT runs FROM sweep_status WHERE sweep = 't'"), 2);
    char *owner = fixture_text(&f, "SELECT sweep || priority FROM run WHERE state = 'done'");
    assert_string_equal(owner, "s5");
    free(owner);
}

static void more_after_queues_a_done_run_again(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    struct spec_after after;
    fixture_submit(&f, "sweep: s\nafter: {bench: {decode: {batch: 1, context: 64}}}\n");
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    GOOD(store_attempt_end(f.s, id, 1, &(struct store_exit){.cause = "done", .code = 0, .signal = -1}, RUN_DONE, err));
    assert_int_equal(fixture_submit(&f, "sweep: t\nafter: {bench: {decode: {batch: 1, context: 64}}}\n").requeued, 0);
    assert_int_equal(fixture_submit(&f, "sweep: t\n").requeued, 0);
    struct store_submitted out =
        fixture_submit(&f, "sweep: t\nafter: {fold: true, bench: {decode: {batch: [1, 4], context: 128}}}\n");
    assert_int_equal(out.requeued, 1);
    assert_int_equal(find(id).state, RUN_QUEUED);
    GOOD(store_run_after(f.s, id, &after, err));
    assert_true(after.fold && after.bench[BENCH_DECODE].batches == 2 && after.bench[BENCH_DECODE].contexts == 2);
    assert_int_equal(after.bench[BENCH_DECODE].context[1], 128);
}

static void changed_sweep_drops_runs(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, two_by_two);
    fixture_submit(&f, "sweep: t\nbase: {seed: 1}\n"); /* holds s's run of variant base and seed 1 too */
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    struct store_submitted out =
        fixture_submit(&f, "sweep: s\nvariants: {all: {taper.sites: all}}\ngrid: {seed: [1, 2]}\n");
    assert_int_equal(out.fresh, 1);
    assert_int_equal(out.dropped, 3);
    assert_int_equal(out.dropped_queued, 1); /* not the live one, not the one t wants */
    assert_int_equal(find(id).state, RUN_STARTING);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'cancelled'"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_in_sweep WHERE sweep = 's'"), 2);
    /* Submitting it as it was takes the cancelled one up again. */
    out = fixture_submit(&f, two_by_two);
    assert_int_equal(out.requeued, 1);
    assert_int_equal(out.known[RUN_QUEUED], 3);
}

static int bad_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    return cfg->corpus_seed == 1 ? fixture_digests(cfg, corpus, tokenizer, err)
                                 : error_set(err, STATUS_BAD_INPUT, "data.corpus: no such file");
}

static void failed_submit_leaves_nothing(void **state)
{
    (void)state;
    struct spec spec;
    struct store_submitted out;
    const char *yaml = "sweep: u\ngrid: {data.seed: [1, 2], seed: [0, 1]}\n";
    GOOD(spec_parse(&spec, yaml, strlen(yaml), "u.yaml", "/", NULL, err));
    BAD(STATUS_BAD_INPUT, "no such file", store_submit(f.s, &spec, bad_digests, &out, err));
    spec_fini(&spec);
    (void)out;
    assert_int_equal(fixture_integer(&f, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM sweep)"), 0);
}

/* --------------------------------------------------------------------------------------------- states */

static void life_of_a_run(void **state)
{
    (void)state;
    char id[CONFIG_ID], other[CONFIG_ID];
    int attempt = 0;
    bool found;
    struct store_run run;
    struct store_attempt a;
    int64_t now = store_now();
    fixture_submit(&f, two_by_two);
    GOOD(store_next_queued(f.s, DEVICE_CPU, 1, now, &run, &found, err));
    assert_true(found);
    fixture_run_id(&f, "s", 0, id);
    assert_string_equal(run.id, id);
    assert_string_equal(run.variant, "base");
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    BAD(STATUS_FAILED, "it is starting", store_attempt_begin(f.s, id, &start, &attempt, err));
    GOOD(store_next_queued(f.s, DEVICE_CPU, 1, now, &run, &found, err));
    fixture_run_id(&f, "s", 1, other);
    assert_string_equal(run.id, other);
    BAD(STATUS_FAILED, "attempt 2 is over", store_attempt_running(f.s, id, 2, "h", 1, 2, "b", err));
    GOOD(store_attempt_running(f.s, id, 1, "handle", 4242, 99, "boot", err));
    assert_int_equal(find(id).state, RUN_RUNNING);
    GOOD(store_attempt_get(f.s, id, 0, &a, err));
    assert_int_equal(a.pid, 4242);
    assert_string_equal(a.boot_id, "boot");
    assert_string_equal(a.slot, "cpu:0");
    assert_null(a.cause);
    store_attempt_fini(&a);
    /* It fails and comes back with a delay. */
    struct store_exit failed = {"signal", "killed", -1, 9, 5000, 1 << 20, true, now + 60000000};
    BAD(STATUS_FAILED, "cannot end as running", store_attempt_end(f.s, id, 1, &failed, RUN_RUNNING, err));
    GOOD(store_attempt_end(f.s, id, 1, &failed, RUN_QUEUED, err));
    BAD(STATUS_FAILED, "is not live", store_attempt_end(f.s, id, 1, &failed, RUN_FAILED, err));
    run = find(id);
    assert_int_equal(run.state, RUN_QUEUED);
    assert_int_equal(run.failures, 1);
    assert_int_equal(run.ended, 0);
    int64_t when;
    GOOD(store_next_delay(f.s, now, &when, err));
    assert_true(when == now + 60000000);
    GOOD(store_next_queued(f.s, DEVICE_CPU, 1, now, &run, &found, err));
    assert_string_equal(run.id, other);
    GOOD(store_next_queued(f.s, DEVICE_CPU, 1, now + 60000000, &run, &found, err));
    assert_string_equal(run.id, id);
    /* A clock that was set back a day does not hold it for a day. */
    GOOD(store_next_queued(f.s, DEVICE_CPU, 1, now - 86400000000, &run, &found, err));
    assert_string_equal(run.id, id);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    assert_int_equal(attempt, 2);
    GOOD(store_attempt_end(
        f.s, id, 2, &(struct store_exit){.cause = "done", .code = 0, .signal = -1, .cpu_us = -1, .peak_bytes = -1},
        RUN_DONE, err));
    BAD(STATUS_FAILED, "it is done", store_attempt_begin(f.s, id, &start, &attempt, err));
    assert_true(find(id).ended >= now);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM attempt WHERE ended IS NOT NULL"), 2);
    assert_int_equal(fixture_integer(&f, "SELECT signal FROM attempt WHERE attempt = 1"), 9);
    assert_int_equal(
        fixture_integer(&f, "SELECT code IS 0 AND signal IS NULL AND cpu_us IS NULL FROM attempt WHERE attempt = 2"),
        1);
    char *events = fixture_text(
        &f, "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM event WHERE run IS NOT NULL ORDER BY id)");
    assert_string_equal(events, "starting running queued starting done");
    free(events);
}

/* Every change from every state: allowed ones happen, others change nothing. */
static void only_legal_changes(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    fixture_submit(&f, "sweep: s\n");
    fixture_run_id(&f, "s", 0, id);
    for (int from = 0; from < RUN_STATES; from++)
        for (int change = 0; change < 6; change++) {
            char sql[200];
            int attempt, status;
            struct store_changed changed;
            snprintf(sql, sizeof sql,
                     "DELETE FROM attempt; UPDATE run SET state = '%s', attempts = 0, cancel = 0; UPDATE sweep_run SET "
                     "wanted = 1",
                     run_state_name(from));
            store_exec(f.s, sql, "test", NULL);
            int64_t events = fixture_integer(&f, "SELECT count(*) FROM event");
            bool live = from == RUN_STARTING || from == RUN_RUNNING, legal;
            struct store_exit x = {.cause = "test"};
            if (change == 0) {
                legal = from == RUN_QUEUED;
                status = store_attempt_begin(f.s, id, &start, &attempt, NULL);
            } else if (change == 1) {
                legal = live;
                status = store_attempt_running(f.s, id, 0, NULL, 0, 0, NULL, NULL);
            } else if (change == 2) {
                legal = live;
                status = store_attempt_end(f.s, id, 0, &x, RUN_DONE, NULL);
            } else if (change == 3) {
                legal = live;
                status = store_attempt_end(f.s, id, 0, &x, RUN_QUEUED, NULL);
            } else if (change == 4) {
                legal = from == RUN_FAILED || from == RUN_CANCELLED;
                assert_int_equal(store_retry(f.s, NULL, id, &changed, NULL), STATUS_OK);
                status = changed.queued == 1 ? STATUS_OK : STATUS_FAILED;
            } else {
                legal = from == RUN_QUEUED || live;
                assert_int_equal(store_cancel(f.s, NULL, id, "test", &changed, NULL), STATUS_OK);
                status = changed.queued + changed.live == 1 ? STATUS_OK : STATUS_FAILED;
            }
            assert_int_equal(status == STATUS_OK, legal);
            if (!legal) {
                assert_int_equal(find(id).state, from);
                assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event"), events);
            }
        }
}

static void cancel_heeds_other_sweeps(void **state)
{
    (void)state;
    char live[CONFIG_ID];
    int attempt;
    struct store_changed out;
    fixture_submit(&f, two_by_two);
    fixture_submit(&f, "sweep: t\nbase: {seed: 1}\n"); /* shares one run with s */
    fixture_run_id(&f, "s", 0, live);
    GOOD(store_attempt_begin(f.s, live, &start, &attempt, err));
    BAD(STATUS_BAD_INPUT, "no sweep 'x'", store_cancel(f.s, "x", NULL, NULL, &out, err));
    BAD(STATUS_BAD_INPUT, "no run 'ffffffffffff'", store_cancel(f.s, NULL, "ffffffffffff", NULL, &out, err));
    GOOD(store_cancel(f.s, "s", NULL, "user", &out, err));
    assert_int_equal(out.queued, 2);
    assert_int_equal(out.live, 1);
    assert_int_equal(out.kept, 1);
    assert_true(find(live).cancel > 0);
    assert_int_equal(find(live).state, RUN_STARTING);
    /* Lost while a cancel is pending: cancelled, not queued again. */
    GOOD(store_attempt_end(f.s, live, 1, &(struct store_exit){.cause = "lost", .code = -1, .signal = -1}, RUN_QUEUED,
                           err));
    assert_int_equal(find(live).state, RUN_CANCELLED);
    GOOD(store_cancel(f.s, "t", NULL, "user", &out, err));
    assert_int_equal(out.queued, 1);
    bool found;
    struct store_run run;
    GOOD(store_next_queued(f.s, DEVICE_CPU, 8, store_now(), &run, &found, err));
    assert_false(found);
    GOOD(store_retry(f.s, "s", NULL, &out, err));
    assert_int_equal(out.queued, 4);
    GOOD(store_cancel(f.s, NULL, live, "user", &out, err));
    assert_int_equal(out.queued, 1);
}

static void queue_order(void **state)
{
    (void)state;
    struct store_run run;
    bool found;
    fixture_submit(&f, "sweep: low\nbase: {seed: 1}\nrun: {priority: -1}\n");
    fixture_submit(&f, "sweep: big\nbase: {seed: 2}\nrun: {priority: 9, slots: 4}\n");
    fixture_submit(&f, "sweep: one\nbase: {seed: 3}\n");
    fixture_submit(&f, "sweep: two\nbase: {seed: 4}\n");
    fixture_submit(&f, "sweep: gpu\nbase: {seed: 5, device: cuda}\nrun: {priority: 9}\n");
    int64_t now = store_now();
    GOOD(store_next_queued(f.s, DEVICE_CPU, 4, now, &run, &found, err));
    assert_string_equal(run.sweep, "big");
    GOOD(store_next_queued(f.s, DEVICE_CPU, 3, now, &run, &found, err));
    assert_string_equal(run.sweep, "one");
    GOOD(store_sweep_pause(f.s, "one", true, err));
    GOOD(store_next_queued(f.s, DEVICE_CPU, 3, now, &run, &found, err));
    assert_string_equal(run.sweep, "two");
    /* A run of a paused sweep that another wants too is not held. */
    fixture_submit(&f, "sweep: also-one\nbase: {seed: 3}\n");
    GOOD(store_next_queued(f.s, DEVICE_CPU, 3, now, &run, &found, err));
    assert_string_equal(run.sweep, "one");
    GOOD(store_next_queued(f.s, DEVICE_CUDA, 1, now, &run, &found, err));
    assert_string_equal(run.sweep, "gpu");
    GOOD(store_sweep_pause(f.s, "one", true, err));
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'paused'"), 1);
    BAD(STATUS_BAD_INPUT, "no sweep 'onee' (there is one)", store_sweep_pause(f.s, "onee", true, err));
}

static void runs_are_found_by_the_start_of_their_id(void **state)
{
    (void)state;
    char id[CONFIG_ID], part[4];
    struct store_run run;
    fixture_submit(&f, "sweep: s\ngrid: {seed: {range: [1, 40]}}\n");
    fixture_run_id(&f, "s", 7, id);
    GOOD(store_run_find(f.s, id, &run, err));
    assert_int_equal(run.seed, 8);
    /* Forty ids share first digits, one among them at least. */
    bool ambiguous = false;
    for (int digit = 0; digit < 16; digit++) {
        struct error err = {0};
        snprintf(part, sizeof part, "%x", digit);
        ambiguous |= store_run_find(f.s, part, &run, &err) && strstr(err.text, "more than one run starts with");
    }
    assert_true(ambiguous);
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "xyz", &run, err));
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "", &run, err));
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "0123456789abc", &run, err));
}

static int count_state(void *arg, const struct store_run *run)
{
    ((int *)arg)[run->state]++;
    return 0;
}

static void runs_by_state(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, two_by_two);
    fixture_run_id(&f, "s", 1, id);
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    int seen[RUN_STATES] = {0};
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_STARTING | 1u << RUN_RUNNING}, count_state,
                         seen, err));
    assert_int_equal(seen[RUN_STARTING], 1);
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_RUNNING}, count_state, seen, err));
    assert_int_equal(seen[RUN_RUNNING], 0);
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_QUEUED}, count_state, seen, err));
    assert_int_equal(seen[RUN_QUEUED], 3);
    memset(seen, 0, sizeof seen);
    GOOD(store_runs_each(f.s, &(struct store_filter){.sweep = "s", .states = 1u << RUN_STARTING, .limit = 9},
                         count_state, seen, err));
    assert_int_equal(seen[RUN_STARTING], 1);
    assert_int_equal(seen[RUN_QUEUED], 0);
    GOOD(store_runs_each(f.s, &(struct store_filter){.limit = 2}, count_state, seen, err));
    assert_int_equal(seen[RUN_QUEUED] + seen[RUN_STARTING], 3);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(second_writer_is_refused),
        CASE(reader_changes_nothing),
        CASE(long_reader_stops_nothing),
        CASE(other_writer_is_waited_out),
        CASE(missing_and_foreign_databases),
        CASE(reader_brings_a_schema_up_to_date),
        CASE(unwritable_home_with_a_log),
        CASE(home_is_found),
        CASE(moved_home_goes_on),
        CASE(version_1_is_brought_up_to_date),
        CASE(migrations_go_step_by_step),
        CASE(views_follow_their_text),
        CASE(files_are_embedded_whole),
        CASE(submit_makes_runs),
        CASE(names_agree_with_the_configuration),
        CASE(runs_are_shared_between_sweeps),
        CASE(more_after_queues_a_done_run_again),
        CASE(changed_sweep_drops_runs),
        CASE(failed_submit_leaves_nothing),
        CASE(life_of_a_run),
        CASE(only_legal_changes),
        CASE(cancel_heeds_other_sweeps),
        CASE(queue_order),
        CASE(runs_are_found_by_the_start_of_their_id),
        CASE(runs_by_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
