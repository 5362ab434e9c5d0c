#include "harness/queue/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/store/store_rows.h"

json_t *waiting_pools(struct executor *ex)
{
    json_t *pools = json_pack("{s:s}", "executor", ex->name);
    static const char *const names[] = {"cpu", "cuda"};
    static const int devices[] = {DEVICE_CPU, DEVICE_CUDA};
    for (int i = 0; i < 2; i++)
        json_object_set_new(
            pools, names[i],
            json_pack("{s:i, s:i}", "widest", ex->widest(ex, devices[i]), "free", ex->room(ex, devices[i])));
    const char *missing = ex->slots ? slots_missing(ex->slots) : "";
    json_object_set_new(json_object_get(pools, "cuda"), "missing", json_string(missing));
    json_object_set_new(json_object_get(pools, "cuda"), "aside",
                        ex->slots ? slots_aside_json(ex->slots) : json_array());
    return pools;
}

/* One row a group. Numbers are bound as text: SQLite compares a text with a number by its type alone. A run that can
 * never start holds up those that need it, however far down. `ahead`: those that may start before it. */
static const char groups_sql[] =
    "WITH RECURSIVE bound(now, cpu, cuda) AS (SELECT CAST(:now AS INTEGER), CAST(:cpu AS INTEGER), "
    "CAST(:cuda AS INTEGER)), "
    "widest(wants, slots) AS (SELECT 'cpu', cpu FROM bound UNION ALL SELECT 'cuda', cuda FROM bound), "
    "never(id) AS (SELECT n.id FROM run n WHERE n.id IN (SELECT needs FROM run WHERE state = 'queued') AND "
    "(n.state IN ('failed', 'cancelled') OR n.state = 'queued' AND n.slots > (SELECT slots FROM widest w WHERE "
    "w.wants = n.wants)) UNION SELECT r.id FROM run r JOIN never ON r.needs = never.id WHERE r.state = 'queued'), "
    "q AS (SELECT r.id, r.wants, r.slots, r.needs, r.priority, r.position, "
    "NOT EXISTS (SELECT 1 FROM sweep_run o JOIN sweep v ON v.name = o.sweep WHERE o.run = r.id AND o.wanted AND NOT "
    "v.paused) AS paused, "
    "CASE WHEN r.needs IS NULL THEN '' ELSE (SELECT n.state FROM run n WHERE n.id = r.needs) END AS needed, "
    "coalesce((SELECT n.variant FROM run n WHERE n.id = r.needs AND n.state <> 'done'), '') AS stage, "
    "r.needs IN (SELECT id FROM never) AS hopeless, "
    "CASE WHEN r.not_before > bound.now AND r.not_before <= bound.now + 600000000 THEN r.not_before ELSE 0 END AS due, "
    "r.slots > w.slots AS wide FROM run r JOIN bound JOIN widest w ON w.wants = r.wants WHERE r.state = 'queued'), "
    "lined AS (SELECT *, sum(NOT paused AND needed IN ('', 'done') AND NOT due AND NOT wide) OVER (PARTITION BY wants "
    "ORDER BY priority DESC, position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead FROM q) "
    "SELECT m.sweep, l.wants, l.slots, l.paused, l.needed, max(coalesce(l.hopeless, 0)), min(l.needs), min(l.due), "
    "l.wide, count(DISTINCT l.id), min(coalesce(l.ahead, 0)), min(l.id), l.stage, count(DISTINCT l.needs) FROM lined l "
    "JOIN (SELECT DISTINCT sweep, run "
    "FROM sweep_run WHERE wanted) m ON m.run = l.id WHERE (:sweep IS NULL OR m.sweep = :sweep) AND (:run IS NULL OR "
    "l.id = :run) GROUP BY m.sweep, l.wants, l.slots, l.paused, l.needed, l.stage, coalesce(l.hopeless, 0), l.due > 0 "
    "AND NOT "
    "l.wide, l.wide "
    "ORDER BY m.sweep, l.wants, l.slots, min(l.position)";

struct group {
    const char *sweep, *wants, *needed, *needs, *first;
    const char *stage; /* the variant of what is needed; of those runs there are needed_runs */
    int64_t slots, due, runs, ahead, needed_runs;
    bool paused, hopeless, wide;
};

static void bind_number(struct store_rows *rows, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    store_rows_bind(rows, name, text);
}

static json_int_t pool_number(const json_t *pools, const char *wants, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(pools, wants), name));
}

/* Which GPUs are set aside; nothing when none is. */
static void add_aside(const json_t *pools, const char *before, char *to, size_t room)
{
    const json_t *row, *list = json_object_get(json_object_get(pools, "cuda"), "aside");
    size_t i, used = strlen(to);
    for (i = 0; (row = json_array_get(list, i)); i++) {
        snprintf(to + used, room - used, "%s%s", i ? ", " : before, json_string_value(json_object_get(row, "id")));
        used = strlen(to);
    }
    if (i)
        snprintf(to + used, room - used, " %s set aside: 'taper devices' says why, 'taper devices --use' takes %s back",
                 i == 1 ? "is" : "are", i == 1 ? "it" : "one");
}

/* Why more slots than there ever are is what it needs. */
static void say_wide(const struct group *g, const json_t *pools, char *to, size_t room)
{
    long long has = (long long)pool_number(pools, g->wants, "widest");
    bool gpu = strcmp(g->wants, "cuda") == 0;
    const char *missing = json_string_value(json_object_get(json_object_get(pools, "cuda"), "missing"));
    bool aside = json_array_size(json_object_get(json_object_get(pools, "cuda"), "aside")) > 0;
    if (gpu && has == 0 && aside)
        snprintf(to, room, "for a GPU");
    else if (gpu && has == 0)
        snprintf(to, room, "for a GPU: none here%s%s", missing && missing[0] ? ": " : "", missing ? missing : "");
    else if (has == 0)
        snprintf(to, room, "for a CPU slot: the daemon has none (--slots cpu:N)");
    else
        snprintf(to, room, "for %lld slots%s: %s %lld at most (--slots)", (long long)g->slots, gpu ? " of one GPU" : "",
                 gpu ? "a run can have" : "the daemon has", has);
    if (gpu)
        add_aside(pools, has ? "; " : ": ", to, room);
}

/* How the last attempt of a run ended, for the one that is due first. */
static void say_due(struct store *store, const struct group *g, int64_t now, char *to, size_t room)
{
    struct store_attempt last = {0};
    char left[32];
    format_duration(left, 1e-6 * (double)(g->due - now));
    if (store_attempt_get(store, g->first, 0, &last, NULL) == STATUS_OK && last.cause)
        snprintf(to, room, "%s for the next attempt (the last of %s: %s)", left, g->first, last.cause);
    else
        snprintf(to, room, "%s for the next attempt", left);
    store_attempt_fini(&last);
}

static void say_needs(const struct group *g, char *to, size_t room)
{
    const bool over = strcmp(g->needed, "failed") == 0 || strcmp(g->needed, "cancelled") == 0;
    const bool never = g->hopeless && !over, one = g->needed_runs == 1;
    if (one)
        snprintf(to, room, "for run %s, which is needed first and ", g->needs);
    else
        snprintf(to, room, "for %lld runs of variant %s, which are needed first and ", (long long)g->needed_runs,
                 g->stage);
    snprintf(to + strlen(to), room - strlen(to), "%s%s",
             never ? "can never start"
             : one ? "is "
                   : "are ",
             never ? "" : g->needed);
    if (over)
        snprintf(to + strlen(to), room - strlen(to), " ('taper retry %s')", one ? g->needs : g->sweep);
}

static const char *say(struct store *store, const struct group *g, const json_t *pools, bool queue_paused, int64_t now,
                       char *to, size_t room)
{
    bool gpu = strcmp(g->wants, "cuda") == 0;
    if (queue_paused || g->paused) {
        snprintf(to, room, "for 'taper resume%s%s': paused", queue_paused ? "" : " ", queue_paused ? "" : g->sweep);
        return "paused";
    }
    if (g->needed[0] && strcmp(g->needed, "done") != 0) {
        say_needs(g, to, room);
        return "needs";
    }
    if (g->wide) {
        say_wide(g, pools, to, room);
        return "slots";
    }
    if (g->due) {
        say_due(store, g, now, to, room);
        return "delay";
    }
    const char *executor = json_string_value(json_object_get(pools, "executor"));
    const bool local = !executor || strcmp(executor, "local") == 0;
    const char *memory = json_string_value(json_object_get(json_object_get(pools, "cuda"), "short"));
    bool lacks = gpu && local && !g->ahead && memory && memory[0];
    if (g->ahead)
        snprintf(to, room, "behind %lld runs", (long long)g->ahead);
    else if (lacks)
        snprintf(to, room, "for memory of a GPU: %s", memory);
    else if (!local)
        snprintf(to, room, "to be handed to %s (--max-jobs)", executor);
    else
        snprintf(to, room, "for %lld free %s slot%s", (long long)g->slots, gpu ? "GPU" : "CPU",
                 g->slots == 1 ? "" : "s");
    if (gpu && local)
        add_aside(pools, "; ", to, room);
    return g->ahead ? "behind" : lacks ? "memory" : "free";
}

static const char *text_at(const struct store_rows *rows, int column)
{
    const char *text = store_rows_at(rows, column).text;
    return text ? text : "";
}

static json_t *group_json(struct store *store, const struct store_rows *rows, const json_t *pools, bool queue_paused,
                          int64_t now)
{
    const struct group g = {.sweep = text_at(rows, 0),
                            .wants = text_at(rows, 1),
                            .slots = store_rows_at(rows, 2).integer,
                            .paused = store_rows_at(rows, 3).integer,
                            .needed = text_at(rows, 4),
                            .hopeless = store_rows_at(rows, 5).integer,
                            .needs = text_at(rows, 6),
                            .due = store_rows_at(rows, 7).integer,
                            .wide = store_rows_at(rows, 8).integer,
                            .runs = store_rows_at(rows, 9).integer,
                            .ahead = store_rows_at(rows, 10).integer,
                            .first = text_at(rows, 11),
                            .stage = text_at(rows, 12),
                            .needed_runs = store_rows_at(rows, 13).integer};
    char what[700];
    const char *why = say(store, &g, pools, queue_paused, now, what, sizeof what);
    char *text = memory_format("%lld run%s of %s wait%s %s", (long long)g.runs, g.runs == 1 ? "" : "s", g.sweep,
                               g.runs == 1 ? "s" : "", what);
    /* A pause ends when somebody ends it. */
    bool never = strcmp(why, "slots") == 0 || (strcmp(why, "needs") == 0 && g.hopeless);
    json_t *row = json_pack("{s:s, s:I, s:s, s:b, s:s}", "sweep", g.sweep, "runs", (json_int_t)g.runs, "why", why,
                            "never", (int)never, "text", text);
    free(text);
    return row;
}

static int collect(struct store *store, const char *sweep, const char *run, const json_t *pools, int64_t now,
                   json_t **out, struct error *err)
{
    struct store_rows *rows = NULL;
    bool found = false, paused = false;
    int status = store_queue_paused(store, &paused, err);
    *out = json_array();
    if (!status)
        status = store_rows_open(&rows, store, "read what waits", groups_sql, err);
    store_rows_bind(rows, ":sweep", sweep);
    store_rows_bind(rows, ":run", run);
    bind_number(rows, ":now", now);
    bind_number(rows, ":cpu", pools ? pool_number(pools, "cpu", "widest") : INT32_MAX);
    bind_number(rows, ":cuda", pools ? pool_number(pools, "cuda", "widest") : INT32_MAX);
    while (!status && !(status = store_rows_next(rows, &found, err)) && found)
        json_array_append_new(*out, group_json(store, rows, pools, paused, now));
    store_rows_close(rows);
    if (status) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

int waiting_collect(struct store *store, const char *sweep, const json_t *pools, int64_t now, json_t **out,
                    struct error *err)
{
    return collect(store, sweep, NULL, pools, now, out, err);
}

void waiting_drop_startable(json_t *groups)
{
    for (size_t i = json_array_size(groups); i-- > 0;) {
        const char *why = json_string_value(json_object_get(json_array_get(groups, i), "why"));
        if (strcmp(why, "free") == 0 || strcmp(why, "behind") == 0)
            json_array_remove(groups, i);
    }
}

static int seen(void *arg, const struct store_run *run)
{
    (void)run;
    *(bool *)arg = true;
    return 0;
}

int waiting_stuck(struct store *store, const char *sweep, const struct store_run *run, const json_t *pools, int64_t now,
                  char *text, size_t room, struct error *err)
{
    json_t *groups = NULL;
    const json_t *group;
    size_t i;
    bool live = run && (run->state == RUN_STARTING || run->state == RUN_RUNNING);
    const struct store_filter filter = {.sweep = sweep, .states = 1u << RUN_STARTING | 1u << RUN_RUNNING, .limit = 1};
    text[0] = '\0';
    int status = sweep ? store_runs_each(store, &filter, seen, &live, err) : STATUS_OK;
    if (status || live)
        return status;
    status = collect(store, sweep, run ? run->id : NULL, pools, now, &groups, err);
    for (i = 0; !status && (group = json_array_get(groups, i)); i++) {
        size_t used = strlen(text);
        if (!json_is_true(json_object_get(group, "never"))) {
            text[0] = '\0';
            break;
        }
        snprintf(text + used, room - used, "%s%s", used ? "; " : "", json_string_value(json_object_get(group, "text")));
    }
    json_decref(groups);
    return status;
}
