/* Changes of state: attempts, cancel, retry, pause. Each is one transaction that checks first and leaves an event. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/version.h"
#include "harness/store/store_internal.h"
#include "harness/store/store_search_internal.h"

/* End a transaction: commit when all went well. */
static int finish(struct store *s, int status, struct error *err)
{
    if (status) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}

/* A statement with a run as ?1. */
static int run_step(struct store *s, const char *sql, const char *run, const char *doing, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, sql, err);
    if (!statement)
        return STATUS_FAILED;
    store_bind_text(statement, 1, run);
    return store_step(s, statement, doing, err);
}

/* The state and the number of attempts of a run, inside a transaction. */
static int read_state(struct store *s, const char *run, enum run_state *state, int *attempts, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT state, attempts FROM run WHERE id = ?1", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int code = sqlite3_step(row), status = STATUS_OK;
    if (code == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        for (int i = 0; i < RUN_STATES; i++)
            if (strcmp(name, run_state_name(i)) == 0)
                *state = i;
        *attempts = sqlite3_column_int(row, 1);
    } else {
        status = code == SQLITE_DONE ? store_refuse(s, err, "no run '%s'", run) : store_fail(s, err, "read a run");
    }
    sqlite3_reset(row);
    return status;
}

/* --------------------------------------------------------------------------------------------- attempts */

static int insert_attempt(struct store *s, const char *run, int attempt, int64_t now, const struct store_start *start,
                          struct error *err)
{
    sqlite3_stmt *insert = store_prepare(
        s,
        "INSERT INTO attempt (run, attempt, started, executor, host, device, slot, version, revision, libraries, "
        "pack) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, run);
    store_bind_int(insert, 2, attempt);
    store_bind_int(insert, 3, now);
    store_bind_text(insert, 4, start->executor);
    store_bind_text(insert, 5, start->host);
    store_bind_text(insert, 6, start->device);
    store_bind_text(insert, 7, start->slot);
    store_bind_text(insert, 8, version_string());
    store_bind_text(insert, 9, version_revision());
    store_bind_text(insert, 10, start->libraries);
    store_bind_int(insert, 11, start->pack > 1 ? start->pack : 1);
    return store_step(s, insert, "record an attempt", err);
}

static int set_starting(struct store *s, const char *run, int64_t now, const struct store_start *start,
                        struct error *err)
{
    sqlite3_stmt *update = store_prepare(
        s,
        "UPDATE run SET state = 'starting', attempts = attempts + 1, started = ?2, ended = NULL, host = ?3, "
        "device = ?4, version = ?5, not_before = 0, cancel = 0 WHERE id = ?1",
        err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, now);
    store_bind_text(update, 3, start->host);
    store_bind_text(update, 4, start->device);
    store_bind_text(update, 5, version_string());
    return store_step(s, update, "start a run", err);
}

int store_attempt_begin(struct store *s, const char *run, const struct store_start *start, int *attempt,
                        struct error *err)
{
    enum run_state state = RUN_QUEUED;
    int attempts = 0, status = store_begin(s, false, err);
    if (status)
        return status;
    status = read_state(s, run, &state, &attempts, err);
    if (!status && state != RUN_QUEUED)
        status = store_refuse(s, err, "run %s: cannot start, it is %s", run, run_state_name(state));
    int64_t now = store_now();
    if (!status)
        status = set_starting(s, run, now, start, err);
    if (!status)
        status = insert_attempt(s, run, attempts + 1, now, start, err);
    if (!status)
        status = store_add_event(s, NULL, run, attempts + 1, "starting", start->slot, err);
    status = finish(s, status, err);
    if (!status)
        *attempt = attempts + 1;
    return status;
}

/* The run is live, and in this attempt. */
static int check_live(struct store *s, const char *run, int attempt, enum run_state *state, struct error *err)
{
    int attempts = 0, status = read_state(s, run, state, &attempts, err);
    if (status)
        return status;
    if (*state != RUN_STARTING && *state != RUN_RUNNING)
        return store_refuse(s, err, "run %s: attempt %d is not live, the run is %s", run, attempt,
                            run_state_name(*state));
    if (attempts != attempt)
        return store_refuse(s, err, "run %s: attempt %d is over, the run is in attempt %d", run, attempt, attempts);
    return STATUS_OK;
}

int store_attempt_running(struct store *s, const char *run, int attempt, const char *handle, int64_t pid,
                          int64_t pid_started, const char *boot_id, struct error *err)
{
    enum run_state state = RUN_QUEUED;
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = check_live(s, run, attempt, &state, err);
    sqlite3_stmt *update = status ? NULL
                                  : store_prepare(s,
                                                  "UPDATE attempt SET handle = ?3, pid = ?4, pid_started = ?5, boot_id "
                                                  "= ?6 WHERE run = ?1 AND attempt = ?2",
                                                  err);
    if (!update)
        return finish(s, STATUS_FAILED, err);
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, attempt);
    store_bind_text(update, 3, handle);
    store_bind_int_or_null(update, 4, pid, 0);
    store_bind_int_or_null(update, 5, pid_started, 0);
    store_bind_text(update, 6, boot_id);
    status = store_step(s, update, "note the worker", err);
    if (!status && state == RUN_STARTING) {
        status = run_step(s, "UPDATE run SET state = 'running' WHERE id = ?1", run, "mark as running", err);
        if (!status)
            status = store_add_event(s, NULL, run, attempt, "running", "", err);
    }
    return finish(s, status, err);
}

static int note_news(struct store *s, const char *run, int attempt, const struct store_news *news, struct error *err)
{
    sqlite3_stmt *update = store_prepare(
        s,
        "UPDATE attempt SET handle = coalesce(?3, handle), host = coalesce(?4, host), note = coalesce(?5, note) "
        "WHERE run = ?1 AND attempt = ?2",
        err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, attempt);
    store_bind_text(update, 3, news->handle);
    store_bind_text(update, 4, news->host);
    store_bind_text(update, 5, news->note);
    int status = store_step(s, update, "note where an attempt stands", err);
    update = status || !news->host ? NULL : store_prepare(s, "UPDATE run SET host = ?2 WHERE id = ?1", err);
    if (!update)
        return status || !news->host ? status : STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_text(update, 2, news->host);
    return store_step(s, update, "note where a run is", err);
}

int store_attempt_news(struct store *s, const char *run, int attempt, const struct store_news *news, struct error *err)
{
    enum run_state state = RUN_QUEUED;
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = check_live(s, run, attempt, &state, err);
    if (!status)
        status = note_news(s, run, attempt, news, err);
    if (!status && news->running && state == RUN_STARTING) {
        status = run_step(s, "UPDATE run SET state = 'running' WHERE id = ?1", run, "mark as running", err);
        if (!status)
            status = store_add_event(s, NULL, run, attempt, "running", news->note ? news->note : "", err);
    }
    return finish(s, status, err);
}

static int end_attempt(struct store *s, const char *run, int attempt, int64_t now, const struct store_exit *x,
                       struct error *err)
{
    sqlite3_stmt *update =
        store_prepare(s,
                      "UPDATE attempt SET ended = ?3, cause = ?4, text = ?5, code = ?6, signal = ?7, cpu_us = ?8, "
                      "peak_bytes = ?9 WHERE run = ?1 AND attempt = ?2",
                      err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, attempt);
    store_bind_int(update, 3, now);
    store_bind_text(update, 4, outcome_name(x->cause));
    store_bind_text(update, 5, x->text);
    store_bind_int_or_null(update, 6, x->code, -1);
    store_bind_int_or_null(update, 7, x->signal, -1);
    store_bind_int_or_null(update, 8, x->cpu_us, -1);
    store_bind_int_or_null(update, 9, x->peak_bytes, -1);
    return store_step(s, update, "end an attempt", err);
}

static int set_ended(struct store *s, const char *run, int64_t now, const struct store_exit *x, enum run_state next,
                     struct error *err)
{
    sqlite3_stmt *update =
        store_prepare(s,
                      "UPDATE run SET state = ?2, ended = ?3, failures = failures + ?4, not_before = ?5, cancel = 0, "
                      "pack = iif(?6, 1, pack), shape = iif(?6, '', shape) WHERE id = ?1",
                      err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_text(update, 2, run_state_name(next));
    store_bind_int_or_null(update, 3, next == RUN_QUEUED ? 0 : now, 0);
    store_bind_int(update, 4, x->counts);
    store_bind_int(update, 5, next == RUN_QUEUED ? x->not_before : 0);
    store_bind_int(update, 6, x->alone);
    return store_step(s, update, "end a run", err);
}

/* A run that was asked to end is not queued again, whatever ended it. */
static int heed_cancel(struct store *s, const char *run, enum run_state *next, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT cancel FROM run WHERE id = ?1", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int status = STATUS_OK;
    if (sqlite3_step(row) != SQLITE_ROW)
        status = store_fail(s, err, "read a run");
    else if (sqlite3_column_int64(row, 0) != 0)
        *next = RUN_CANCELLED;
    sqlite3_reset(row);
    return status;
}

int store_attempt_end(struct store *s, const char *run, int attempt, const struct store_exit *exit, enum run_state next,
                      struct error *err)
{
    if (next == RUN_STARTING || next == RUN_RUNNING || (int)next < 0 || next >= RUN_STATES)
        return store_refuse(s, err, "run %s: an attempt cannot end as %s", run, run_state_name(next));
    enum run_state state = RUN_QUEUED;
    int status = store_begin(s, false, err);
    if (status)
        return status;
    int64_t now = store_now();
    status = check_live(s, run, attempt, &state, err);
    if (!status && (next == RUN_QUEUED || next == RUN_PAUSED))
        status = heed_cancel(s, run, &next, err);
    if (!status)
        status = end_attempt(s, run, attempt, now, exit, err);
    if (!status)
        status = set_ended(s, run, now, exit, next, err);
    if (!status && next == RUN_DONE)
        status = store_redo_done(s, run, err);
    if (!status) {
        char *text =
            memory_format("%s%s%s", outcome_name(exit->cause), exit->text ? ": " : "", exit->text ? exit->text : "");
        status = store_add_event(s, NULL, run, attempt, run_state_name(next), text, err);
        free(text);
    }
    return finish(s, status, err);
}

/* --------------------------------------------------------------------------------------------- requests */

int store_sweep_pause(struct store *s, const char *name, bool paused, struct error *err)
{
    int status = store_sweep_find(s, name, err);
    if (!status)
        status = store_begin(s, true, err);
    if (status)
        return status;
    sqlite3_stmt *update = store_prepare(s, "UPDATE sweep SET paused = ?2 WHERE name = ?1 AND paused <> ?2", err);
    if (!update)
        return finish(s, STATUS_FAILED, err);
    store_bind_text(update, 1, name);
    store_bind_int(update, 2, paused);
    status = store_step(s, update, "pause a sweep", err);
    if (!status && sqlite3_changes(s->db) > 0)
        status = store_add_event(s, name, NULL, 0, paused ? "paused" : "resumed", "", err);
    return finish(s, status, err);
}

int store_queue_paused(struct store *s, bool *paused, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'paused')", err);
    if (!row)
        return STATUS_FAILED;
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "read the queue");
    *paused = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

int store_queue_pause(struct store *s, bool paused, struct error *err)
{
    int status = store_begin(s, true, err);
    if (status)
        return status;
    sqlite3_stmt *change = store_prepare(
        s, paused ? "INSERT OR IGNORE INTO meta VALUES ('paused', 1)" : "DELETE FROM meta WHERE key = 'paused'", err);
    if (!change)
        return finish(s, STATUS_FAILED, err);
    status = store_step(s, change, "pause the queue", err);
    if (!status && sqlite3_changes(s->db) > 0)
        status = store_add_event(s, NULL, NULL, 0, paused ? "paused" : "resumed", "the queue", err);
    return finish(s, status, err);
}

/* The runs a request is about, in a temporary table: those of a sweep, or one. */
static int choose_runs(struct store *s, const char *sweep, const char *run, struct error *err)
{
    int status = store_exec(s,
                            "CREATE TEMP TABLE IF NOT EXISTS chosen (id TEXT PRIMARY KEY) WITHOUT ROWID;"
                            "DELETE FROM chosen",
                            "choose runs", err);
    if (status)
        return status;
    sqlite3_stmt *insert = store_prepare(s,
                                         "INSERT INTO chosen SELECT DISTINCT run FROM sweep_run WHERE sweep = ?1 "
                                         "UNION SELECT id FROM run WHERE id = ?2",
                                         err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, sweep);
    store_bind_text(insert, 2, run);
    status = store_step(s, insert, "choose runs", err);
    if (!status && run && sqlite3_changes(s->db) == 0)
        return error_set(err, STATUS_BAD_INPUT, "no run '%s'", run);
    return status;
}

/* Run a statement over `chosen`; sweep is ?1, text ?2, now ?3. *changed: its rows. */
static int chosen_step(struct store *s, const char *sql, const char *sweep, const char *text, int64_t now,
                       int64_t *changed, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, sql, err);
    if (!statement)
        return STATUS_FAILED;
    int parameters = sqlite3_bind_parameter_count(statement);
    if (parameters >= 1)
        store_bind_text(statement, 1, sweep);
    if (parameters >= 2)
        store_bind_text(statement, 2, text);
    if (parameters >= 3)
        store_bind_int(statement, 3, now);
    int status = store_step(s, statement, "change runs", err);
    if (!status && changed)
        *changed = sqlite3_changes(s->db);
    return status;
}

static int cancel_chosen(struct store *s, const char *sweep, const char *reason, struct store_changed *out,
                         struct error *err)
{
    int64_t now = store_now(), before = 0, left = 0;
    int status = chosen_step(s,
                             "UPDATE sweep_run SET wanted = 0 WHERE run IN (SELECT id FROM chosen) "
                             "AND (?1 IS NULL OR sweep = ?1)",
                             sweep, NULL, 0, NULL, err);
    if (!status) /* over already: nothing to cancel */
        status = chosen_step(s,
                             "DELETE FROM chosen WHERE id IN (SELECT id FROM run WHERE state IN "
                             "('done', 'failed', 'cancelled'))",
                             NULL, NULL, 0, &before, err);
    if (!status) /* another sweep wants it */
        status = chosen_step(s, "DELETE FROM chosen WHERE id IN (SELECT run FROM sweep_run WHERE wanted)", NULL, NULL,
                             0, &out->kept, err);
    if (!status)
        status =
            chosen_step(s,
                        "INSERT INTO event (time, sweep, run, attempt, kind, text) SELECT ?3, ?1, r.id, "
                        "nullif(r.attempts, 0), iif(r.state IN ('queued', 'paused'), 'cancelled', 'cancel'), ?2 FROM "
                        "chosen c JOIN run r ON r.id = c.id WHERE r.state IN ('queued', 'paused') OR r.cancel = 0 "
                        "ORDER BY r.position",
                        sweep, reason ? reason : "", now, NULL, err);
    if (!status)
        status = chosen_step(s,
                             "UPDATE run SET cancel = ?3 WHERE state IN ('starting', 'running') AND cancel = 0 "
                             "AND id IN (SELECT id FROM chosen)",
                             NULL, NULL, now, &left, err);
    if (!status)
        status = chosen_step(s,
                             "UPDATE run SET state = 'cancelled', ended = ?3, not_before = 0 WHERE state IN ('queued', "
                             "'paused') AND id IN (SELECT id FROM chosen)",
                             NULL, NULL, now, &out->queued, err);
    out->live = left;
    return status ? status : store_redo_take_back(s, err);
}

int store_cancel_sweep(struct store *s, const char *sweep, const char *reason, struct error *err)
{
    struct store_changed changed = {0};
    int status = choose_runs(s, sweep, NULL, err);
    return status ? status : cancel_chosen(s, sweep, reason, &changed, err);
}

int store_cancel(struct store *s, const char *sweep, const char *run, const char *reason, struct store_changed *out,
                 struct error *err)
{
    *out = (struct store_changed){0};
    int status = sweep ? store_sweep_find(s, sweep, err) : STATUS_OK;
    if (!status)
        status = store_begin(s, true, err);
    if (status)
        return status;
    status = choose_runs(s, sweep, run, err);
    if (!status)
        status = cancel_chosen(s, sweep, reason, out, err);
    if (!status && run) /* of those it was compared with, one may have its place */
        status = store_search_wanted(s, NULL, run, false, err);
    if (!status && sweep)
        status = store_add_event(s, sweep, NULL, 0, "cancel", reason, err);
    return finish(s, status, err);
}

int store_retry(struct store *s, const char *sweep, const char *run, bool done, struct store_changed *out,
                struct error *err)
{
    *out = (struct store_changed){0};
    int status = sweep ? store_sweep_find(s, sweep, err) : STATUS_OK;
    if (!status)
        status = store_begin(s, true, err);
    if (status)
        return status;
    int64_t now = store_now();
    status = choose_runs(s, sweep, run, err);
    if (!status)
        status = chosen_step(s,
                             done ? "DELETE FROM chosen WHERE id NOT IN (SELECT id FROM run WHERE state = 'done')"
                                  : "DELETE FROM chosen WHERE id NOT IN (SELECT id FROM run WHERE state IN "
                                    "('failed', 'cancelled') OR cancel <> 0)",
                             NULL, NULL, 0, NULL, err);
    if (!status)
        status = chosen_step(s,
                             "UPDATE sweep_run SET wanted = 1 WHERE run IN (SELECT id FROM chosen) "
                             "AND (?1 IS NULL OR sweep = ?1)",
                             sweep, NULL, 0, NULL, err);
    if (!status)
        status = chosen_step(s,
                             "INSERT INTO event (time, sweep, run, kind, text) SELECT ?3, ?1, c.id, 'queued', ?2 "
                             "FROM chosen c",
                             sweep, done ? "to be done again" : "retry", now, NULL, err);
    if (!status && done)
        status = store_redo_ask(s, err);
    if (!status)
        status = chosen_step(s,
                             "UPDATE run SET state = iif(cancel, state, 'queued'), ended = NULL, failures = 0, "
                             "not_before = 0, cancel = 0 WHERE id IN (SELECT id FROM chosen)",
                             NULL, NULL, 0, &out->queued, err);
    if (!status)
        status = store_search_wanted(s, sweep, run, false, err);
    return finish(s, status, err);
}
