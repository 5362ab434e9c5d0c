/* Versions of the schema, views, and the files that are compiled in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/store/store_internal.h"
#include "tests/support/store_test.h"

/* What a program leaves that was killed before its first transaction. */
static void reader_brings_a_schema_up_to_date(void **state)
{
    (void)state;
    struct store *reader = NULL;
    fixture_close(&f);
    GOOD(file_write_all(f.home.database, "", 0, err));
    struct store *writer_elsewhere = NULL;
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    GOOD(store_exec(reader, "SELECT count(*) FROM sweep_status", "test", err));
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
    "INSERT INTO bench VALUES ('0123456789ab', 'decode', 'fused', 1, 64, 1000, 1, 15, 'cpu avx512 fp32, 2 threads', 1),"
    "('0123456789ab', 'decode', 'fused', 1, 128, 1500, 1, 15, 'cpu avx512 bf16, 2 threads', 1),"
    "('0123456789ab', 'last-token', 'fused', 1, 64, 2000, 1, 15, 'cuda ops', 1),"
    "('ffffffffffff', 'last-token', 'fused', 1, 64, 'NaN', 1, 15, 'cpu ops', NULL);"
    /* Its views read tables that later versions replace. */
    "CREATE VIEW run_in_sweep AS SELECT m.sweep, m.variant, r.id AS run FROM sweep_run m JOIN run r ON r.id = m.run;"
    "CREATE VIEW bench_numeric AS SELECT run, iif(typeof(ms) = 'text', NULL, ms) AS ms FROM bench;"
    "INSERT INTO meta VALUES ('views', 'digest of version 1');"
    "PRAGMA user_version = 1;";

/* Columns of every table, as one text. */
static char *describe(struct fixture *of)
{
    return fixture_text(of, "SELECT group_concat(line, char(10)) FROM (SELECT t.name || '.' || c.name || ' ' || c.type "
                            "|| ' ' || c.\"notnull\" || ' ' || c.pk || ' ' || coalesce(c.dflt_value, '') AS line "
                            "FROM sqlite_schema t, pragma_table_info(t.name) c "
                            "WHERE t.type = 'table' UNION ALL SELECT i.name || ' on ' || i.tbl_name || ' ' || "
                            "coalesce(x.name, '') || x.seqno "
                            "FROM sqlite_schema i, pragma_index_info(i.name) x WHERE i.type = 'index' ORDER BY 1)");
}

static void version_1_is_brought_up_to_date(void **state)
{
    (void)state;
    sqlite3 *db;
    struct store *reader = NULL;
    char *fresh = describe(&f);
    fixture_close(&f);
    assert_int_equal(unlink(f.home.database), 0);
    assert_int_equal(sqlite3_open(f.home.database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    fixture_open(&f);
    GOOD(store_open(&reader, &f.home, STORE_READ, err));
    store_close(reader);
    char *migrated = describe(&f);
    assert_string_equal(migrated, fresh);
    assert_int_equal(fixture_integer(&f, "SELECT seed FROM run WHERE id = '0123456789ab'"), 7);
    assert_int_equal(fixture_integer(&f, "SELECT ce = 6.5 FROM step_last"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT val_loss IS NULL AND val_loss_raw = 'NaN' FROM run_in_sweep"), 1);
    assert_int_equal(
        fixture_integer(&f, "SELECT group_concat(tokens_per_s || weights, ' ') = '1000fp32 1500bf16 2000bf16 NaNfp32' "
                            "FROM (SELECT * FROM bench ORDER BY run, kind, context)"),
        1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE needs IS NULL"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_at_point WHERE sweep = 'old' AND variant = 'all' "
                                         "AND point = '{}' AND position = 0"),
                     1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(reader_brings_a_schema_up_to_date), STORE_TEST(version_1_is_brought_up_to_date),
        STORE_TEST(migrations_go_step_by_step),        STORE_TEST(views_follow_their_text),
        STORE_TEST(files_are_embedded_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
