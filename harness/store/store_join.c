/* A sweep is submitted whose runs exist. What says only how a run is computed, shown and scheduled is not in its name,
 * so it may have changed: a run that has not started takes it, unless another sweep wants the run as it is; of any
 * other it is noted. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_submit_internal.h"

/* The run as it is stored, and what becomes of it. */
struct known {
    const char *id;
    enum run_state state, next;
    bool ending;  /* live, and asked to end by a cancel */
    bool packed;  /* it had an attempt in a pack */
    char *other;  /* a sweep that wants it too; NULL: none */
    char *config; /* JSON */
    char *after;  /* JSON */
    char *slurm;  /* JSON, or "" */
    int64_t priority;
    struct spec_limits limits;
};

static void known_fini(struct known *k)
{
    free(k->other);
    free(k->config);
    free(k->after);
    free(k->slurm);
}

static enum run_state state_named(const char *name)
{
    for (int i = 0; i < RUN_STATES; i++)
        if (name && strcmp(name, run_state_name(i)) == 0)
            return i;
    return RUN_QUEUED;
}

static char *text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? memory_string(text) : NULL;
}

static int read_known(struct submission *sub, const char *id, struct known *k, struct error *err)
{
    sqlite3_stmt *row = store_prepare(
        sub->s,
        "SELECT state, cancel <> 0, config, after, priority, slots, pack, retries, timeout_us, "
        "(SELECT min(sweep) FROM sweep_run m WHERE m.run = r.id AND m.wanted AND m.sweep <> ?2), "
        "EXISTS (SELECT 1 FROM attempt a WHERE a.run = r.id AND a.pack > 1), slurm FROM run r WHERE id = ?1",
        err);
    *k = (struct known){.id = id};
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, id);
    store_bind_text(row, 2, sub->spec->name);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(sub->s, err, "read a run");
    if (!status) {
        k->state = k->next = state_named((const char *)sqlite3_column_text(row, 0));
        k->ending = sqlite3_column_int(row, 1);
        k->config = text_at(row, 2);
        k->after = text_at(row, 3);
        k->priority = sqlite3_column_int64(row, 4);
        k->limits = (struct spec_limits){.slots = sqlite3_column_int64(row, 5),
                                         .pack = sqlite3_column_int64(row, 6),
                                         .retries = sqlite3_column_int64(row, 7),
                                         .timeout_us = sqlite3_column_int64(row, 8)};
        k->other = text_at(row, 9);
        k->packed = sqlite3_column_int(row, 10);
        k->slurm = text_at(row, 11);
    }
    sqlite3_reset(row);
    return status;
}

static bool is_live(const struct known *k)
{
    return k->state == RUN_STARTING || k->state == RUN_RUNNING;
}

/* --------------------------------------------------------------------------------------------- after */

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

/* The sweep's own steps where the run is its alone and nothing of them was begun; else both sweeps'. *more: that is
 * more than the run had. On the heap. */
static int new_after(struct submission *sub, const struct known *k, char **text, bool *more, struct error *err)
{
    struct spec_after after = {0};
    int status = store_run_after(sub->s, k->id, &after, err);
    if (status)
        return status;
    struct spec_after merged = after;
    merge_after(&merged, &sub->spec->after);
    *more = memcmp(&merged, &after, sizeof after) != 0;
    if (!k->other && !is_live(k) && k->state != RUN_DONE) {
        *text = memory_string(sub->after);
        return STATUS_OK;
    }
    json_t *object = spec_after_to_json(&merged);
    *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- differences */

static json_t *length_of_time(int64_t us)
{
    char *text = us ? memory_format("%g s", 1e-6 * (double)us) : memory_string("none");
    json_t *value = json_string(text);
    free(text);
    return value;
}

static void differ(json_t *out, const char *name, int64_t has, int64_t wanted)
{
    if (has != wanted)
        json_object_set_new(out, name, json_pack("[I, I]", (json_int_t)has, (json_int_t)wanted));
}

/* Of the limits, as far as they still matter: of a done run none do, and a live one takes retries at once. NULL: none.
 */
static json_t *limit_differences(const struct known *k, const struct spec *spec, bool alone)
{
    const struct spec_limits *wanted = &spec->limits;
    const char *slurm = spec->slurm ? spec->slurm : "";
    if (k->next == RUN_DONE)
        return NULL;
    json_t *out = json_object();
    if (strcmp(k->slurm, slurm) != 0)
        json_object_set_new(out, "slurm",
                            json_pack("[s, s]", k->slurm[0] ? k->slurm : "none", slurm[0] ? slurm : "none"));
    differ(out, "slots", k->limits.slots, wanted->slots);
    if (!alone)
        differ(out, "pack", k->limits.pack, wanted->pack);
    if (k->limits.timeout_us != wanted->timeout_us)
        json_object_set_new(
            out, "timeout",
            json_pack("[o, o]", length_of_time(k->limits.timeout_us), length_of_time(wanted->timeout_us)));
    if (k->other || !is_live(k))
        differ(out, "retries", k->limits.retries, wanted->retries);
    if (json_object_size(out) > 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *config_differences(const char *has, const char *wanted)
{
    if (strcmp(has, wanted) == 0)
        return NULL;
    json_t *old = json_loads(has, 0, NULL), *now = json_loads(wanted, 0, NULL);
    json_t *out = submit_differences(old, now);
    json_decref(old);
    json_decref(now);
    return out;
}

/* --------------------------------------------------------------------------------------------- the run */

/* What is stored of a run that the sweep has joined. */
struct joined {
    const char *config, *wants, *slurm;
    char shape[CONFIG_ID];
    struct spec_limits limits;
    char *after;
    bool again; /* queued once more */
};

static int write_joined(struct submission *sub, const struct known *k, const struct joined *j, struct error *err)
{
    sqlite3_stmt *update = store_prepare(
        sub->s,
        "UPDATE run SET priority = ?2, after = ?3, state = iif(?4, 'queued', state), ended = iif(?4, NULL, ended), "
        "failures = iif(?4, 0, failures), cancel = 0, config = ?5, wants = coalesce(?6, wants), slots = ?7, "
        "pack = ?8, retries = ?9, timeout_us = ?10, shape = coalesce(?11, shape), slurm = ?12 WHERE id = ?1 AND (?4 OR "
        "priority <> ?2 OR after <> ?3 OR cancel <> 0 OR config <> ?5 OR slots <> ?7 OR pack <> ?8 OR retries <> ?9 "
        "OR timeout_us <> ?10 OR slurm <> ?12)",
        err);
    if (!update)
        return STATUS_FAILED;
    int64_t wished = sub->spec->limits.priority;
    store_bind_text(update, 1, k->id);
    store_bind_int(update, 2, k->other && k->priority > wished ? k->priority : wished);
    store_bind_text(update, 3, j->after);
    store_bind_int(update, 4, j->again);
    store_bind_text(update, 5, j->config);
    store_bind_text(update, 6, j->wants);
    store_bind_int(update, 7, j->limits.slots);
    store_bind_int(update, 8, j->limits.pack);
    store_bind_int(update, 9, j->limits.retries);
    store_bind_int(update, 10, j->limits.timeout_us);
    store_bind_text(update, 11, j->wants ? j->shape : NULL);
    store_bind_text(update, 12, j->slurm);
    return store_step(sub->s, update, "join a run", err);
}

/* How the next training of a done run is to be computed, should it be asked for ('taper retry --done'); or, without a
 * difference, that nothing else is wished for. */
static int write_wish(struct submission *sub, const char *id, const char *json, const struct config *cfg, bool differs,
                      struct error *err)
{
    char shape[CONFIG_ID] = "";
    sqlite3_stmt *change = store_prepare(
        sub->s,
        differs ? "INSERT INTO redo (run, next_config, next_wants, next_shape) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
                  "(run) DO UPDATE SET next_config = excluded.next_config, next_wants = excluded.next_wants, "
                  "next_shape = excluded.next_shape"
                : "DELETE FROM redo WHERE run = ?1 AND since IS NULL",
        err);
    if (!change)
        return STATUS_FAILED;
    store_bind_text(change, 1, id);
    if (differs) {
        if (sub->spec->limits.pack > 1)
            config_shape(cfg, shape);
        store_bind_text(change, 2, json);
        store_bind_text(change, 3, cfg->device == DEVICE_CUDA ? "cuda" : "cpu");
        store_bind_text(change, 4, shape);
    }
    return store_step(sub->s, change, "note how a run is wanted", err);
}

/* What is different goes into one note where it fares alike. Both are taken; NULL: nothing. */
static void note_differences(struct submission *sub, const struct known *k, json_t *config, bool config_taken,
                             json_t *limits, bool limits_taken)
{
    const char *kept = k->other ? "shared" : is_live(k) ? "running" : "done", *taken = run_state_name(k->next);
    if (config && limits && config_taken == limits_taken) {
        json_object_update(config, limits);
        json_decref(limits);
        limits = NULL;
    }
    if (config)
        submit_note(sub, config_taken ? "changed" : "kept", config_taken ? taken : kept, config_taken ? NULL : k->other,
                    config, k->id);
    if (limits)
        submit_note(sub, limits_taken ? "changed" : "kept", limits_taken ? taken : kept, limits_taken ? NULL : k->other,
                    limits, k->id);
}

/* What the run takes; what it does not is noted. *wish: something of the configuration is not as it was trained with.
 */
static void choose(struct submission *sub, const struct known *k, const struct config *cfg, const char *json,
                   struct joined *j, bool *wish)
{
    const struct spec_limits *wanted = &sub->spec->limits;
    const bool takes_limits = !k->other && !is_live(k), takes_config = takes_limits && k->state != RUN_DONE;
    const bool alone = takes_limits && k->packed && k->limits.pack == 1 && wanted->pack > 1;
    json_t *limits = limit_differences(k, sub->spec, alone), *config = config_differences(k->config, json);
    *wish = config && !k->other && k->state == RUN_DONE;
    j->config = takes_config ? json : k->config;
    j->limits = takes_limits ? *wanted : k->limits;
    j->slurm = !takes_limits ? k->slurm : sub->spec->slurm ? sub->spec->slurm : "";
    if (alone)
        j->limits.pack = 1;
    if (!k->other)
        j->limits.retries = wanted->retries;
    if (takes_config) {
        j->wants = cfg->device == DEVICE_CUDA ? "cuda" : "cpu";
        if (j->limits.pack > 1)
            config_shape(cfg, j->shape);
    }
    if (alone && k->next != RUN_DONE)
        submit_note(sub, "kept", "alone", NULL, json_pack("{s:[i,I]}", "pack", 1, (json_int_t)wanted->pack), k->id);
    note_differences(sub, k, config, takes_config, limits, takes_limits);
}

int submit_join(struct submission *sub, const char *id, const struct config *cfg, const char *json, struct error *err)
{
    struct known k;
    struct joined j = {.after = NULL};
    bool more = false, wish = false;
    int status = read_known(sub, id, &k, err);
    if (!status)
        status = new_after(sub, &k, &j.after, &more, err);
    if (!status) {
        j.again = k.state == RUN_CANCELLED || (k.state == RUN_DONE && more);
        if (j.again)
            k.next = RUN_QUEUED;
        choose(sub, &k, cfg, json, &j, &wish);
        status = write_joined(sub, &k, &j, err);
    }
    if (!status && k.state == RUN_DONE)
        status = write_wish(sub, id, json, cfg, wish, err);
    if (!status) {
        sub->out->known[k.next]++;
        sub->out->requeued += j.again || k.ending;
        if (j.again || k.ending)
            status = store_add_event(sub->s, sub->spec->name, id, 0, "queued", "submitted again", err);
    }
    free(j.after);
    known_fini(&k);
    return status;
}

int submit_note_double(struct submission *sub, const char *id, const char *json, struct error *err)
{
    sqlite3_stmt *row = store_prepare(sub->s, "SELECT config FROM run WHERE id = ?1 AND created = ?2", err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, id);
    store_bind_int(row, 2, sub->now);
    int code = sqlite3_step(row);
    json_t *differences =
        code == SQLITE_ROW ? config_differences((const char *)sqlite3_column_text(row, 0), json) : NULL;
    int status = code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : store_fail(sub->s, err, "read a run");
    sqlite3_reset(row);
    if (differences)
        submit_note(sub, "kept", "twice", NULL, differences, id);
    return status;
}
