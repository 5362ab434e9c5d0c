#include "harness/store/store_search.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"
#include "harness/store/store_search_internal.h"

/* A bracket of a search. */
struct bracket {
    char *sweep, *name;
    json_t *stop; /* spec_stop_json */
    bool median;
    int64_t keep, of;
    int rungs;
};

/* A run that has reached a rung. */
struct arrival {
    char run[CONFIG_ID];
    int64_t step, rank, ranked;
    bool finite, known, kept, diverged, done, able; /* able: to go on */
};

struct arrivals {
    struct arrival *list;
    int64_t count;
};

/* The step of a rung for run r. */
#define STEP_OF(rung)                                                                                                  \
    "CAST(round(iif(" rung " LIKE '%\\%' ESCAPE '\\', CAST(" rung " AS REAL) / 100 * r.steps, CAST(" rung              \
    " AS REAL))) AS INTEGER)"

/* The loss that a run is ranked by at a rung: of the last evaluation up to its step; of a run that was further when the
 * search began it may be a later one. */
#define METRIC(run, step)                                                                                              \
    "coalesce((SELECT loss FROM eval e WHERE e.split = 'valid' AND e.run = " run " AND e.step <= " step                \
    " ORDER BY e.step DESC LIMIT 1), (SELECT loss FROM eval e WHERE e.split = 'valid' AND e.run = " run                \
    " ORDER BY e.step LIMIT 1))"

/* How far a run has come, for certain: where it is paused it was evaluated. */
#define REACHED(run) "coalesce((SELECT max(e.step) FROM eval e WHERE e.split = 'valid' AND e.run = " run "), 0)"

/* ------------------------------------------------------------------------------------------------ how far */

int store_search_until(struct store *s, const char *run, int64_t *until, struct error *err)
{
    static const char sql[] = "SELECT max(coalesce((SELECT min(g.step) FROM (SELECT j.key + 1 AS rung, " STEP_OF(
        "j.value") " AS step "
                   "FROM json_each(nullif(w.stop, ''), '$.rungs') j) g WHERE NOT EXISTS (SELECT 1 FROM decision d "
                   "WHERE "
                   "d.run = m.run AND d.sweep = m.sweep AND d.bracket = m.bracket AND d.rung = g.rung AND d.verdict = "
                   "'kept')), "
                   "r.steps)), r.steps FROM sweep_run m JOIN sweep w ON w.name = m.sweep JOIN run r ON r.id = m.run "
                   "WHERE m.run = ?1 AND m.wanted";
    static const char any[] = "SELECT EXISTS (SELECT 1 FROM sweep_run m JOIN sweep w ON w.name = m.sweep "
                              "WHERE m.run = ?1 AND w.stop <> '')";
    *until = 0;
    for (int i = 0; i < 2; i++) { /* most runs are of no search: they are asked little */
        sqlite3_stmt *row = store_prepare(s, i ? sql : any, err);
        if (!row)
            return STATUS_FAILED;
        store_bind_text(row, 1, run);
        int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "see how far a run goes");
        const bool asked = !status && sqlite3_column_int64(row, 0) != 0;
        if (asked && i == 1 && sqlite3_column_int64(row, 0) < sqlite3_column_int64(row, 1))
            *until = sqlite3_column_int64(row, 0);
        sqlite3_reset(row);
        if (status || !asked)
            return status;
    }
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------------ arrivals */

/* All of the bracket ?1, ?2 that have reached rung ?3 (?4 as the spec has it), the best first; of these ?5 alone where
 * it is given. */
/* clang-format off */
#define ARRIVED                                                                                                        \
    "WITH place AS (SELECT m.run, min(m.position) AS position, " STEP_OF("?4") " AS step FROM sweep_run m "            \
    "JOIN run r ON r.id = m.run WHERE m.sweep = ?1 AND m.bracket = ?2 AND m.wanted AND (?5 IS NULL OR m.run = ?5) "    \
    "GROUP BY m.run), "                                                                                                \
    "known AS (SELECT run, max(ranked > 0) AS known, max(verdict = 'kept') AS kept, max(verdict = 'diverged') AS diverged " \
    "FROM decision WHERE sweep = ?1 AND bracket = ?2 AND rung = ?3 GROUP BY run), "                                    \
    "seen AS (SELECT p.run, p.position, p.step, r.state, coalesce(k.known, 0) AS known, coalesce(k.kept, 0) AS kept, " \
    "coalesce(k.diverged, 0) OR (r.state = 'failed' AND k.run IS NULL AND (SELECT cause FROM attempt a "               \
    "WHERE a.run = p.run ORDER BY attempt DESC LIMIT 1) = 'diverged') AS diverged, " REACHED("p.run") " AS at, "       \
    "EXISTS (SELECT 1 FROM eval e WHERE e.run = p.run AND e.split = 'valid' AND e.step = p.step) AS evaluated "        \
    "FROM place p JOIN run r ON r.id = p.run LEFT JOIN known k ON k.run = p.run), "                                    \
    "arrived AS (SELECT *, iif(diverged, 'NaN', " METRIC("seen.run", "seen.step") ") AS metric "                       \
    "FROM seen WHERE known OR state = 'done' OR (at >= step AND (state = 'paused' OR evaluated)) "                     \
    "OR (diverged AND NOT EXISTS (SELECT 1 FROM decision d WHERE d.sweep = ?1 AND d.bracket = ?2 AND d.run = seen.run " \
    "AND d.verdict = 'diverged' AND d.rung < ?3))), "                                                                  \
    "ranked AS (SELECT *, typeof(metric) IN ('real', 'integer') AS finite, row_number() OVER (ORDER BY "               \
    "typeof(metric) IN ('real', 'integer') DESC, metric, position) AS rank, count(*) OVER () AS ranked FROM arrived) "
/* clang-format on */

static void bind_rung(sqlite3_stmt *row, const struct bracket *b, int rung, const char *run)
{
    store_bind_text(row, 1, b->sweep);
    store_bind_text(row, 2, b->name);
    store_bind_int(row, 3, rung);
    store_bind_text(row, 4, json_string_value(json_array_get(json_object_get(b->stop, "rungs"), (size_t)(rung - 1))));
    store_bind_text(row, 5, run);
}

/* Whether a run has reached a rung at which it was not seen yet. Most of an attempt's ends are news at one rung alone.
 */
static int is_news(struct store *s, const struct bracket *b, int rung, const char *run, bool *news, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, ARRIVED "SELECT EXISTS (SELECT 1 FROM arrived WHERE NOT known)", err);
    if (!row)
        return STATUS_FAILED;
    bind_rung(row, b, rung, run);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "see how far a run has come");
    *news = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

static int list_arrivals(struct store *s, const struct bracket *b, int rung, struct arrivals *out, struct error *err)
{
    sqlite3_stmt *row = store_prepare(
        s, ARRIVED "SELECT run, step, rank, ranked, finite, known, kept, diverged, state FROM ranked ORDER BY rank",
        err);
    *out = (struct arrivals){0};
    if (!row)
        return STATUS_FAILED;
    bind_rung(row, b, rung, NULL);
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *state = (const char *)sqlite3_column_text(row, 8);
        struct arrival a = {.step = sqlite3_column_int64(row, 1),
                            .rank = sqlite3_column_int64(row, 2),
                            .ranked = sqlite3_column_int64(row, 3),
                            .finite = sqlite3_column_int(row, 4),
                            .known = sqlite3_column_int(row, 5),
                            .kept = sqlite3_column_int(row, 6),
                            .diverged = sqlite3_column_int(row, 7),
                            .done = strcmp(state, "done") == 0,
                            .able = strcmp(state, "failed") != 0 && strcmp(state, "cancelled") != 0};
        snprintf(a.run, sizeof a.run, "%s", (const char *)sqlite3_column_text(row, 0));
        out->list = memory_resize(out->list, (size_t)out->count + 1, sizeof *out->list);
        out->list[out->count++] = a;
    }
    sqlite3_reset(row);
    return code == SQLITE_DONE ? STATUS_OK : store_fail(s, err, "rank the runs at a rung");
}

/* ------------------------------------------------------------------------------------------------ decisions */

static int record(struct store *s, const struct bracket *b, int rung, const struct arrival *a, const char *verdict,
                  const char *why, struct error *err)
{
    static const char sql[] =
        "INSERT OR IGNORE INTO decision (time, sweep, bracket, run, rung, step, metric, rank, ranked, verdict, why) "
        "VALUES (?4, ?1, ?2, ?5, ?3, ?6, iif(?9 = 'diverged', 'NaN', " METRIC("?5", "?6") "), ?7, ?8, ?9, ?10)";
    sqlite3_stmt *insert = store_prepare(s, sql, err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, b->sweep);
    store_bind_text(insert, 2, b->name);
    store_bind_int(insert, 3, rung);
    store_bind_int(insert, 4, store_now());
    store_bind_text(insert, 5, a->run);
    store_bind_int(insert, 6, a->step);
    store_bind_int(insert, 7, a->rank);
    store_bind_int(insert, 8, a->ranked);
    store_bind_text(insert, 9, verdict);
    store_bind_text(insert, 10, why);
    return store_step(s, insert, "record a decision", err);
}

/* A paused run that has further to go is queued. */
static int go_on(struct store *s, const char *run, const char *why, struct error *err)
{
    int64_t until = 0;
    int status = store_search_until(s, run, &until, err);
    sqlite3_stmt *update =
        status
            ? NULL
            : store_prepare(s,
                            "UPDATE run SET state = 'queued', ended = NULL, not_before = 0 WHERE id = ?1 AND state = "
                            "'paused' AND (?2 = 0 OR ?2 > " REACHED("?1") ")",
                            err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, until);
    status = store_step(s, update, "go on with a run", err);
    return status || sqlite3_changes(s->db) == 0 ? status : store_add_event(s, NULL, run, 0, "queued", why, err);
}

static int keep(struct store *s, const struct bracket *b, int rung, const struct arrival *a, const char *why,
                struct error *err)
{
    char *text = memory_format("rung %d of %d, step %lld: rank %lld of %lld%s", rung, b->rungs, (long long)a->step,
                               (long long)a->rank, (long long)a->ranked, why);
    int status = record(s, b, rung, a, "kept", text, err);
    if (!status)
        status = go_on(s, a->run, text, err);
    free(text);
    return status;
}

static int hold(struct store *s, const struct bracket *b, int rung, const struct arrival *a, int64_t allowed,
                struct error *err)
{
    const char *verdict = a->diverged ? "diverged" : "paused";
    char *text = a->diverged ? memory_format("diverged before rung %d of %d: ranked last there", rung, b->rungs)
                             : memory_format("rung %d of %d, step %lld: rank %lld of %lld, of which %lld go%s on%s",
                                             rung, b->rungs, (long long)a->step, (long long)a->rank,
                                             (long long)a->ranked, (long long)allowed, allowed == 1 ? "es" : "",
                                             a->finite ? "" : "; its loss is not finite");
    int status = record(s, b, rung, a, verdict, text, err);
    free(text);
    return status;
}

static int64_t allowed_of(const struct bracket *b, int64_t ranked)
{
    return b->median ? (ranked + 1) / 2 : ranked * b->keep / b->of;
}

/* *best: the first at this rung that may still be kept; unchanged where there is none. */
static int decide_rung(struct store *s, const struct bracket *b, int rung, struct arrival *best, int *best_rung,
                       struct error *err)
{
    struct arrivals all;
    bool found = false;
    int status = list_arrivals(s, b, rung, &all, err);
    for (int64_t i = 0; i < all.count && !status; i++) {
        const struct arrival *a = &all.list[i];
        const int64_t allowed = allowed_of(b, a->ranked);
        if (a->kept)
            continue;
        if (a->done)
            status = keep(s, b, rung, a, ": trained to its end", err);
        else if (a->finite && a->able && a->rank <= allowed)
            status = keep(s, b, rung, a, "", err);
        else if (!a->known)
            status = hold(s, b, rung, a, allowed, err);
        if (!status && !found && a->finite && a->able && !a->done && a->rank > allowed) {
            *best = *a;
            *best_rung = rung;
            found = true;
        }
    }
    free(all.list);
    return status;
}

/* Whether anything of the bracket is to come, or has come to its end. */
static int is_open(struct store *s, const struct bracket *b, bool *open, struct error *err)
{
    sqlite3_stmt *row =
        store_prepare(s,
                      "SELECT EXISTS (SELECT 1 FROM sweep_run m JOIN run r ON r.id = m.run WHERE m.sweep = ?1 AND "
                      "m.bracket = ?2 AND m.wanted AND r.state IN ('queued', 'starting', 'running', 'done'))",
                      err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, b->sweep);
    store_bind_text(row, 2, b->name);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "look at a bracket");
    *open = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

/* run: whose arrival it is; NULL: anybody's. */
static int decide_bracket(struct store *s, const struct bracket *b, const char *run, struct error *err)
{
    struct arrival best = {0};
    int best_rung = 0, status = STATUS_OK;
    bool open = false;
    for (int rung = 1; rung <= b->rungs && !status; rung++) {
        bool news = true;
        if (run)
            status = is_news(s, b, rung, run, &news, err);
        if (!status && news)
            status = decide_rung(s, b, rung, &best, &best_rung, err);
    }
    if (!status)
        status = is_open(s, b, &open, err);
    if (!status && !open && run) /* of all rungs, for the best of the highest */
        return decide_bracket(s, b, NULL, err);
    if (!status && !open && best_rung > 0)
        status = keep(s, b, best_rung, &best, ": the best there is, and no other is to come", err);
    return status;
}

/* ------------------------------------------------------------------------------------------------ brackets */

/* The brackets that ?1 (a run, or a sweep) has part in. On the heap, as are their texts. */
static int list_brackets(struct store *s, const char *run, const char *sweep, struct bracket **out, int *count,
                         struct error *err)
{
    sqlite3_stmt *row =
        store_prepare(s,
                      "SELECT DISTINCT m.sweep, m.bracket, w.stop FROM sweep_run m JOIN sweep w ON w.name = m.sweep "
                      "AND w.stop <> '' WHERE (?1 IS NULL OR m.run = ?1) AND (?2 IS NULL OR m.sweep = ?2) "
                      "ORDER BY 1, 2",
                      err);
    *out = NULL;
    *count = 0;
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    store_bind_text(row, 2, sweep);
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        *out = memory_resize(*out, (size_t)*count + 1, sizeof **out);
        json_t *stop = json_loads((const char *)sqlite3_column_text(row, 2), 0, NULL);
        json_t *keep = json_object_get(stop, "keep");
        const char *policy = json_string_value(json_object_get(stop, "policy"));
        (*out)[(*count)++] = (struct bracket){.sweep = memory_string((const char *)sqlite3_column_text(row, 0)),
                                              .name = memory_string((const char *)sqlite3_column_text(row, 1)),
                                              .stop = stop,
                                              .median = policy && strcmp(policy, "median") == 0,
                                              .keep = keep ? json_integer_value(json_array_get(keep, 0)) : 1,
                                              .of = keep ? json_integer_value(json_array_get(keep, 1)) : 1,
                                              .rungs = (int)json_array_size(json_object_get(stop, "rungs"))};
    }
    sqlite3_reset(row);
    return code == SQLITE_DONE ? STATUS_OK : store_fail(s, err, "list the brackets of a search");
}

static int decide_all(struct store *s, const char *run, const char *sweep, struct error *err)
{
    struct bracket *brackets;
    int count, status = list_brackets(s, run, sweep, &brackets, &count, err);
    for (int i = 0; i < count; i++) {
        if (!status)
            status = decide_bracket(s, &brackets[i], run, err);
        json_decref(brackets[i].stop);
        free(brackets[i].sweep);
        free(brackets[i].name);
    }
    free(brackets);
    return status;
}

int store_search_decide(struct store *s, const char *run, enum run_state *state, struct error *err)
{
    struct store_run now;
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = decide_all(s, run, NULL, err);
    if (!status && state && !(status = store_run_find(s, run, &now, err)))
        *state = now.state;
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}

/* ------------------------------------------------------------------------------------------------ requests */

/* A queued run that has come as far as it is wanted waits as paused. */
static int pause_again(struct store *s, const char *run, struct error *err)
{
    int64_t until = 0;
    int status = store_search_until(s, run, &until, err);
    sqlite3_stmt *update =
        status ? NULL
               : store_prepare(s,
                               "UPDATE run SET state = 'paused', ended = (SELECT max(ended) FROM attempt a WHERE "
                               "a.run = ?1) WHERE id = ?1 AND ?2 > 0 AND ?2 <= " REACHED("?1"),
                               err);
    if (!update)
        return STATUS_FAILED;
    store_bind_text(update, 1, run);
    store_bind_int(update, 2, until);
    return store_step(s, update, "pause a run again", err);
}

struct held {
    char run[CONFIG_ID];
    bool paused; /* else queued */
};

/* Runs of a sweep, or one, that were paused by their last attempt: the queued, with `paused` also those that wait. */
static int list_held(struct store *s, const char *sweep, const char *run, bool paused, struct held **held,
                     size_t *count, struct error *err)
{
    sqlite3_stmt *row = store_prepare(
        s,
        "SELECT DISTINCT r.id, r.state = 'paused' FROM sweep_run m JOIN run r ON r.id = m.run WHERE (?1 IS NULL OR "
        "m.sweep = ?1) AND (?2 IS NULL OR m.run = ?2) AND (r.state = 'paused' AND ?3 OR (r.state = 'queued' AND "
        "(SELECT cause FROM attempt a WHERE a.run = r.id ORDER BY attempt DESC LIMIT 1) = 'paused')) "
        "ORDER BY r.position",
        err);
    *held = NULL;
    *count = 0;
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, sweep);
    store_bind_text(row, 2, run);
    store_bind_int(row, 3, paused);
    int code;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        *held = memory_resize(*held, *count + 1, sizeof **held);
        (*held)[*count].paused = sqlite3_column_int(row, 1);
        snprintf((*held)[(*count)++].run, CONFIG_ID, "%s", (const char *)sqlite3_column_text(row, 0));
    }
    sqlite3_reset(row);
    return code == SQLITE_DONE ? STATUS_OK : store_fail(s, err, "list paused runs");
}

int store_search_wanted(struct store *s, const char *sweep, const char *run, bool anew, struct error *err)
{
    struct held *held = NULL;
    size_t count = 0;
    int status = decide_all(s, run, sweep, err);
    if (!status)
        status = list_held(s, sweep, run, anew, &held, &count, err);
    for (size_t i = 0; i < count && !status; i++)
        status = held[i].paused ? go_on(s, held[i].run, "wanted further than it was trained", err)
                                : pause_again(s, held[i].run, err);
    free(held);
    return status;
}

int store_search_policy(struct store *s, const char *sweep, const char *stop, struct error *err)
{
    static const char *const sql[] = {
        "DELETE FROM decision WHERE sweep = ?1 AND (SELECT stop FROM sweep WHERE name = ?1) <> ?2",
        "UPDATE sweep SET stop = ?2 WHERE name = ?1"};
    int status = STATUS_OK;
    for (size_t i = 0; i < sizeof sql / sizeof sql[0] && !status; i++) {
        sqlite3_stmt *change = store_prepare(s, sql[i], err);
        if (!change)
            return STATUS_FAILED;
        store_bind_text(change, 1, sweep);
        store_bind_text(change, 2, stop);
        status = store_step(s, change, "note how a search stops its runs", err);
    }
    return status;
}

static int keep_always(struct store *s, const char *run, struct error *err)
{
    sqlite3_stmt *insert = store_prepare(
        s,
        "INSERT OR IGNORE INTO decision (time, sweep, bracket, run, rung, step, metric, rank, ranked, verdict, why) "
        "SELECT ?2, g.sweep, g.bracket, g.run, g.rung, g.step, NULL, 0, 0, 'kept', 'taper resume: to its end all the "
        "same' FROM run_rung g WHERE g.run = ?1",
        err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_text(insert, 1, run);
    store_bind_int(insert, 2, store_now());
    return store_step(s, insert, "keep a run", err);
}

int store_search_resume(struct store *s, const char *run, struct error *err)
{
    struct store_run now;
    int status = store_begin(s, true, err);
    if (status)
        return status;
    status = store_run_find(s, run, &now, err);
    if (!status && now.state != RUN_PAUSED)
        status = error_set(err, STATUS_BAD_INPUT, "run %s: is %s; only one that its search paused can be resumed",
                           now.id, run_state_name(now.state));
    if (!status)
        status = keep_always(s, now.id, err);
    if (!status)
        status = go_on(s, now.id, "taper resume: to its end all the same", err);
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}
