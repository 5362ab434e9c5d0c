/* Submitting a sweep: its runs get names from what they compute, new ones are queued, known ones joined. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

struct submission {
    struct store *s;
    const struct spec *spec;
    struct store_identities *ids;
    struct spec_points *points;
    int64_t now, position; /* the next queue position */
    char *after;           /* JSON */
    struct store_submitted *out;
};

static int upsert_sweep(struct submission *sub, struct error *err)
{
    const struct spec *spec = sub->spec;
    sqlite3_stmt *insert =
        store_prepare(sub->s,
                      "INSERT INTO sweep (name, about, spec, path, created, updated, fail_fast) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) ON CONFLICT (name) DO UPDATE SET about = excluded.about, "
                      "spec = excluded.spec, path = excluded.path, updated = excluded.updated, "
                      "fail_fast = excluded.fail_fast",
                      err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, spec->name);
    store_bind_text(insert, 2, spec->about ? spec->about : "");
    store_bind_text(insert, 3, spec->text);
    store_bind_text(insert, 4, spec->path);
    store_bind_int(insert, 5, sub->now);
    store_bind_int(insert, 6, spec->limits.fail_fast);
    return store_step(sub->s, insert, "record the sweep", err);
}

/* What the sweep held before goes aside, to be compared with what it holds now. */
static int set_aside(struct submission *sub, struct error *err)
{
    int status = store_exec(sub->s,
                            "CREATE TEMP TABLE IF NOT EXISTS held (id TEXT PRIMARY KEY) WITHOUT ROWID;"
                            "DELETE FROM held",
                            "submit", err);
    static const char *const sql[] = {"INSERT INTO held SELECT DISTINCT run FROM sweep_run WHERE sweep = ?1",
                                      "DELETE FROM sweep_run WHERE sweep = ?1"};
    for (size_t i = 0; !status && i < sizeof sql / sizeof sql[0]; i++) {
        sqlite3_stmt *statement = store_prepare(sub->s, sql[i], err);
        if (!statement)
            return STATUS_FAILED;
        store_bind_text(statement, 1, sub->spec->name);
        status = store_step(sub->s, statement, "submit", err);
    }
    sqlite3_stmt *row = status ? NULL : store_prepare(sub->s, "SELECT coalesce(max(position), 0) + 1 FROM run", err);
    if (!row)
        return STATUS_FAILED;
    if (sqlite3_step(row) == SQLITE_ROW)
        sub->position = sqlite3_column_int64(row, 0);
    else
        status = store_fail(sub->s, err, "submit");
    sqlite3_reset(row);
    return status;
}

/* --------------------------------------------------------------------------------------------- a run */

static int insert_run(struct submission *sub, const char *id, const char *variant, const struct config *cfg,
                      const char *json, struct error *err)
{
    const struct spec_limits *limits = &sub->spec->limits;
    char shape[CONFIG_ID] = "";
    sqlite3_stmt *insert =
        store_prepare(sub->s,
                      "INSERT INTO run (id, sweep, variant, seed, state, created, wants, priority, position, slots, "
                      "retries, timeout_us, steps, after, config, pack, shape) "
                      "VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                      err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, id);
    store_bind_text(insert, 2, sub->spec->name);
    store_bind_text(insert, 3, variant);
    store_bind_int(insert, 4, cfg->seed);
    store_bind_int(insert, 5, sub->now);
    store_bind_text(insert, 6, cfg->device == DEVICE_CUDA ? "cuda" : "cpu");
    store_bind_int(insert, 7, limits->priority);
    store_bind_int(insert, 8, sub->position++);
    store_bind_int(insert, 9, limits->slots);
    store_bind_int(insert, 10, limits->retries);
    store_bind_int(insert, 11, limits->timeout_us);
    store_bind_int(insert, 12, cfg->steps);
    store_bind_text(insert, 13, sub->after);
    store_bind_text(insert, 14, json);
    if (limits->pack > 1)
        config_shape(cfg, shape);
    store_bind_int(insert, 15, limits->pack);
    store_bind_text(insert, 16, shape);
    return store_step(sub->s, insert, "queue a run", err);
}

static void merge_list(int64_t *to, int *count, const int64_t *from, int more)
{
    for (int i = 0; i < more; i++) {
        bool there = false;
        for (int j = 0; j < *count; j++)
            there |= to[j] == from[i];
        if (!there && *count < SPEC_BENCH_MOST)
            to[(*count)++] = from[i];
    }
}

/* What both ask for. */
static void merge_after(struct spec_after *to, const struct spec_after *from)
{
    to->fold |= from->fold;
    for (int k = 0; k < BENCH_KINDS; k++) {
        merge_list(to->bench[k].batch, &to->bench[k].batches, from->bench[k].batch, from->bench[k].batches);
        merge_list(to->bench[k].context, &to->bench[k].contexts, from->bench[k].context, from->bench[k].contexts);
    }
}

/* Live, and asked to end by a cancel. */
static int is_ending(struct store *s, const char *id, bool *ending, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT cancel <> 0 FROM run WHERE id = ?1", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, id);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "read a run");
    *ending = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

/* A known run: it takes the higher priority and both sweeps' after steps. Cancelled, or done with more to do after,
 * it is queued again; the worker finds the finished training and goes straight on to what is new. One that is just
 * ending since it was cancelled is wanted again: the later wish wins, and its end queues it. */
static int join_run(struct submission *sub, const char *id, enum run_state state, struct error *err)
{
    struct spec_after after = {0};
    int status = store_run_after(sub->s, id, &after, err);
    if (status)
        return status;
    struct spec_after merged = after;
    merge_after(&merged, &sub->spec->after);
    bool more = memcmp(&merged, &after, sizeof after) != 0;
    bool again = state == RUN_CANCELLED || (state == RUN_DONE && more), ending = false;
    status = is_ending(sub->s, id, &ending, err);
    if (status)
        return status;
    json_t *object = spec_after_to_json(&merged);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    sqlite3_stmt *update =
        store_prepare(sub->s,
                      "UPDATE run SET priority = max(priority, ?2), after = ?3, state = iif(?4, 'queued', state), "
                      "ended = iif(?4, NULL, ended), failures = iif(?4, 0, failures), cancel = 0 WHERE id = ?1 "
                      "AND (?4 OR priority < ?2 OR after <> ?3 OR cancel <> 0)",
                      err);
    if (update) {
        store_bind_text(update, 1, id);
        store_bind_int(update, 2, sub->spec->limits.priority);
        store_bind_text(update, 3, text);
        store_bind_int(update, 4, again);
        status = store_step(sub->s, update, "join a run", err);
    }
    free(text);
    if (!update || status)
        return update ? status : STATUS_FAILED;
    sub->out->known[again ? RUN_QUEUED : state]++;
    sub->out->requeued += again || ending;
    return again || ending ? store_add_event(sub->s, sub->spec->name, id, 0, "queued", "submitted again", err)
                           : STATUS_OK;
}

/* Is there a run of this name, and in which state? */
static int look_up(struct submission *sub, const char *id, bool *known, enum run_state *state, struct error *err)
{
    sqlite3_stmt *row = store_prepare(sub->s, "SELECT state FROM run WHERE id = ?1", err);
    if (!row)
        return STATUS_FAILED;
    sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC);
    int code = sqlite3_step(row), status = STATUS_OK;
    *known = code == SQLITE_ROW;
    if (*known) {
        for (int i = 0; i < RUN_STATES; i++)
            if (strcmp((const char *)sqlite3_column_text(row, 0), run_state_name(i)) == 0)
                *state = i;
    } else if (code != SQLITE_DONE) {
        status = store_fail(sub->s, err, "look up a run");
    }
    sqlite3_reset(row);
    return status;
}

/* What the sweep holds of a run before the place at hand is added. */
enum membership {
    MEMBER_NOT,     /* nothing */
    MEMBER_RENAMED, /* the run, under other names */
    MEMBER_DOUBLE,  /* the run under this name, at other points or at this one */
};

static int look_up_member(struct submission *sub, const char *id, const char *variant, enum membership *held,
                          struct error *err)
{
    sqlite3_stmt *row =
        store_prepare(sub->s, "SELECT max(variant = ?3) FROM sweep_run WHERE sweep = ?1 AND run = ?2", err);
    if (!row)
        return STATUS_FAILED;
    sqlite3_bind_text(row, 1, sub->spec->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 3, variant, -1, SQLITE_STATIC);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(sub->s, err, "add to the sweep");
    bool any = !status && sqlite3_column_type(row, 0) != SQLITE_NULL;
    *held = !any ? MEMBER_NOT : sqlite3_column_int(row, 0) ? MEMBER_DOUBLE : MEMBER_RENAMED;
    sqlite3_reset(row);
    return status;
}

static int add_member(struct submission *sub, const char *id, const char *variant, int64_t i, struct error *err)
{
    sqlite3_stmt *insert = store_prepare(sub->s,
                                         "INSERT OR IGNORE INTO sweep_run (sweep, run, variant, point, position) "
                                         "VALUES (?1, ?2, ?3, ?4, ?5)",
                                         err);
    if (!insert)
        return STATUS_FAILED;
    char *point = spec_point(sub->points, i);
    sqlite3_bind_text(insert, 1, sub->spec->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, variant, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, point, -1, SQLITE_STATIC);
    store_bind_int(insert, 5, i);
    int status = store_step(sub->s, insert, "add to the sweep", err);
    free(point);
    return status;
}

static int submit_run(struct submission *sub, int64_t i, struct error *err)
{
    struct config cfg;
    char id[CONFIG_ID];
    const char *variant = sub->spec->variants[spec_run(sub->spec, i, &cfg)].name;
    const char *json;
    int status = store_identify(sub->ids, &cfg, id, &json, err);
    if (status) {
        error_wrap(err, "run %lld of the sweep", (long long)i);
        return status;
    }
    bool known = false;
    enum membership held = MEMBER_NOT;
    enum run_state state = RUN_QUEUED;
    status = look_up(sub, id, &known, &state, err);
    if (!status && !known)
        status = insert_run(sub, id, variant, &cfg, json, err);
    if (!status)
        status = look_up_member(sub, id, variant, &held, err);
    if (!status)
        status = add_member(sub, id, variant, i, err);
    if (status)
        return status;
    if (held == MEMBER_DOUBLE) {
        sub->out->doubles++;
        return STATUS_OK;
    }
    sub->out->runs++;
    sub->out->fresh += !known;
    return known && held == MEMBER_NOT ? join_run(sub, id, state, err) : STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- the sweep */

static int drop_step(struct submission *sub, const char *sql, int64_t *changed, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(sub->s, sql, err);
    if (!statement)
        return STATUS_FAILED;
    if (sqlite3_bind_parameter_count(statement) >= 1)
        store_bind_text(statement, 1, sub->spec->name);
    if (sqlite3_bind_parameter_count(statement) >= 2)
        store_bind_int(statement, 2, sub->now);
    int status = store_step(sub->s, statement, "drop runs", err);
    if (changed)
        *changed = sqlite3_changes(sub->s->db);
    return status;
}

/* Runs the sweep held and holds no more; live ones go on, since their work may be wanted yet. */
static int drop_runs(struct submission *sub, struct error *err)
{
    int64_t kept;
    int status =
        drop_step(sub, "DELETE FROM held WHERE id IN (SELECT run FROM sweep_run WHERE sweep = ?1)", &kept, err);
    sqlite3_stmt *row = status ? NULL : store_prepare(sub->s, "SELECT count(*) FROM held", err);
    if (!row)
        return STATUS_FAILED;
    if (sqlite3_step(row) == SQLITE_ROW)
        sub->out->dropped = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    if (sub->out->dropped == 0)
        return STATUS_OK;
    status = drop_step(sub,
                       "DELETE FROM held WHERE id IN (SELECT run FROM sweep_run WHERE wanted) OR id IN "
                       "(SELECT id FROM run WHERE state <> 'queued')",
                       NULL, err);
    if (!status)
        status = drop_step(sub,
                           "INSERT INTO event (time, sweep, run, kind, text) SELECT ?2, ?1, id, 'cancelled', "
                           "'no longer in its sweep' FROM held",
                           NULL, err);
    if (!status)
        status = drop_step(sub,
                           "UPDATE run SET state = 'cancelled', ended = ?2, not_before = 0 WHERE id IN "
                           "(SELECT id FROM held)",
                           &sub->out->dropped_queued, err);
    return status;
}

static int submit_all(struct submission *sub, struct error *err)
{
    int status = upsert_sweep(sub, err);
    if (!status)
        status = set_aside(sub, err);
    for (int64_t i = 0; !status && i < sub->spec->run_count; i++)
        status = submit_run(sub, i, err);
    if (!status)
        status = drop_runs(sub, err);
    if (status)
        return status;
    char text[96];
    snprintf(text, sizeof text, "%lld runs, %lld new", (long long)sub->out->runs, (long long)sub->out->fresh);
    return store_add_event(sub->s, sub->spec->name, NULL, 0, "submitted", text, err);
}

int store_submit(struct store *s, const struct spec *spec, store_digests *digests, struct store_submitted *out,
                 struct error *err)
{
    struct store_identities *ids = store_identities_create(digests);
    int status = store_submit_named(s, spec, ids, out, err);
    store_identities_destroy(ids);
    return status;
}

int store_submit_named(struct store *s, const struct spec *spec, struct store_identities *ids,
                       struct store_submitted *out, struct error *err)
{
    *out = (struct store_submitted){0};
    struct submission sub = {.s = s, .spec = spec, .now = store_now(), .out = out, .ids = ids};
    int status = store_begin(s, true, err);
    if (status)
        return status;
    sub.points = spec_points_create(spec);
    json_t *object = spec_after_to_json(&spec->after);
    sub.after = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    status = submit_all(&sub, err);
    free(sub.after);
    spec_points_destroy(sub.points);
    if (status) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}
