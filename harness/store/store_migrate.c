/* Schema versions: PRAGMA user_version counts them, and a database moves forward one step at a time. */
#include <stdio.h>

#include "harness/base/embedded.h"
#include "harness/store/store_internal.h"

/* steps[i] takes version i + 1 to i + 2. A released step is never changed; results/schema.sql is what all of them
 * lead to. The views are not part of it: they are made again whenever their text changes. */
static const struct store_migration steps[] = {
    {"ALTER TABLE step ADD COLUMN leading ANY; ALTER TABLE step ADD COLUMN bounded ANY"},
    /* A column of the key, so the table is made anew. The device's text said when it was bf16, but for cuda, where that
     * is what the run's precision says. */
    {"ALTER TABLE bench RENAME TO bench_before;"
     "CREATE TABLE bench (run TEXT NOT NULL, kind TEXT NOT NULL, variant TEXT NOT NULL, batch INTEGER NOT NULL, "
     "context INTEGER NOT NULL, weights TEXT NOT NULL, tokens_per_s ANY, ms ANY, repeats INTEGER, device TEXT, "
     "attempt INTEGER, PRIMARY KEY (run, kind, variant, batch, context, weights)) STRICT, WITHOUT ROWID;"
     "INSERT INTO bench SELECT run, kind, variant, batch, context, iif(device LIKE '%bf16%' OR (device LIKE 'cuda%' "
     "AND coalesce((SELECT config ->> '$.precision' FROM run WHERE id = bench_before.run), 'auto') <> 'fp32'), "
     "'bf16', 'fp32'), tokens_per_s, ms, repeats, device, attempt FROM bench_before;"
     "DROP TABLE bench_before"},
    {"ALTER TABLE run ADD COLUMN pack INTEGER NOT NULL DEFAULT 1;"
     "ALTER TABLE run ADD COLUMN shape TEXT NOT NULL DEFAULT '';"
     "CREATE INDEX run_pack ON run (shape, priority, position) WHERE pack > 1 AND state = 'queued';"
     "ALTER TABLE attempt ADD COLUMN pack INTEGER NOT NULL DEFAULT 1"},
    /* A column of the key again. The points of sweeps that are there are unknown until they are submitted again. */
    {"ALTER TABLE run ADD COLUMN needs TEXT REFERENCES run (id);"
     "CREATE TABLE sweep_run_after (sweep TEXT NOT NULL REFERENCES sweep (name), run TEXT NOT NULL REFERENCES run "
     "(id), "
     "variant TEXT NOT NULL, point TEXT NOT NULL, position INTEGER NOT NULL, wanted INTEGER NOT NULL DEFAULT 1, "
     "PRIMARY KEY (sweep, run, variant, point)) STRICT, WITHOUT ROWID;"
     "INSERT INTO sweep_run_after SELECT sweep, run, variant, '{}', position, wanted FROM sweep_run;"
     "DROP TABLE sweep_run; ALTER TABLE sweep_run_after RENAME TO sweep_run;"
     "CREATE INDEX sweep_run_run ON sweep_run (run)"},
    {"ALTER TABLE bench ADD COLUMN beside INTEGER"},
    {"CREATE TABLE redo (run TEXT PRIMARY KEY REFERENCES run (id), since INTEGER, cleared INTEGER NOT NULL DEFAULT 0, "
     "next_config TEXT, next_wants TEXT, next_shape TEXT, config TEXT, wants TEXT, shape TEXT, ended INTEGER) STRICT, "
     "WITHOUT ROWID"},
    {"CREATE TABLE device_aside (device TEXT PRIMARY KEY, since INTEGER NOT NULL, why TEXT NOT NULL) STRICT, WITHOUT "
     "ROWID"},
    {"ALTER TABLE run ADD COLUMN slurm TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE attempt ADD COLUMN note TEXT"},
    {"ALTER TABLE run ADD COLUMN corpus TEXT; ALTER TABLE run ADD COLUMN tokenizer TEXT;"
     "ALTER TABLE attempt ADD COLUMN corpus TEXT; ALTER TABLE attempt ADD COLUMN tokenizer TEXT;"
     "ALTER TABLE attempt ADD COLUMN train_tokens TEXT; ALTER TABLE attempt ADD COLUMN valid_tokens TEXT"},
    /* A state more. What a CHECK says is in the schema's text alone, so that is changed, and nothing is copied. */
    {"ALTER TABLE sweep ADD COLUMN stop TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE sweep_run ADD COLUMN bracket TEXT NOT NULL DEFAULT '';"
     "CREATE TABLE decision (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, sweep TEXT NOT NULL REFERENCES sweep "
     "(name), "
     "bracket TEXT NOT NULL, run TEXT NOT NULL REFERENCES run (id), rung INTEGER NOT NULL, step INTEGER NOT NULL, "
     "metric ANY, rank INTEGER NOT NULL, ranked INTEGER NOT NULL, verdict TEXT NOT NULL CHECK (verdict IN ('kept', "
     "'paused', 'diverged')), why TEXT NOT NULL, UNIQUE (sweep, bracket, rung, run, verdict)) STRICT;"
     "CREATE INDEX decision_run ON decision (run);"
     "PRAGMA writable_schema = ON;"
     "UPDATE sqlite_schema SET sql = replace(sql, '''failed'', ''cancelled'')', '''failed'', ''cancelled'', "
     "''paused'')') WHERE type = 'table' AND name = 'run';"
     "PRAGMA writable_schema = RESET"},
    {NULL},
};

enum { VERSION = sizeof steps / sizeof steps[0] };

int store_version_known(void)
{
    return VERSION;
}

int store_version(struct store *s, int *version, struct error *err)
{
    sqlite3_stmt *pragma = store_prepare(s, "PRAGMA user_version", err);
    if (!pragma)
        return STATUS_FAILED;
    if (sqlite3_step(pragma) != SQLITE_ROW) {
        int status = store_fail(s, err, "read the schema's version");
        sqlite3_reset(pragma);
        return status;
    }
    *version = sqlite3_column_int(pragma, 0);
    sqlite3_reset(pragma);
    return STATUS_OK;
}

static int count_objects(struct store *s, int *count, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, "SELECT count(*) FROM sqlite_schema", err);
    if (!statement)
        return STATUS_FAILED;
    int status = STATUS_OK;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *count = sqlite3_column_int(statement, 0);
    else
        status = store_fail(s, err, "read the schema");
    sqlite3_reset(statement);
    return status;
}

static int apply_steps(struct store *s, const struct store_migration *list, int from, int version, const char *schema,
                       struct error *err)
{
    int objects = 0, status = count_objects(s, &objects, err);
    if (status)
        return status;
    if (from == 0 && objects > 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: an SQLite database, but not taper's", s->path);
    /* A view of a table that is being replaced would stand in the way; store_refresh_views makes them again. */
    status = from == 0 ? store_exec(s, schema, "make the schema", err) : store_drop_views(s, err);
    for (int v = from ? from : version; !status && v < version; v++) {
        char doing[64];
        snprintf(doing, sizeof doing, "migrate from version %d to %d", v, v + 1);
        status = store_exec(s, list[v - 1].sql, doing, err);
    }
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", version);
    return status ? status : store_exec(s, pragma, "note the schema's version", err);
}

int store_migrate_with(struct store *s, const struct store_migration *list, int version, const char *schema,
                       struct error *err)
{
    int from = 0, status = store_version(s, &from, err);
    if (status)
        return status;
    if (from > version)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: its schema is version %d, this program knows up to %d; use the "
                         "taper that wrote it, or a newer one",
                         s->path, from, version);
    if (from == version)
        return STATUS_OK;
    status = store_begin(s, true, err);
    if (status)
        return status;
    status = apply_steps(s, list, from, version, schema, err);
    if (status) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}

int store_migrate(struct store *s, struct error *err)
{
    int status = store_migrate_with(s, steps, VERSION, embedded_find("results/schema.sql")->text, err);
    return status ? status : store_refresh_views(s, err);
}
