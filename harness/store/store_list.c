/* What is in the store: runs by state and sweep, configurations, attempts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

static const char *const state_names[RUN_STATES] = {"queued", "starting",  "running", "done",
                                                    "failed", "cancelled", "paused"};

const char *run_state_name(enum run_state state)
{
    return (int)state >= 0 && state < RUN_STATES ? state_names[state] : "?";
}

static void copy_text(char *to, size_t room, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    snprintf(to, room, "%s", text ? text : "");
}

void store_read_run(sqlite3_stmt *row, struct store_run *run)
{
    char state[16], wants[8];
    *run = (struct store_run){0};
    copy_text(run->id, sizeof run->id, row, 0);
    copy_text(run->sweep, sizeof run->sweep, row, 1);
    copy_text(run->variant, sizeof run->variant, row, 2);
    run->seed = sqlite3_column_int64(row, 3);
    copy_text(state, sizeof state, row, 4);
    for (int i = 0; i < RUN_STATES; i++)
        if (strcmp(state, state_names[i]) == 0)
            run->state = i;
    copy_text(wants, sizeof wants, row, 5);
    run->device = strcmp(wants, "cuda") == 0 ? DEVICE_CUDA : DEVICE_CPU;
    run->priority = sqlite3_column_int64(row, 6);
    run->position = sqlite3_column_int64(row, 7);
    run->slots = sqlite3_column_int64(row, 8);
    run->retries = sqlite3_column_int64(row, 9);
    run->timeout_us = sqlite3_column_int64(row, 10);
    run->attempts = sqlite3_column_int(row, 11);
    run->failures = sqlite3_column_int(row, 12);
    run->created = sqlite3_column_int64(row, 13);
    run->started = sqlite3_column_int64(row, 14);
    run->ended = sqlite3_column_int64(row, 15);
    run->not_before = sqlite3_column_int64(row, 16);
    run->cancel = sqlite3_column_int64(row, 17);
    run->steps = sqlite3_column_int64(row, 18);
    run->step = sqlite3_column_int64(row, 19);
    run->fail_fast = sqlite3_column_int(row, 20) != 0;
    run->pack = sqlite3_column_int64(row, 21);
    copy_text(run->shape, sizeof run->shape, row, 22);
}

int store_runs_each(struct store *s, const struct store_filter *filter, store_run_each *each, void *arg,
                    struct error *err)
{
    static const char of_any[] =
        "SELECT " STORE_RUN_COLUMNS "FROM run r WHERE (?1 = 0 OR ?1 >> CASE r.state "
        "WHEN 'queued' THEN 0 WHEN 'starting' THEN 1 WHEN 'running' THEN 2 WHEN 'done' THEN 3 WHEN 'failed' THEN 4 "
        "WHEN 'cancelled' THEN 5 ELSE 6 END & 1) ORDER BY r.priority DESC, r.position LIMIT ?2";
    static const char of_sweep[] =
        "SELECT " STORE_RUN_COLUMNS "FROM run r WHERE r.id IN "
        "(SELECT run FROM sweep_run WHERE sweep = ?3) AND (?1 = 0 OR ?1 >> CASE r.state "
        "WHEN 'queued' THEN 0 WHEN 'starting' THEN 1 WHEN 'running' THEN 2 WHEN 'done' THEN 3 WHEN 'failed' THEN 4 "
        "ELSE 5 END & 1) ORDER BY r.priority DESC, r.position LIMIT ?2";
    /* What a scheduler asks again and again: the few live runs, by the index on the state. */
    static const char live[] =
        "SELECT " STORE_RUN_COLUMNS "FROM run r WHERE r.state IN ('starting', 'running') "
        "AND (?1 >> (r.state = 'running') + 1 & 1) ORDER BY r.priority DESC, r.position LIMIT ?2";
    unsigned live_bits = 1u << RUN_STARTING | 1u << RUN_RUNNING;
    const char *sql = of_any;
    if (filter->sweep)
        sql = of_sweep;
    else if (filter->states && !(filter->states & ~live_bits))
        sql = live;
    /* Its own statement: the callback may walk too. */
    sqlite3_stmt *rows = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &rows, NULL) != SQLITE_OK)
        return store_fail(s, err, "list runs");
    store_bind_int(rows, 1, filter->states);
    store_bind_int(rows, 2, filter->limit ? filter->limit : -1);
    if (filter->sweep)
        store_bind_text(rows, 3, filter->sweep);
    int status = STATUS_OK, code;
    while (!status && (code = sqlite3_step(rows)) != SQLITE_DONE) {
        struct store_run run;
        if (code != SQLITE_ROW) {
            status = store_fail(s, err, "list runs");
            break;
        }
        store_read_run(rows, &run);
        status = each(arg, &run);
    }
    sqlite3_finalize(rows);
    return status;
}

/* Runs of that name: several where a key of the grid besides the seed tells them apart. */
static int find_named(struct store *s, const char *sweep, const char *variant, int64_t seed, const char *name,
                      struct store_run *run, struct error *err)
{
    sqlite3_stmt *rows = store_prepare(s,
                                       "SELECT " STORE_RUN_COLUMNS ", m.point FROM sweep_run m JOIN run r ON r.id = "
                                       "m.run WHERE m.sweep = ?1 AND m.variant = ?2 AND r.seed = ?3 GROUP BY r.id "
                                       "ORDER BY m.position",
                                       err);
    if (!rows)
        return STATUS_FAILED;
    store_bind_text(rows, 1, sweep);
    store_bind_text(rows, 2, variant);
    store_bind_int(rows, 3, seed);
    char points[1024] = "";
    int found = 0, code;
    for (; (code = sqlite3_step(rows)) == SQLITE_ROW; found++) {
        size_t used = strlen(points);
        if (found == 0)
            store_read_run(rows, run);
        snprintf(points + used, sizeof points - used, "\n  %s %s", (const char *)sqlite3_column_text(rows, 0),
                 (const char *)sqlite3_column_text(rows, sqlite3_column_count(rows) - 1));
    }
    int status = code == SQLITE_DONE ? STATUS_OK : store_fail(s, err, "find a run");
    sqlite3_reset(rows);
    if (!status && found == 0)
        status = error_set(err, STATUS_BAD_INPUT, "no run '%s': sweep %s has none of variant '%s' and seed %lld", name,
                           sweep, variant, (long long)seed);
    if (!status && found > 1)
        status = error_set(err, STATUS_BAD_INPUT, "%d runs are '%s'; name one by its id:%s", found, name, points);
    return status;
}

/* SWEEP/VARIANT/SEED; a variant may have a slash in its name, a sweep has none. */
static int find_by_name(struct store *s, const char *name, struct store_run *run, struct error *err)
{
    const char *first = strchr(name, '/'), *last = strrchr(name, '/');
    char *sweep = memory_format("%.*s", (int)(first - name), name), *end = NULL;
    long long seed = strtoll(last + 1, &end, 10);
    int status;
    if (first == last || end == last + 1 || *end) {
        status = error_set(err, STATUS_BAD_INPUT, "no run '%s': a name is SWEEP/VARIANT/SEED", name);
    } else if ((status = store_sweep_find(s, sweep, err)) == STATUS_OK) {
        char *variant = memory_format("%.*s", (int)(last - first - 1), first + 1);
        status = find_named(s, sweep, variant, seed, name, run, err);
        free(variant);
    }
    free(sweep);
    return status;
}

int store_run_find(struct store *s, const char *id, struct store_run *run, struct error *err)
{
    if (strchr(id, '/'))
        return find_by_name(s, id, run, err);
    size_t length = strlen(id);
    if (length == 0 || length >= CONFIG_ID || id[strspn(id, "0123456789abcdef")])
        return error_set(err, STATUS_BAD_INPUT,
                         "no run '%s': want the first hex digits of a run's id, or SWEEP/VARIANT/SEED", id);
    sqlite3_stmt *rows = store_prepare(s,
                                       "SELECT " STORE_RUN_COLUMNS "FROM run r WHERE r.id >= ?1 AND r.id < ?1 || 'g' "
                                       "LIMIT 2",
                                       err);
    if (!rows)
        return STATUS_FAILED;
    store_bind_text(rows, 1, id);
    int status = STATUS_OK, code = sqlite3_step(rows);
    if (code == SQLITE_ROW) {
        store_read_run(rows, run);
        code = sqlite3_step(rows);
        if (code == SQLITE_ROW)
            status = error_set(err, STATUS_BAD_INPUT, "more than one run starts with '%s' (%s, %s ...)", id, run->id,
                               (const char *)sqlite3_column_text(rows, 0));
    } else if (code == SQLITE_DONE) {
        status = error_set(err, STATUS_BAD_INPUT, "no run '%s'", id);
    }
    if (!status && code != SQLITE_DONE)
        status = store_fail(s, err, "find a run");
    sqlite3_reset(rows);
    return status;
}

/* A text column of one run, parsed as JSON. */
static int read_json(struct store *s, const char *sql, const char *id, json_t **out, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, id);
    int status = STATUS_OK, code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        json_error_t why;
        *out = json_loads((const char *)sqlite3_column_text(row, 0), 0, &why);
        if (!*out)
            status = store_refuse(s, err, "run %s: stored JSON: %s", id, why.text);
    } else {
        status = code == SQLITE_DONE ? error_set(err, STATUS_BAD_INPUT, "no run '%s'", id) : store_fail(s, err, "read");
    }
    sqlite3_reset(row);
    return status;
}

int store_run_config(struct store *s, const char *id, struct config *cfg, struct error *err)
{
    json_t *object = NULL;
    int status = read_json(s, "SELECT config FROM run WHERE id = ?1", id, &object, err);
    if (!status)
        status = config_from_json(cfg, object, id, err);
    json_decref(object);
    return status;
}

int store_run_after(struct store *s, const char *id, struct spec_after *after, struct error *err)
{
    json_t *object = NULL;
    int status = read_json(s, "SELECT after FROM run WHERE id = ?1", id, &object, err);
    if (!status)
        status = spec_after_from_json(after, object, id, err);
    json_decref(object);
    return status;
}

int store_sweep_find(struct store *s, const char *name, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT 1 FROM sweep WHERE name = ?1", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, name);
    int code = sqlite3_step(row);
    sqlite3_reset(row);
    if (code == SQLITE_ROW)
        return STATUS_OK;
    if (code != SQLITE_DONE)
        return store_fail(s, err, "find a sweep");
    /* The nearest: one that starts the same, else any that was submitted last. */
    row = store_prepare(s,
                        "SELECT name FROM sweep ORDER BY substr(name, 1, 3) = substr(?1, 1, 3) DESC, updated DESC "
                        "LIMIT 1",
                        err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, name);
    int status;
    if (sqlite3_step(row) == SQLITE_ROW)
        status = error_set(err, STATUS_BAD_INPUT, "no sweep '%s' (there is %s)", name,
                           (const char *)sqlite3_column_text(row, 0));
    else
        status = error_set(err, STATUS_BAD_INPUT, "no sweep '%s': nothing was submitted to this home", name);
    sqlite3_reset(row);
    return status;
}

/* --------------------------------------------------------------------------------------------- attempts */

static char *owned_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? memory_string(text) : NULL;
}

int store_attempt_get(struct store *s, const char *run, int attempt, struct store_attempt *out, struct error *err)
{
    *out = (struct store_attempt){0};
    sqlite3_stmt *row = store_prepare(
        s,
        "SELECT attempt, started, ended, executor, host, device, slot, handle, pid, pid_started, boot_id, outcome, "
        "outcome_text, cause, pack FROM attempt WHERE run = ?1 AND attempt = iif(?2 = 0, (SELECT max(attempt) FROM "
        "attempt WHERE run = ?1), ?2)",
        err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    store_bind_int(row, 2, attempt);
    int code = sqlite3_step(row), status = STATUS_OK;
    if (code == SQLITE_ROW) {
        snprintf(out->run, sizeof out->run, "%s", run);
        out->attempt = sqlite3_column_int(row, 0);
        out->started = sqlite3_column_int64(row, 1);
        out->ended = sqlite3_column_int64(row, 2);
        out->executor = owned_text(row, 3);
        out->host = owned_text(row, 4);
        out->device = owned_text(row, 5);
        out->slot = owned_text(row, 6);
        out->handle = owned_text(row, 7);
        out->pid = sqlite3_column_int64(row, 8);
        out->pid_started = sqlite3_column_int64(row, 9);
        out->boot_id = owned_text(row, 10);
        out->outcome = owned_text(row, 11);
        out->outcome_text = owned_text(row, 12);
        out->cause = owned_text(row, 13);
        out->pack = sqlite3_column_int(row, 14);
    } else if (code == SQLITE_DONE) {
        status = error_set(err, STATUS_BAD_INPUT, "run %s: no attempt %d", run, attempt);
    } else {
        status = store_fail(s, err, "read an attempt");
    }
    sqlite3_reset(row);
    return status;
}

void store_attempt_fini(struct store_attempt *a)
{
    free(a->executor);
    free(a->host);
    free(a->device);
    free(a->slot);
    free(a->handle);
    free(a->boot_id);
    free(a->outcome);
    free(a->outcome_text);
    free(a->cause);
    *a = (struct store_attempt){0};
}

/* A statement whose one row is one truth; ?1 is a sweep. */
static int ask_sweep(struct store *s, const char *sql, const char *name, bool *answer, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, name);
    int status = STATUS_OK;
    if (sqlite3_step(row) == SQLITE_ROW)
        *answer = sqlite3_column_int(row, 0) != 0;
    else
        status = store_fail(s, err, "read a sweep");
    sqlite3_reset(row);
    return status;
}

int store_sweep_finished(struct store *s, const char *name, bool *finished, bool *all_done, struct error *err)
{
    /* By the index of states, which has few live runs, and the next of the queue first. Runs that another sweep keeps
     * alive after a cancel are not this one's concern. */
    static const char live[] =
        "SELECT EXISTS (SELECT 1 FROM run r CROSS JOIN sweep_run m ON m.run = r.id AND m.sweep = ?1 "
        "WHERE r.state IN ('starting', 'running') AND (m.wanted OR r.cancel))";
    static const char queued[] =
        "SELECT EXISTS (SELECT 1 FROM run r CROSS JOIN sweep_run m ON m.run = r.id AND m.sweep = ?1 "
        "WHERE r.state = 'queued' AND m.wanted)";
    static const char done[] = "SELECT NOT EXISTS (SELECT 1 FROM sweep_run m JOIN run r ON r.id = m.run "
                               "WHERE m.sweep = ?1 AND r.state NOT IN ('done', 'paused'))";
    bool left = false;
    int status = ask_sweep(s, live, name, &left, err);
    if (!status && !left)
        status = ask_sweep(s, queued, name, &left, err);
    *finished = !status && !left;
    *all_done = false;
    return *finished ? ask_sweep(s, done, name, all_done, err) : status;
}
