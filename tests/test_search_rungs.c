/* What a search decides at its rungs, over made-up curves: against the definition of asynchronous successive halving
 * written down again here, for other shares, numbers of workers and orders of arrival, with transactions that are lost.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "harness/store/store_internal.h"
#include "harness/store/store_queue.h"
#include "harness/store/store_search.h"
#include "tests/support/store_test.h"

enum { STEPS = 1000, RUNGS = 3, RUNS_MOST = 300, WORKERS_MOST = 16 };

static const int64_t rung_steps[RUNGS] = {100, 250, 500};

/* ------------------------------------------------------------------------------------------ the definition */

struct model {
    int runs, keep, of;
    bool median;
    double loss[RUNS_MOST][RUNGS]; /* at each rung; NaN: not finite */
    int diverges[RUNS_MOST];       /* before this rung (from 0); RUNGS or more: never */
    bool reached[RUNS_MOST][RUNGS], kept[RUNS_MOST][RUNGS];
    bool over[RUNS_MOST]; /* done or failed */
    bool done[RUNS_MOST];
};

static bool is_better(const struct model *m, int rung, int a, int b)
{
    const double x = m->diverges[a] > rung ? m->loss[a][rung] : NAN, y = m->diverges[b] > rung ? m->loss[b][rung] : NAN;
    if (isnan(x) != isnan(y))
        return isnan(y);
    return isnan(x) || x == y ? a < b : x < y;
}

static int rank_of(const struct model *m, int rung, int run)
{
    int rank = 1;
    for (int i = 0; i < m->runs; i++)
        rank += i != run && m->reached[i][rung] && is_better(m, rung, i, run);
    return rank;
}

static bool is_finite(const struct model *m, int rung, int run)
{
    return m->diverges[run] > rung && isfinite(m->loss[run][rung]);
}

static void model_decide(struct model *m)
{
    bool open = false;
    for (int r = 0; r < RUNGS; r++) {
        int n = 0;
        for (int i = 0; i < m->runs; i++)
            n += m->reached[i][r];
        const int allowed = m->median ? (n + 1) / 2 : n * m->keep / m->of;
        for (int i = 0; i < m->runs; i++)
            if (m->reached[i][r] && is_finite(m, r, i) && rank_of(m, r, i) <= allowed && !(m->over[i] && !m->done[i]))
                m->kept[i][r] = true;
    }
    for (int i = 0; i < m->runs; i++) {
        int r = 0;
        while (r < RUNGS && m->kept[i][r])
            r++;
        open |= m->done[i] || (!m->over[i] && (r == RUNGS || !m->reached[i][r]));
    }
    for (int r = RUNGS - 1; r >= 0 && !open; r--)
        for (int place = 1; place <= m->runs && !open; place++)
            for (int i = 0; i < m->runs && !open; i++)
                if (m->reached[i][r] && !m->kept[i][r] && !m->over[i] && is_finite(m, r, i) &&
                    rank_of(m, r, i) == place)
                    open = m->kept[i][r] = true;
}

/* ------------------------------------------------------------------------------------------ the store */

static void submit(const struct model *m, uint64_t seed)
{
    char policy[64];
    snprintf(policy, sizeof policy, m->median ? "median" : "halving, keep: %d/%d", m->keep, m->of);
    char *yaml =
        memory_format("sweep: s\nbase: {model.size: demo, train.steps: %d}\nsearch:\n  sample: {train.lr: {log: "
                      "[1e-5, 1e-1]}, train.weight_decay: {uniform: [0, 1]}}\n  runs: %d\n  seed: %llu\n  stop: "
                      "{policy: %s, rungs: [10%%, 250, 50%%]}\n",
                      STEPS, m->runs, (unsigned long long)seed, policy);
    const struct store_submitted done = fixture_submit(&f, yaml);
    assert_int_equal(done.runs, m->runs);
    free(yaml);
}

static int position_of(const char *run)
{
    char *sql = memory_format("SELECT min(position) FROM sweep_run WHERE run = '%s'", run);
    const int position = (int)fixture_integer(&f, sql);
    free(sql);
    return position;
}

static void measure(const char *run, int64_t step, double loss)
{
    char *sql = isnan(loss) ? memory_format("INSERT OR REPLACE INTO eval VALUES ('%s', %lld, 'valid', 'NaN', 1, 1)",
                                            run, (long long)step)
                            : memory_format("INSERT OR REPLACE INTO eval VALUES ('%s', %lld, 'valid', %.17g, 1, 1)",
                                            run, (long long)step, loss);
    fixture_change(&f, sql);
    free(sql);
}

/* As the scheduler records an end: in a transaction, which may be lost and is then made again. */
static void end_run(const struct store_run *run, enum outcome cause, enum run_state next, bool lose)
{
    for (int pass = lose ? 0 : 1; pass < 2; pass++) {
        enum run_state now = next;
        const struct store_exit exit = {.cause = cause, .code = -1, .signal = -1, .cpu_us = -1, .peak_bytes = -1};
        GOOD(store_group_begin(f.s, err));
        GOOD(store_attempt_end(f.s, run->id, run->attempts + 1, &exit, next, err));
        GOOD(store_search_decide(f.s, run->id, &now, err));
        GOOD(store_group_end(f.s, pass == 1, err));
        if (next == RUN_PAUSED && pass == 1)
            assert_true(now == RUN_PAUSED || now == RUN_QUEUED);
    }
}

static void check_decisions(const struct model *m)
{
    sqlite3_stmt *row =
        store_prepare(f.s,
                      "SELECT m.position, d.rung, max(d.verdict = 'kept'), max(d.ranked > 0) FROM decision d "
                      "JOIN sweep_run m ON m.run = d.run GROUP BY 1, 2",
                      NULL);
    static bool kept[RUNS_MOST][RUNGS], reached[RUNS_MOST][RUNGS];
    memset(kept, 0, sizeof kept);
    memset(reached, 0, sizeof reached);
    while (sqlite3_step(row) == SQLITE_ROW) {
        kept[sqlite3_column_int(row, 0)][sqlite3_column_int(row, 1) - 1] = sqlite3_column_int(row, 2);
        reached[sqlite3_column_int(row, 0)][sqlite3_column_int(row, 1) - 1] = sqlite3_column_int(row, 3);
    }
    sqlite3_reset(row);
    for (int i = 0; i < m->runs; i++)
        for (int r = 0; r < RUNGS; r++)
            if (kept[i][r] != m->kept[i][r] || reached[i][r] != m->reached[i][r])
                fail_msg("run %d at rung %d: kept %d and reached %d, want %d and %d", i, r + 1, kept[i][r],
                         reached[i][r], m->kept[i][r], m->reached[i][r]);
}

struct worker {
    struct store_run run;
    int place;
    int64_t until;
};

static bool start(struct worker *w)
{
    bool found = false;
    int attempt = 0;
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, store_now(), 0, &w->run, &found, err));
    if (!found)
        return false;
    GOOD(store_search_until(f.s, w->run.id, &w->until, err));
    GOOD(store_attempt_begin(f.s, w->run.id, &fixture_start, &attempt, err));
    GOOD(store_attempt_running(f.s, w->run.id, attempt, "h", 1, 2, "b", err));
    w->place = position_of(w->run.id);
    return true;
}

static void finish(struct model *m, struct worker *w, bool lose)
{
    int r = 0;
    while (r < RUNGS && rung_steps[r] != w->until)
        r++;
    for (int before = 0; before < r && before < RUNGS; before++)
        assert_true(m->kept[w->place][before]); /* nothing goes on that is not kept */
    if (m->diverges[w->place] <= (r < RUNGS ? r : RUNGS)) {
        m->over[w->place] = true;
        m->reached[w->place][m->diverges[w->place] < RUNGS ? m->diverges[w->place] : RUNGS - 1] = true;
        model_decide(m);
        end_run(&w->run, OUTCOME_DIVERGED, RUN_FAILED, lose);
    } else if (r < RUNGS) {
        m->reached[w->place][r] = true;
        model_decide(m);
        measure(w->run.id, w->until, m->loss[w->place][r]);
        end_run(&w->run, OUTCOME_PAUSED, RUN_PAUSED, lose);
    } else {
        assert_int_equal(w->until, 0);
        m->over[w->place] = m->done[w->place] = true;
        model_decide(m);
        measure(w->run.id, STEPS, 1);
        end_run(&w->run, OUTCOME_DONE, RUN_DONE, lose);
    }
    check_decisions(m);
}

static void simulate(struct model *m, int workers, uint64_t seed)
{
    const struct rng_stream stream = {.seed = seed, .use = RNG_SEARCH};
    struct worker *live = memory_alloc(WORKERS_MOST, sizeof *live);
    uint64_t drawn = 0;
    int count = 0, ends = 0;
    for (int i = 0; i < m->runs; i++) {
        const double floor_at = rng_uniform(&stream, drawn++), fall = rng_uniform(&stream, drawn++);
        const double odd = rng_uniform(&stream, drawn++);
        for (int r = 0; r < RUNGS; r++)
            m->loss[i][r] = odd < 0.05 ? NAN : odd < 0.3 ? 2.5 : 2 + floor_at + 300 * fall / (double)rung_steps[r];
        m->diverges[i] = odd > 0.9 ? (int)(30 * (odd - 0.9)) : 2 * RUNGS; /* before rung 0, 1 or 2 */
    }
    submit(m, seed);
    for (;;) {
        while (count < workers && start(&live[count]))
            count++;
        if (count == 0)
            break;
        const int which = (int)(rng_uniform(&stream, drawn++) * count);
        struct worker ended = live[which];
        live[which] = live[--count];
        finish(m, &ended, rng_uniform(&stream, drawn++) < 0.2);
        ends++;
    }
    assert_true(ends >= m->runs);
    free(live);
}

static void is_the_definition(void **state)
{
    static const int shares[][2] = {{1, 2}, {1, 3}, {1, 4}, {2, 3}};
    (void)state;
    for (int k = 0; k < 5; k++)
        for (int workers = 1; workers <= WORKERS_MOST; workers *= 4) {
            struct model *m = memory_alloc(1, sizeof *m);
            m->median = k == 4;
            m->keep = k < 4 ? shares[k][0] : 1;
            m->of = k < 4 ? shares[k][1] : 2;
            m->runs = fixture_slow() ? 27 : workers == 4 && k == 1 ? RUNS_MOST : 60;
            simulate(m, workers, (uint64_t)(100 * k + workers));
            int done = 0, open = 0, finite = 0;
            for (int i = 0; i < m->runs; i++) {
                done += m->done[i];
                open += !m->over[i] && !m->reached[i][0];
                finite += is_finite(m, 0, i);
            }
            assert_int_equal(open, 0);
            assert_true(done >= 1 && finite >= done);
            if (m->median)
                assert_true(done < m->runs);
            assert_int_equal(
                fixture_integer(&f, "SELECT count(*) FROM run WHERE state IN ('queued', 'starting', 'running')"), 0);
            bool finished = false, all = true;
            GOOD(store_sweep_finished(f.s, "s", &finished, &all, err));
            assert_true(finished);
            free(m);
            fixture_fini(&f);
            fixture_init(&f);
        }
}

/* ------------------------------------------------------------------------------------------ requests */

static const char few[] =
    "sweep: s\nbase: {model.size: demo, train.steps: 1000}\nsearch:\n  sample: {train.lr: {log: [1e-5, "
    "1e-1]}}\n  runs: 3\n  stop: {policy: halving, rungs: [10%], keep: 1/3}\n";

/* Train the first run of the queue up to where it is wanted, with a loss there. */
static struct store_run one(double loss, enum outcome cause, enum run_state next)
{
    struct worker w = {0};
    assert_true(start(&w));
    if (cause == OUTCOME_PAUSED || cause == OUTCOME_DONE)
        measure(w.run.id, w.until ? w.until : STEPS, loss);
    end_run(&w.run, cause, next, false);
    return fixture_find(&f, w.run.id);
}

static void paused_run_is_resumed(void **state)
{
    (void)state;
    int64_t until = -1;
    fixture_submit(&f, few);
    const struct store_run first = one(3, OUTCOME_PAUSED, RUN_PAUSED);
    assert_int_equal(first.state, RUN_PAUSED);
    assert_true(first.ended > 0);
    BAD(STATUS_BAD_INPUT, "no run '000000000000'", store_search_resume(f.s, "000000000000", err));
    GOOD(store_search_resume(f.s, first.id, err));
    assert_int_equal(fixture_find(&f, first.id).state, RUN_QUEUED);
    GOOD(store_search_until(f.s, first.id, &until, err));
    assert_int_equal(until, 0);
    BAD(STATUS_BAD_INPUT, "is queued; only one that its search paused", store_search_resume(f.s, first.id, err));
    assert_int_equal(one(2, OUTCOME_DONE, RUN_DONE).state, RUN_DONE);
    one(2, OUTCOME_PAUSED, RUN_PAUSED);
    /* It counts at the rung all the same, and the better one of three goes on. */
    assert_int_equal(one(1, OUTCOME_PAUSED, RUN_PAUSED).state, RUN_QUEUED);
    assert_int_equal(fixture_integer(&f, "SELECT max(ranked) FROM decision"), 3);
}

static void last_of_a_bracket_is_trained(void **state)
{
    (void)state;
    char last[CONFIG_ID];
    struct store_changed changed;
    fixture_submit(&f, few);
    const struct store_run first = one(3, OUTCOME_PAUSED, RUN_PAUSED);
    one(4, OUTCOME_FAILED, RUN_FAILED); /* counts nowhere */
    fixture_run_id(&f, "s", 2, last);
    GOOD(store_cancel(f.s, NULL, last, "test", &changed, err));
    assert_int_equal(fixture_find(&f, first.id).state, RUN_QUEUED);
    char *why = fixture_text(&f, "SELECT why FROM decision WHERE verdict = 'kept'");
    assert_non_null(strstr(why, "rank 1 of 1: the best there is"));
    free(why);
}

static void cancel_takes_paused_ones_too(void **state)
{
    (void)state;
    struct store_changed changed;
    fixture_submit(&f, few);
    const struct store_run first = one(3, OUTCOME_PAUSED, RUN_PAUSED);
    GOOD(store_cancel(f.s, "s", NULL, "test", &changed, err));
    assert_int_equal(changed.queued, 3);
    assert_int_equal(fixture_find(&f, first.id).state, RUN_CANCELLED);
    /* Wanted again, it is where it was: nothing is started only to find that out. */
    GOOD(store_retry(f.s, "s", NULL, false, &changed, err));
    assert_int_equal(changed.queued, 3);
    assert_int_equal(fixture_find(&f, first.id).state, RUN_PAUSED);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'queued'"), 2);
}

static void other_wishes(void **state)
{
    (void)state;
    static const char plain[] =
        "sweep: whole\nbase: {model.size: demo, train.steps: 1000}\nsearch:\n  sample: {train.lr: "
        "{log: [1e-5, 1e-1]}}\n  runs: 1\n";
    static const char other[] =
        "sweep: s\nbase: {model.size: demo, train.steps: 1000}\nsearch:\n  sample: {train.lr: {log: "
        "[1e-5, 1e-1]}}\n  runs: 3\n  stop: {policy: halving, rungs: [20%], keep: 1/3}\n";
    int64_t until = -1;
    fixture_submit(&f, few);
    const struct store_run first = one(3, OUTCOME_PAUSED, RUN_PAUSED);
    /* Other rungs: what was decided is forgotten, and it goes to the new one. */
    fixture_submit(&f, other);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM decision"), 0);
    assert_int_equal(fixture_find(&f, first.id).state, RUN_QUEUED);
    GOOD(store_search_until(f.s, first.id, &until, err));
    assert_int_equal(until, 200);
    /* Another sweep wants the whole of it. */
    fixture_submit(&f, plain);
    GOOD(store_search_until(f.s, first.id, &until, err));
    assert_int_equal(until, 0);
    assert_int_equal(one(2, OUTCOME_DONE, RUN_DONE).state, RUN_DONE);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM decision WHERE verdict = 'kept'"), 1);
    /* Without a stop all that is paused goes on. */
    one(9, OUTCOME_PAUSED, RUN_PAUSED);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'paused'"), 1);
    fixture_submit(&f,
                   "sweep: s\nbase: {model.size: demo, train.steps: 1000}\nsearch:\n  sample: {train.lr: {log: [1e-5, "
                   "1e-1]}}\n  runs: 3\n");
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'paused'"), 0);
}

/* Variants and points of the grid compete by themselves, samples and seeds do not. */
static void brackets(void **state)
{
    (void)state;
    fixture_submit(&f,
                   "sweep: s\nbase: {model.size: demo, train.steps: 1000}\nvariants: {base: {taper.sites: none}, all: "
                   "{taper.sites: all}}\ngrid: {seed: [0, 1], model.layers: [1, 2]}\nsearch:\n  sample: {train.lr: "
                   "{log: [1e-5, 1e-1]}}\n  runs: 5\n  stop: {policy: median, rungs: [10%]}\n");
    assert_int_equal(fixture_integer(&f, "SELECT count(DISTINCT bracket) FROM sweep_run"), 4);
    assert_int_equal(fixture_integer(&f, "SELECT min(n) = 10 AND max(n) = 10 FROM (SELECT count(*) AS n FROM sweep_run "
                                         "GROUP BY bracket)"),
                     1);
    char *name = fixture_text(&f, "SELECT min(bracket) FROM sweep_run");
    assert_string_equal(name, "all {\"model.layers\":1}");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(is_the_definition),
                                       STORE_TEST(paused_run_is_resumed),
                                       STORE_TEST(last_of_a_bracket_is_trained),
                                       STORE_TEST(cancel_takes_paused_ones_too),
                                       STORE_TEST(other_wishes),
                                       STORE_TEST(brackets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
