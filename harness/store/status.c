#include "harness/base/format.h"
#include "harness/store/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/store/store_rows.h"

static json_t *value_json(struct store_value v)
{
    switch (v.type) {
    case STORE_INTEGER:
        return json_integer(v.integer);
    case STORE_REAL:
        return json_real(v.number);
    case STORE_TEXT: {
        json_t *text = json_string(v.text);
        return text ? text : json_string("(not UTF-8)");
    }
    default:
        return json_null();
    }
}

static json_t *row_json(const struct store_rows *rows)
{
    json_t *object = json_object();
    for (int i = 0; i < store_rows_columns(rows); i++)
        json_object_set_new(object, store_rows_column(rows, i), value_json(store_rows_at(rows, i)));
    return object;
}

/* All rows of a query with one text as :what (NULL binds a null). */
static int rows_json(struct store *store, const char *sql, const char *what, json_t **out, struct error *err)
{
    struct store_rows *rows = NULL;
    bool found = false;
    int status = store_rows_open(&rows, store, "read how it stands", sql, err);
    *out = json_array();
    store_rows_bind(rows, ":what", what);
    while (!status && !(status = store_rows_next(rows, &found, err)) && found)
        json_array_append_new(*out, row_json(rows));
    store_rows_close(rows);
    if (status) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* Seconds since a live run began or its journal last grew, by the file itself: the database knows of it only while a
 * daemon takes it in. -1: not known. */
static double quiet_for(const struct home *home, const json_t *row)
{
    struct stat info;
    double since = 1e-6 * json_number_value(json_object_get(row, "started"));
    char *path = home_run_file(home, json_string_value(json_object_get(row, "run")), RUNDIR_JOURNAL);
    if (stat(path, &info) == 0)
        since = fmax(since, (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec);
    free(path);
    return since > 0 ? fmax(0, 1e-6 * (double)store_now() - since) : -1;
}

/* Whether it trains and should have logged a step long ago. */
static bool is_stalled(const json_t *row, double quiet, double row_ms)
{
    const char *state = json_string_value(json_object_get(row, "state"));
    json_int_t step = json_integer_value(json_object_get(row, "step"));
    bool trains = strcmp(state, "running") == 0 && step < json_integer_value(json_object_get(row, "steps"));
    return trains && quiet >= STATUS_QUIET_S && quiet >= 1e-3 * STATUS_QUIET_ROWS * row_ms;
}

static void add_progress(const struct home *home, json_t *live)
{
    size_t i;
    json_t *row;
    for (i = 0; (row = json_array_get(live, i)); i++) {
        json_t *ms = json_object_get(row, "ms");
        json_int_t step = json_integer_value(json_object_get(row, "step"));
        json_int_t steps = json_integer_value(json_object_get(row, "steps"));
        double quiet = quiet_for(home, row);
        double every = json_number_value(json_object_get(row, "log_every"));
        bool stalled = is_stalled(row, quiet, json_number_value(ms) * every);
        bool known = json_is_number(ms) && step > 0 && steps >= step && !stalled;
        json_object_del(row, "log_every");
        json_object_set_new(row, "quiet", quiet >= 0 ? json_real(quiet) : json_null());
        json_object_set_new(row, "stalled", json_boolean(stalled));
        json_object_set_new(row, "seconds_left",
                            known ? json_real(1e-3 * json_number_value(ms) * (double)(steps - step)) : json_null());
    }
}

int status_collect(struct store *store, const struct home *home, const char *sweep, json_t **out, struct error *err)
{
    static const char sweeps_sql[] =
        "SELECT s.name AS sweep, s.paused, count(r.id) AS runs, count(CASE r.state WHEN 'queued' THEN 1 END) AS "
        "queued, "
        "count(CASE r.state WHEN 'starting' THEN 1 END) AS starting, "
        "count(CASE r.state WHEN 'running' THEN 1 END) AS running, count(CASE r.state WHEN 'done' THEN 1 END) AS done, "
        "count(CASE r.state WHEN 'failed' THEN 1 END) AS failed, "
        "count(CASE r.state WHEN 'cancelled' THEN 1 END) AS cancelled, count(CASE r.state WHEN 'paused' THEN 1 END) AS "
        "paused_runs, count(g.run) AS gaps, s.created AS submitted "
        "FROM sweep s "
        "LEFT JOIN (SELECT DISTINCT sweep, run FROM sweep_run WHERE :what IS NULL OR sweep = :what) m ON m.sweep = "
        "s.name "
        "LEFT JOIN run r ON r.id = m.run LEFT JOIN run_gap g ON g.run = m.run WHERE :what IS NULL OR s.name = :what "
        "GROUP BY s.name ORDER BY s.created, "
        "s.name";
    static const char live_sql[] =
        "SELECT r.id AS run, r.sweep, r.variant, r.seed, r.state, r.attempts AS attempt, a.slot, coalesce(a.pack, 1) "
        "AS "
        "pack, r.started, a.note, coalesce((SELECT step FROM journal j WHERE j.run = r.id), 0) AS step, r.steps, "
        "r.cancel, coalesce(r.config ->> '$.\"log.every\"', 1) AS log_every, "
        "(SELECT ce FROM step t WHERE t.run = r.id ORDER BY step DESC LIMIT 1) AS loss, "
        "(SELECT avg(ms) FROM (SELECT ms FROM step t WHERE t.run = r.id AND typeof(ms) IN ('real', 'integer') "
        "ORDER BY step DESC LIMIT 10)) AS ms FROM run r LEFT JOIN attempt a ON a.run = r.id AND a.attempt = r.attempts "
        "WHERE r.state IN ('starting', 'running') AND (:what IS NULL OR EXISTS (SELECT 1 FROM sweep_run m "
        "WHERE m.run = r.id AND m.sweep = :what)) ORDER BY r.priority DESC, r.position";
    static const char failures_sql[] =
        "SELECT r.id AS run, r.sweep, r.variant, r.attempts AS attempt, a.cause, a.text, r.ended FROM run r "
        "LEFT JOIN attempt a ON a.run = r.id AND a.attempt = r.attempts WHERE r.state = 'failed' "
        "AND (:what IS NULL OR EXISTS (SELECT 1 FROM sweep_run m WHERE m.run = r.id AND m.sweep = :what)) "
        "ORDER BY r.ended DESC LIMIT 10";
    static const char rungs_sql[] =
        "SELECT d.sweep, d.bracket, d.rung, min(d.step) AS step, count(DISTINCT d.run) AS reached, "
        "count(DISTINCT iif(d.verdict = 'kept', d.run, NULL)) AS kept, "
        "min(iif(typeof(d.metric) IN ('real', 'integer'), d.metric, NULL)) AS best FROM decision d "
        "WHERE d.ranked > 0 AND (:what IS NULL OR d.sweep = :what) GROUP BY d.sweep, d.bracket, d.rung "
        "ORDER BY d.sweep, (SELECT min(position) FROM sweep_run m WHERE m.sweep = d.sweep AND m.bracket = d.bracket), "
        "d.rung";
    static const char aside_sql[] = "SELECT device, why, since FROM device_aside WHERE :what IS :what ORDER BY device";
    json_t *sweeps = NULL, *live = NULL, *failures = NULL, *aside = NULL, *rungs = NULL;
    int status = sweep ? store_sweep_find(store, sweep, err) : STATUS_OK;
    if (!status)
        status = rows_json(store, sweeps_sql, sweep, &sweeps, err);
    if (!status)
        status = rows_json(store, live_sql, sweep, &live, err);
    if (!status)
        status = rows_json(store, failures_sql, sweep, &failures, err);
    if (!status)
        status = rows_json(store, aside_sql, sweep, &aside, err);
    if (!status)
        status = rows_json(store, rungs_sql, sweep, &rungs, err);
    if (status) {
        json_decref(aside);
        json_decref(sweeps);
        json_decref(live);
        json_decref(failures);
        return status;
    }
    size_t i;
    json_t *row;
    bool paused = false;
    store_queue_paused(store, &paused, NULL);
    for (i = 0; (row = json_array_get(sweeps, i)); i++)
        json_object_set_new(row, "paused", json_boolean(json_integer_value(json_object_get(row, "paused"))));
    add_progress(home, live);
    *out = json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "paused", (int)paused, "sweeps", sweeps, "live", live,
                     "failures", failures, "aside", aside, "rungs", rungs);
    return STATUS_OK;
}

int status_run(struct store *store, const char *id, json_t **out, struct error *err)
{
    static const struct {
        const char *name, *sql;
    } parts[] = {{"attempts",
                  "SELECT *, (SELECT group_concat(b.run, ' ') FROM attempt b WHERE b.pid = a.pid AND b.pid_started = "
                  "a.pid_started AND b.boot_id = a.boot_id AND b.run <> a.run) AS mates FROM attempt a "
                  "WHERE run = :what ORDER BY attempt"},
                 {"decisions", "SELECT time, sweep, bracket, rung, step, metric, rank, ranked, verdict, why FROM "
                               "decision WHERE run = :what ORDER BY id"},
                 {"rows", "SELECT steps, steps_due, evals, evals_due FROM run_rows WHERE run = :what"},
                 {"evals", "SELECT step, split, loss, tokens FROM eval WHERE run = :what ORDER BY step, split"},
                 {"events", "SELECT * FROM (SELECT id, time, attempt, step, kind, text FROM event WHERE run = :what "
                            "ORDER BY id DESC LIMIT 20) ORDER BY id"}};
    json_t *rows = NULL;
    int status = rows_json(store,
                           "SELECT r.*, coalesce((SELECT step FROM journal j WHERE j.run = r.id), 0) AS step, "
                           "(SELECT ce FROM step t WHERE t.run = r.id ORDER BY step DESC LIMIT 1) AS loss "
                           "FROM run r WHERE id = :what",
                           id, &rows, err);
    if (status)
        return status;
    json_t *run = json_array_get(rows, 0);
    *out = json_pack("{s:O}", "run", run);
    json_decref(rows);
    run = json_object_get(*out, "run");
    const char *const texts[] = {"config", "after"};
    for (int i = 0; i < 2; i++) {
        const char *text = json_string_value(json_object_get(run, texts[i]));
        json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        json_object_set_new(*out, texts[i], object ? object : json_null());
        json_object_del(run, texts[i]);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !status; i++) {
        status = rows_json(store, parts[i].sql, id, &rows, err);
        if (!status)
            json_object_set_new(*out, parts[i].name, rows);
    }
    if (status)
        json_decref(*out);
    return status;
}

char *status_counts(const json_t *sweep, char *to)
{
    static const struct {
        const char *name, *shown;
    } counts[] = {{"done", "done"},
                  {"running", "running"},
                  {"starting", "starting"},
                  {"queued", "queued"},
                  {"failed", "failed"},
                  {"cancelled", "cancelled"},
                  {"paused_runs", "paused by the search"}};
    const long long gaps = (long long)json_integer_value(json_object_get(sweep, "gaps"));
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        json_int_t n = json_integer_value(json_object_get(sweep, counts[i].name));
        if (n || i == 0)
            used +=
                (size_t)snprintf(to + used, 160 - used, "%s%lld %s", used ? ", " : "", (long long)n, counts[i].shown);
        if (i == 0 && gaps)
            used += (size_t)snprintf(to + used, 160 - used, " (%lld with missing rows)", gaps);
    }
    return to;
}

char *status_live(const json_t *live, char *to)
{
    char time[32], loss[32] = "-", shared[32] = "";
    const json_t *value = json_object_get(live, "loss");
    bool stalled = json_is_true(json_object_get(live, "stalled"));
    const json_t *seconds = json_object_get(live, stalled ? "quiet" : "seconds_left");
    if (json_is_number(value))
        format_fixed(loss, json_number_value(value), 4);
    else if (json_is_string(value))
        snprintf(loss, sizeof loss, "%s", json_string_value(value));
    format_duration(time, json_is_number(seconds) ? json_number_value(seconds) : -1);
    long long pack = (long long)json_integer_value(json_object_get(live, "pack"));
    if (pack > 1)
        snprintf(shared, sizeof shared, "  pack of %lld", pack);
    bool ending = json_integer_value(json_object_get(live, "cancel")) != 0;
    const char *note = json_string_value(json_object_get(live, "note"));
    snprintf(to, 256, "%s  %-14.40s seed %-4lld step %lld/%lld  loss %s  %s %s%s%s%s%.100s",
             json_string_value(json_object_get(live, "run")), json_string_value(json_object_get(live, "variant")),
             (long long)json_integer_value(json_object_get(live, "seed")),
             (long long)json_integer_value(json_object_get(live, "step")),
             (long long)json_integer_value(json_object_get(live, "steps")), loss, stalled ? "no step for" : "left",
             time, shared, ending ? "  (ending)" : "", note ? "  " : "", note ? note : "");
    return to;
}
