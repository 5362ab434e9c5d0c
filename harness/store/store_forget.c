/* Runs and sweeps taken out of the database for good. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

void store_forgotten_fini(struct store_forgotten *f)
{
    free(f->runs);
    *f = (struct store_forgotten){0};
}

/* One statement; ?1 is the sweep and ?2 the run, where it has them. */
static int step(struct store *s, const char *sql, const char *sweep, const char *run, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, sql, err);
    if (!statement)
        return STATUS_FAILED;
    if (sqlite3_bind_parameter_count(statement) >= 1)
        store_bind_text(statement, 1, sweep);
    if (sqlite3_bind_parameter_count(statement) >= 2)
        store_bind_text(statement, 2, run);
    return store_step(s, statement, "forget runs", err);
}

/* The runs that go: of a sweep those that no other holds. */
static int choose(struct store *s, const char *sweep, const char *run, bool checkpoints, struct error *err)
{
    int status = store_exec(s,
                            "CREATE TEMP TABLE IF NOT EXISTS forgotten (id TEXT PRIMARY KEY) WITHOUT ROWID;"
                            "DELETE FROM forgotten",
                            "choose runs", err);
    if (!status)
        status = step(s,
                      "INSERT INTO forgotten SELECT DISTINCT run FROM sweep_run m WHERE sweep = ?1 AND NOT EXISTS "
                      "(SELECT 1 FROM sweep_run o WHERE o.run = m.run AND o.sweep <> ?1) "
                      "UNION SELECT id FROM run WHERE id = ?2",
                      sweep, run, err);
    if (!status && checkpoints)
        status =
            step(s, "DELETE FROM forgotten WHERE id NOT IN (SELECT id FROM run WHERE state = 'done')", NULL, NULL, err);
    return status;
}

/* Nothing that lives, or that something which is still to run needs. */
static int refuse_wanted(struct store *s, struct error *err)
{
    static const char sql[] =
        "SELECT r.id, r.state, NULL FROM run r WHERE r.id IN (SELECT id FROM forgotten) AND (r.state IN ('starting', "
        "'running') OR EXISTS (SELECT 1 FROM attempt a WHERE a.run = r.id AND a.ended IS NULL)) "
        "UNION ALL SELECT n.needs, n.state, n.id FROM run n WHERE n.needs IN (SELECT id FROM forgotten) "
        "AND n.id NOT IN (SELECT id FROM forgotten) AND n.state IN ('queued', 'starting', 'running') LIMIT 1";
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    int code = sqlite3_step(row), status = STATUS_OK;
    const char *id = code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    const char *state = id ? (const char *)sqlite3_column_text(row, 1) : NULL;
    const char *other = id ? (const char *)sqlite3_column_text(row, 2) : NULL;
    if (id && other)
        status = error_set(err, STATUS_BAD_INPUT, "run %s is needed by run %s, which is %s", id, other, state);
    else if (id && (strcmp(state, "starting") == 0 || strcmp(state, "running") == 0))
        status = error_set(err, STATUS_BAD_INPUT, "run %s is %s: 'taper cancel --wait %s' comes first", id, state, id);
    else if (id)
        status = error_set(err, STATUS_BAD_INPUT, "run %s is %s, but its worker has not ended yet", id, state);
    else if (code != SQLITE_DONE)
        status = store_fail(s, err, "forget runs");
    sqlite3_reset(row);
    return status;
}

static int list(struct store *s, const char *sweep, struct store_forgotten *out, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT id FROM forgotten ORDER BY id", err);
    if (!row)
        return STATUS_FAILED;
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        out->runs = memory_resize(out->runs, (size_t)out->count + 1, sizeof *out->runs);
        snprintf(out->runs[out->count++], CONFIG_ID, "%s", (const char *)sqlite3_column_text(row, 0));
    }
    sqlite3_reset(row);
    if (code != SQLITE_DONE)
        return store_fail(s, err, "forget runs");
    row = store_prepare(s,
                        "SELECT count(DISTINCT run) FROM sweep_run m WHERE sweep = ?1 AND EXISTS "
                        "(SELECT 1 FROM sweep_run o WHERE o.run = m.run AND o.sweep <> ?1)",
                        err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, sweep);
    if (sqlite3_step(row) == SQLITE_ROW)
        out->kept = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return STATUS_OK;
}

static int take_out(struct store *s, const char *sweep, const char *run, struct error *err)
{
    static const char *const sql[] = {
        "DELETE FROM step WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM site_step WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM eval WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM bench WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM event WHERE run IN (SELECT id FROM forgotten) OR sweep = ?1",
        "DELETE FROM journal WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM redo WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM decision WHERE run IN (SELECT id FROM forgotten) OR sweep = ?1",
        "DELETE FROM attempt WHERE run IN (SELECT id FROM forgotten)",
        "DELETE FROM sweep_run WHERE run IN (SELECT id FROM forgotten) OR sweep = ?1",
        "UPDATE run SET needs = NULL WHERE needs IN (SELECT id FROM forgotten)",
        "DELETE FROM run WHERE id IN (SELECT id FROM forgotten)",
        /* What another sweep holds too is that one's now. */
        "UPDATE run SET sweep = (SELECT min(m.sweep) FROM sweep_run m WHERE m.run = run.id) WHERE sweep = ?1",
        "DELETE FROM sweep WHERE name = ?1",
    };
    int status = sweep ? store_cancel_sweep(s, sweep, "its sweep is forgotten", err) : STATUS_OK;
    for (size_t i = 0; i < sizeof sql / sizeof sql[0] && !status; i++)
        status = step(s, sql[i], sweep, run, err);
    return status;
}

static int note(struct store *s, const char *sweep, const char *run, bool checkpoints, int64_t count, struct error *err)
{
    char text[SPEC_NAME + 96];
    if (run)
        snprintf(text, sizeof text, "%srun %s", checkpoints ? "checkpoints of " : "", run);
    else
        snprintf(text, sizeof text, "sweep %s, %s%lld runs", sweep, checkpoints ? "checkpoints of " : "",
                 (long long)count);
    return store_add_event(s, checkpoints ? sweep : NULL, checkpoints ? run : NULL, 0, "forgotten", text, err);
}

int store_forget(struct store *s, const char *sweep, const char *run, bool checkpoints, bool dry,
                 struct store_forgotten *out, struct error *err)
{
    *out = (struct store_forgotten){0};
    int status = store_begin(s, true, err);
    if (status)
        return status;
    status = choose(s, sweep, run, checkpoints, err);
    if (!status)
        status = refuse_wanted(s, err);
    if (!status)
        status = list(s, sweep, out, err);
    if (!status && !dry && !checkpoints)
        status = take_out(s, sweep, run, err);
    if (!status && !dry)
        status = note(s, sweep, run, checkpoints, out->count, err);
    if (!status && !dry)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}
