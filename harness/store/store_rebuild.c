/* Rows for what a home's directories say; store_rebuild.h. Opening and finishing are in store_open.c. */
#include "harness/store/store_rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "harness/store/store_internal.h"

int store_rebuild_has(struct store *s, const char *run, bool *has, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT EXISTS (SELECT 1 FROM run WHERE id = ?1)", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "look up a run");
    *has = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

/* --------------------------------------------------------------------------------------------- runs of no sweep */

static int add_sweep(struct store *s, int64_t now, struct error *err)
{
    sqlite3_stmt *insert =
        store_prepare(s,
                      "INSERT OR IGNORE INTO sweep (name, about, spec, path, created, updated) VALUES "
                      "('" STORE_RECOVERED "', 'runs whose sweep is not known', '', '', ?1, ?1)",
                      err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_int(insert, 1, now);
    return store_step(s, insert, "record the sweep", err);
}

static int add_run(struct store *s, const char *run, const struct config *cfg, int64_t now, struct error *err)
{
    sqlite3_stmt *insert =
        store_prepare(s,
                      "INSERT INTO run (id, sweep, variant, seed, state, created, wants, priority, position, slots, "
                      "retries, timeout_us, steps, after, config) VALUES (?1, '" STORE_RECOVERED "', 'default', ?2, "
                      "'queued', ?3, ?4, 0, (SELECT coalesce(max(position), 0) + 1 FROM run), 1, 2, 0, ?5, ?6, ?7)",
                      err);
    if (!insert)
        return STATUS_FAILED;
    json_t *config = config_to_json(cfg), *after = spec_after_to_json(&(struct spec_after){0});
    char *config_text = json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(17));
    char *after_text = json_dumps(after, JSON_COMPACT);
    store_bind_text(insert, 1, run);
    store_bind_int(insert, 2, cfg->seed);
    store_bind_int(insert, 3, now);
    store_bind_text(insert, 4, cfg->device == DEVICE_CUDA ? "cuda" : "cpu");
    store_bind_int(insert, 5, cfg->steps);
    store_bind_text(insert, 6, after_text);
    store_bind_text(insert, 7, config_text);
    int status = store_step(s, insert, "add a run", err);
    free(config_text);
    free(after_text);
    json_decref(config);
    json_decref(after);
    return status;
}

static int add_member(struct store *s, const char *run, struct error *err)
{
    sqlite3_stmt *insert =
        store_prepare(s,
                      "INSERT INTO sweep_run (sweep, run, variant, point, position) SELECT '" STORE_RECOVERED "', ?1, "
                      "'default', '{}', coalesce(max(position) + 1, 0) FROM sweep_run "
                      "WHERE sweep = '" STORE_RECOVERED "'",
                      err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, run);
    return store_step(s, insert, "add to the sweep", err);
}

/* One transaction of the steps that gave `status` so far. */
static int finish(struct store *s, int status, struct error *err)
{
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}

int store_rebuild_add(struct store *s, const char *run, const struct config *cfg, struct error *err)
{
    int64_t now = store_now();
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = add_sweep(s, now, err);
    if (!status)
        status = add_run(s, run, cfg, now, err);
    if (!status)
        status = add_member(s, run, err);
    return finish(s, status, err);
}

/* --------------------------------------------------------------------------------------------- attempts */

/* Their numbers are in the journal's rows and in exit.json; when and where they ran nobody knows. */
static int add_attempts(struct store *s, const char *run, const struct store_rebuild_files *files, struct error *err)
{
    sqlite3_stmt *insert = store_prepare(
        s,
        "INSERT INTO attempt (run, attempt, started, ended, executor, version, revision) "
        "WITH last(n) AS (SELECT max(attempt) FROM (SELECT attempt FROM step WHERE run = ?1 UNION ALL "
        "SELECT attempt FROM eval WHERE run = ?1 UNION ALL SELECT attempt FROM event WHERE run = ?1 UNION ALL "
        "SELECT nullif(?3, 0))), "
        "number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number, last WHERE i < n) "
        "SELECT ?1, i, ?2, ?2, 'unknown', 'unknown', 'unknown' FROM number, last WHERE i <= n",
        err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, run);
    store_bind_int(insert, 2, files->changed);
    store_bind_int(insert, 3, files->ended);
    return store_step(s, insert, "add attempts", err);
}

/* The outcomes stand in lines that were read before there were attempts to note them at. */
static int read_again(struct store *s, const char *run, struct error *err)
{
    sqlite3_stmt *remove = store_prepare(s, "DELETE FROM journal WHERE run = ?1", err);
    if (!remove)
        return STATUS_FAILED;
    store_bind_text(remove, 1, run);
    return store_step(s, remove, "read a journal again", err);
}

static int end_attempts(struct store *s, const char *run, const struct store_rebuild_files *files, struct error *err)
{
    sqlite3_stmt *update = store_prepare(
        s, "UPDATE attempt SET cause = iif(attempt = ?2, ?3, coalesce(outcome, 'lost')) WHERE run = ?1", err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, files->ended);
    store_bind_text(update, 3, outcome_name(files->outcome));
    return store_step(s, update, "end attempts", err);
}

static int set_state(struct store *s, const char *run, int64_t time, enum run_state *state, struct error *err)
{
    sqlite3_stmt *row =
        store_prepare(s,
                      "UPDATE run SET attempts = a.attempt, started = ?2, state = iif(a.done, 'done', 'queued'), "
                      "ended = iif(a.done, ?2, NULL) FROM (SELECT attempt, coalesce(outcome, '') = 'done' AND "
                      "cause = 'done' AS done FROM attempt WHERE run = ?1 ORDER BY attempt DESC LIMIT 1) AS a "
                      "WHERE id = ?1 RETURNING state = 'done'",
                      err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    store_bind_int(row, 2, time);
    int code = sqlite3_step(row), status = STATUS_OK;
    *state = code == SQLITE_ROW && sqlite3_column_int(row, 0) ? RUN_DONE : RUN_QUEUED;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = store_fail(s, err, "set a run's state");
    sqlite3_reset(row);
    return status;
}

int store_rebuild_run(struct store *s, struct intake *in, const char *run, const struct store_rebuild_files *files,
                      enum run_state *state, struct error *err)
{
    int status = intake_pass(in, &run, 1, 0, NULL, err);
    if (!status)
        status = store_begin(s, false, err);
    if (status)
        return status;
    status = add_attempts(s, run, files, err);
    if (!status)
        status = read_again(s, run, err);
    status = finish(s, status, err);
    if (!status)
        status = intake_pass(in, &run, 1, 0, NULL, err);
    if (!status)
        status = store_begin(s, false, err);
    if (status)
        return status;
    status = end_attempts(s, run, files, err);
    if (!status)
        status = set_state(s, run, files->changed, state, err);
    return finish(s, status, err);
}
