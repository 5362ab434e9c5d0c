/* Submitting a sweep: its runs get names from what they compute, new ones are queued, known ones joined. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_search_internal.h"
#include "harness/store/store_submit_internal.h"

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
                      "retries, timeout_us, steps, after, config, pack, shape, slurm, corpus, tokenizer) "
                      "VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
                      "?18, ?19)",
                      err);
    const char *corpus, *tokenizer;
    if (!insert || store_identity_digests(sub->ids, cfg, &corpus, &tokenizer, err))
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
    store_bind_text(insert, 17, sub->spec->slurm ? sub->spec->slurm : "");
    store_bind_text(insert, 18, corpus);
    store_bind_text(insert, 19, tokenizer);
    return store_step(sub->s, insert, "queue a run", err);
}

/* Is there a run of this name? */
static int look_up(struct submission *sub, const char *id, bool *known, struct error *err)
{
    sqlite3_stmt *row = store_prepare(sub->s, "SELECT 1 FROM run WHERE id = ?1", err);
    if (!row)
        return STATUS_FAILED;
    sqlite3_bind_text(row, 1, id, -1, SQLITE_STATIC);
    int code = sqlite3_step(row), status = STATUS_OK;
    *known = code == SQLITE_ROW;
    if (!*known && code != SQLITE_DONE)
        status = store_fail(sub->s, err, "look up a run");
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
                                         "INSERT OR IGNORE INTO sweep_run (sweep, run, variant, point, position, "
                                         "bracket) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                         err);
    if (!insert)
        return STATUS_FAILED;
    char *point = spec_point(sub->points, i), *bracket = spec_bracket(sub->points, i);
    sqlite3_bind_text(insert, 1, sub->spec->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, variant, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, point, -1, SQLITE_STATIC);
    store_bind_int(insert, 5, i);
    sqlite3_bind_text(insert, 6, sub->spec->stop.policy == SPEC_STOP_NONE ? "" : bracket, -1, SQLITE_STATIC);
    int status = store_step(sub->s, insert, "add to the sweep", err);
    free(point);
    free(bracket);
    return status;
}

/* The name of run i and its configuration, where it begins with another's result those of that one first: *needed is
 * then its name, else "". */
static int identify(struct submission *sub, int64_t i, struct config *cfg, char id[CONFIG_ID], char needed[CONFIG_ID],
                    const char **json, struct error *err)
{
    const int64_t before = spec_run_needed(sub->spec, i);
    int status = STATUS_OK;
    needed[0] = '\0';
    if (before >= 0) {
        char further[CONFIG_ID];
        status = identify(sub, before, cfg, needed, further, json, err);
    }
    spec_run(sub->spec, i, cfg);
    if (!status && before >= 0)
        spec_begin_with(cfg, needed);
    return status ? status : store_identify(sub->ids, cfg, id, json, err);
}

static int submit_run(struct submission *sub, int64_t i, struct error *err)
{
    struct config cfg;
    char id[CONFIG_ID], needed[CONFIG_ID];
    const char *variant = sub->spec->variants[spec_run(sub->spec, i, &cfg)].name;
    const char *json;
    int status = identify(sub, i, &cfg, id, needed, &json, err);
    if (status) {
        error_wrap(err, "run %lld of the sweep", (long long)i);
        return status;
    }
    bool known = false;
    enum membership held = MEMBER_NOT;
    status = look_up(sub, id, &known, err);
    if (!status && !known) {
        status = insert_run(sub, id, variant, &cfg, json, err);
        submit_note(sub, "new", NULL, NULL, NULL, id);
    }
    if (!status)
        status = look_up_member(sub, id, variant, &held, err);
    if (!status)
        status = add_member(sub, id, variant, i, err);
    if (!status && held != MEMBER_NOT && sub->computed)
        status = submit_note_double(sub, id, json, err);
    if (status)
        return status;
    if (held == MEMBER_DOUBLE) {
        sub->out->doubles++;
        return STATUS_OK;
    }
    sub->out->runs++;
    sub->out->fresh += !known;
    return known && held == MEMBER_NOT ? submit_join(sub, id, &cfg, json, err) : STATUS_OK;
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

static int note_dropped(struct submission *sub, struct error *err)
{
    sqlite3_stmt *row = store_prepare(
        sub->s,
        "SELECT h.id, iif(r.state IN ('queued', 'paused'), iif(EXISTS (SELECT 1 FROM sweep_run m WHERE m.run = h.id "
        "AND m.wanted), 'shared', 'cancelled'), r.state) FROM held h JOIN run r ON r.id = h.id "
        "ORDER BY r.position",
        err);
    if (!row)
        return STATUS_FAILED;
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        submit_note(sub, "dropped", (const char *)sqlite3_column_text(row, 1), NULL, NULL,
                    (const char *)sqlite3_column_text(row, 0));
    int status = code == SQLITE_DONE ? STATUS_OK : store_fail(sub->s, err, "read the dropped runs");
    sqlite3_reset(row);
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
    status = note_dropped(sub, err);
    if (status)
        return status;
    status = drop_step(sub,
                       "DELETE FROM held WHERE id IN (SELECT run FROM sweep_run WHERE wanted) OR id IN "
                       "(SELECT id FROM run WHERE state NOT IN ('queued', 'paused'))",
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
    return status ? status : store_redo_take_back(sub->s, err);
}

/* When all runs are there: who waits for whom. */
static int link_run(struct submission *sub, int64_t i, struct error *err)
{
    struct config cfg;
    char id[CONFIG_ID], needed[CONFIG_ID];
    const char *json;
    if (spec_run_needed(sub->spec, i) < 0)
        return STATUS_OK;
    int status = identify(sub, i, &cfg, id, needed, &json, err);
    sqlite3_stmt *update = status ? NULL : store_prepare(sub->s, "UPDATE run SET needs = ?2 WHERE id = ?1", err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, id);
    store_bind_text(update, 2, needed);
    return store_step(sub->s, update, "make a run wait for another", err);
}

static int submit_all(struct submission *sub, struct error *err)
{
    char *stop = spec_stop_json(&sub->spec->stop);
    int status = upsert_sweep(sub, err);
    if (!status)
        status = store_search_policy(sub->s, sub->spec->name, stop, err);
    free(stop);
    if (!status)
        status = set_aside(sub, err);
    for (int64_t i = 0; !status && i < sub->spec->run_count; i++)
        status = submit_run(sub, i, err);
    for (int64_t i = 0; !status && i < sub->spec->run_count; i++)
        status = link_run(sub, i, err);
    if (!status)
        status = drop_runs(sub, err);
    if (!status)
        status = store_search_wanted(sub->s, sub->spec->name, NULL, true, err);
    if (status)
        return status;
    char text[96];
    snprintf(text, sizeof text, "%lld runs, %lld new", (long long)sub->out->runs, (long long)sub->out->fresh);
    return store_add_event(sub->s, sub->spec->name, NULL, 0, "submitted", text, err);
}

static bool is_computed(const struct config_key *key)
{
    return !(key->effect & CONFIG_RESULT);
}

/* Whether runs of one name may differ within the spec in what is not in the name. */
static bool varies_computation(const struct spec *spec)
{
    bool found = false;
    for (int a = 0; a < spec->axis_count; a++)
        found |= is_computed(spec->axes[a].key);
    for (int v = 0; v < spec->variant_count; v++)
        for (int i = 0; i < spec->variants[v].count; i++)
            found |= is_computed(spec->variants[v].pairs[i].key);
    return found;
}

int store_submit(struct store *s, const struct spec *spec, store_digests *digests, bool dry, json_t *notes,
                 struct store_submitted *out, struct error *err)
{
    struct store_identities *ids = store_identities_create(digests);
    int status = store_submit_named(s, spec, ids, dry, notes, out, err);
    store_identities_destroy(ids);
    return status;
}

int store_submit_named(struct store *s, const struct spec *spec, struct store_identities *ids, bool dry, json_t *notes,
                       struct store_submitted *out, struct error *err)
{
    *out = (struct store_submitted){0};
    struct submission sub = {.s = s,
                             .spec = spec,
                             .now = store_now(),
                             .computed = varies_computation(spec),
                             .ids = ids,
                             .out = out,
                             .notes = notes};
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
    if (status || dry) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}
