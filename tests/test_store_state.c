/* Every change of a run's state, and the order of the queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/store/store_internal.h"
#include "harness/store/store_queue.h"
#include "tests/support/store_test.h"

static void life_of_a_run(void **state)
{
    (void)state;
    char id[CONFIG_ID], other[CONFIG_ID];
    int attempt = 0;
    bool found;
    struct store_run run;
    struct store_attempt a;
    int64_t now = store_now();
    fixture_submit(&f, fixture_two_by_two);
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_true(found);
    fixture_run_id(&f, "s", 0, id);
    assert_string_equal(run.id, id);
    assert_string_equal(run.variant, "base");
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    BAD(STATUS_FAILED, "it is starting", store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, now, 0, &run, &found, err));
    fixture_run_id(&f, "s", 1, other);
    assert_string_equal(run.id, other);
    BAD(STATUS_FAILED, "attempt 2 is over", store_attempt_running(f.s, id, 2, "h", 1, 2, "b", err));
    GOOD(store_attempt_running(f.s, id, 1, "handle", 4242, 99, "boot", err));
    assert_int_equal(fixture_find(&f, id).state, RUN_RUNNING);
    GOOD(store_attempt_get(f.s, id, 0, &a, err));
    assert_int_equal(a.pid, 4242);
    assert_string_equal(a.boot_id, "boot");
    assert_string_equal(a.slot, "cpu:0");
    assert_null(a.cause);
    store_attempt_fini(&a);
    /* It fails and comes back with a delay. */
    struct store_exit failed = {OUTCOME_SIGNAL, "killed", -1, 9, 5000, 1 << 20, true, now + 60000000, false};
    BAD(STATUS_FAILED, "cannot end as running", store_attempt_end(f.s, id, 1, &failed, RUN_RUNNING, err));
    GOOD(store_attempt_end(f.s, id, 1, &failed, RUN_QUEUED, err));
    BAD(STATUS_FAILED, "is not live", store_attempt_end(f.s, id, 1, &failed, RUN_FAILED, err));
    run = fixture_find(&f, id);
    assert_int_equal(run.state, RUN_QUEUED);
    assert_int_equal(run.failures, 1);
    assert_int_equal(run.ended, 0);
    int64_t when;
    GOOD(store_queue_delay(f.s, now, &when, err));
    assert_true(when == now + 60000000);
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_string_equal(run.id, other);
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, now + 60000000, 0, &run, &found, err));
    assert_string_equal(run.id, id);
    /* A clock that was set back a day does not hold it for a day. */
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, now - 86400000000, 0, &run, &found, err));
    assert_string_equal(run.id, id);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    assert_int_equal(attempt, 2);
    GOOD(store_attempt_end(
        f.s, id, 2,
        &(struct store_exit){.cause = OUTCOME_DONE, .code = 0, .signal = -1, .cpu_us = -1, .peak_bytes = -1}, RUN_DONE,
        err));
    BAD(STATUS_FAILED, "it is done", store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    assert_true(fixture_find(&f, id).ended >= now);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM attempt WHERE ended IS NOT NULL"), 2);
    assert_int_equal(fixture_integer(&f, "SELECT signal FROM attempt WHERE attempt = 1"), 9);
    assert_int_equal(
        fixture_integer(&f, "SELECT code IS 0 AND signal IS NULL AND cpu_us IS NULL FROM attempt WHERE attempt = 2"),
        1);
    char *events = fixture_text(
        &f, "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM event WHERE run IS NOT NULL ORDER BY id)");
    assert_string_equal(events, "starting running queued starting done");
    free(events);
}

/* Every change from every state: allowed ones happen, others change nothing. */
static void only_legal_changes(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    fixture_submit(&f, "sweep: s\n");
    fixture_run_id(&f, "s", 0, id);
    for (int from = 0; from < RUN_STATES; from++)
        for (int change = 0; change < 6; change++) {
            char sql[200];
            int attempt, status;
            struct store_changed changed;
            snprintf(sql, sizeof sql,
                     "DELETE FROM attempt; UPDATE run SET state = '%s', attempts = 0, cancel = 0; UPDATE sweep_run SET "
                     "wanted = 1",
                     run_state_name(from));
            store_exec(f.s, sql, "test", NULL);
            int64_t events = fixture_integer(&f, "SELECT count(*) FROM event");
            bool live = from == RUN_STARTING || from == RUN_RUNNING, legal;
            struct store_exit x = {.cause = OUTCOME_FAILED};
            if (change == 0) {
                legal = from == RUN_QUEUED;
                status = store_attempt_begin(f.s, id, &fixture_start, &attempt, NULL);
            } else if (change == 1) {
                legal = live;
                status = store_attempt_running(f.s, id, 0, NULL, 0, 0, NULL, NULL);
            } else if (change == 2) {
                legal = live;
                status = store_attempt_end(f.s, id, 0, &x, RUN_DONE, NULL);
            } else if (change == 3) {
                legal = live;
                status = store_attempt_end(f.s, id, 0, &x, RUN_QUEUED, NULL);
            } else if (change == 4) {
                legal = from == RUN_FAILED || from == RUN_CANCELLED;
                assert_int_equal(store_retry(f.s, NULL, id, false, &changed, NULL), STATUS_OK);
                status = changed.queued == 1 ? STATUS_OK : STATUS_FAILED;
            } else {
                legal = from == RUN_QUEUED || from == RUN_PAUSED || live;
                assert_int_equal(store_cancel(f.s, NULL, id, "test", &changed, NULL), STATUS_OK);
                status = changed.queued + changed.live == 1 ? STATUS_OK : STATUS_FAILED;
            }
            assert_int_equal(status == STATUS_OK, legal);
            if (!legal) {
                assert_int_equal(fixture_find(&f, id).state, from);
                assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event"), events);
            }
        }
}

static void cancel_heeds_other_sweeps(void **state)
{
    (void)state;
    char live[CONFIG_ID];
    int attempt;
    struct store_changed out;
    fixture_submit(&f, fixture_two_by_two);
    fixture_submit(&f, "sweep: t\nbase: {seed: 1}\n"); /* shares one run with s */
    fixture_run_id(&f, "s", 0, live);
    GOOD(store_attempt_begin(f.s, live, &fixture_start, &attempt, err));
    BAD(STATUS_BAD_INPUT, "no sweep 'x'", store_cancel(f.s, "x", NULL, NULL, &out, err));
    BAD(STATUS_BAD_INPUT, "no run 'ffffffffffff'", store_cancel(f.s, NULL, "ffffffffffff", NULL, &out, err));
    GOOD(store_cancel(f.s, "s", NULL, "user", &out, err));
    assert_int_equal(out.queued, 2);
    assert_int_equal(out.live, 1);
    assert_int_equal(out.kept, 1);
    assert_true(fixture_find(&f, live).cancel > 0);
    assert_int_equal(fixture_find(&f, live).state, RUN_STARTING);
    /* Lost while a cancel is pending: cancelled, not queued again. */
    GOOD(store_attempt_end(f.s, live, 1, &(struct store_exit){.cause = OUTCOME_LOST, .code = -1, .signal = -1},
                           RUN_QUEUED, err));
    assert_int_equal(fixture_find(&f, live).state, RUN_CANCELLED);
    GOOD(store_cancel(f.s, "t", NULL, "user", &out, err));
    assert_int_equal(out.queued, 1);
    bool found;
    struct store_run run;
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 8, store_now(), 0, &run, &found, err));
    assert_false(found);
    GOOD(store_retry(f.s, "s", NULL, false, &out, err));
    assert_int_equal(out.queued, 4);
    GOOD(store_cancel(f.s, NULL, live, "user", &out, err));
    assert_int_equal(out.queued, 1);
}

/* A group of changes is one transaction: whole, or not at all. */
static void groups(void **state)
{
    (void)state;
    struct store_run run;
    bool found;
    int attempt = 0;
    fixture_submit(&f, "sweep: one\nbase: {seed: 1}\n");
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 1, store_now(), 0, &run, &found, err));
    assert_true(found);
    int64_t events = fixture_integer(&f, "SELECT count(*) FROM event");
    GOOD(store_group_begin(f.s, err));
    GOOD(store_attempt_begin(f.s, run.id, &fixture_start, &attempt, err));
    GOOD(store_group_end(f.s, false, err));
    assert_int_equal(fixture_find(&f, run.id).state, RUN_QUEUED);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event"), events);

    GOOD(store_group_begin(f.s, err));
    GOOD(store_attempt_begin(f.s, run.id, &fixture_start, &attempt, err));
    BAD(STATUS_FAILED, "attempt 2 is over", store_attempt_running(f.s, run.id, 2, "handle", 0, 0, NULL, err));
    BAD(STATUS_FAILED, "not in this group", store_attempt_running(f.s, run.id, 1, "handle", 0, 0, NULL, err));
    assert_int_equal(store_group_end(f.s, true, NULL), STATUS_FAILED);
    assert_int_equal(fixture_find(&f, run.id).state, RUN_QUEUED);
    assert_int_equal(fixture_find(&f, run.id).attempts, 0);

    GOOD(store_group_begin(f.s, err));
    GOOD(store_attempt_begin(f.s, run.id, &fixture_start, &attempt, err));
    GOOD(store_attempt_running(f.s, run.id, 1, "handle", 0, 0, NULL, err));
    GOOD(store_group_end(f.s, true, err));
    assert_int_equal(fixture_find(&f, run.id).state, RUN_RUNNING);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event"), events + 2);
}

static void queue_order(void **state)
{
    (void)state;
    struct store_run run;
    bool found;
    fixture_submit(&f, "sweep: low\nbase: {seed: 1}\nrun: {priority: -1}\n");
    fixture_submit(&f, "sweep: big\nbase: {seed: 2}\nrun: {priority: 9, slots: 4}\n");
    fixture_submit(&f, "sweep: one\nbase: {seed: 3}\n");
    fixture_submit(&f, "sweep: two\nbase: {seed: 4}\n");
    fixture_submit(&f, "sweep: gpu\nbase: {seed: 5, device: cuda}\nrun: {priority: 9}\n");
    int64_t now = store_now();
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 4, now, 0, &run, &found, err));
    assert_string_equal(run.sweep, "big");
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 3, now, 0, &run, &found, err));
    assert_string_equal(run.sweep, "one");
    GOOD(store_sweep_pause(f.s, "one", true, err));
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 3, now, 0, &run, &found, err));
    assert_string_equal(run.sweep, "two");
    /* A run of a paused sweep that another wants too is not held. */
    fixture_submit(&f, "sweep: also-one\nbase: {seed: 3}\n");
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 3, now, 0, &run, &found, err));
    assert_string_equal(run.sweep, "one");
    GOOD(store_queue_next(f.s, NULL, DEVICE_CUDA, 1, now, 0, &run, &found, err));
    assert_string_equal(run.sweep, "gpu");
    GOOD(store_sweep_pause(f.s, "one", true, err));
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'paused'"), 1);
    BAD(STATUS_BAD_INPUT, "no sweep 'onee' (there is one)", store_sweep_pause(f.s, "onee", true, err));
    /* The queue's own pause is beside the sweeps', and holds what comes later too. */
    bool paused = true;
    GOOD(store_queue_paused(f.s, &paused, err));
    assert_false(paused);
    GOOD(store_queue_pause(f.s, true, err));
    GOOD(store_queue_pause(f.s, true, err));
    GOOD(store_queue_paused(f.s, &paused, err));
    assert_true(paused);
    fixture_submit(&f, "sweep: later\nbase: {seed: 77}\n");
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 8, now, 0, &run, &found, err));
    assert_false(found);
    GOOD(store_queue_pause(f.s, false, err));
    GOOD(store_queue_next(f.s, NULL, DEVICE_CPU, 8, now, 0, &run, &found, err));
    assert_true(found);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE text = 'the queue'"), 2);
}

/* What `taper run` asks is what a daemon asks, of one sweep. */
static void next_of_a_sweep(void **state)
{
    (void)state;
    struct store_run run;
    bool found;
    int64_t now = store_now();
    fixture_submit(&f, "sweep: first\nbase: {seed: 1}\n");
    fixture_submit(&f, "sweep: second\nbase: {seed: 2}\n");
    GOOD(store_queue_next(f.s, "second", DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_true(found);
    assert_string_equal(run.sweep, "second");
    /* A delay beyond any retry's, of a clock that was set back since, is over; one that may be is waited for. */
    static const struct {
        int64_t ahead;
        bool found;
    } delays[] = {{0, true}, {1, false}, {600000000, false}, {600000001, true}, {315360000000000, true}};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "UPDATE run SET not_before = %lld", (long long)(now + delays[i].ahead));
        GOOD(store_exec(f.s, sql, "test", err));
        for (int sweep = 0; sweep < 2; sweep++) {
            GOOD(store_queue_next(f.s, sweep ? "second" : NULL, DEVICE_CPU, 1, now, 0, &run, &found, err));
            assert_int_equal(found, delays[i].found);
        }
    }
    GOOD(store_queue_pause(f.s, true, err));
    GOOD(store_queue_next(f.s, "second", DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_false(found);
}

/* A run that needs another's result waits for it, in a pack too, and until it is done. */
static void a_run_may_need_another(void **state)
{
    (void)state;
    struct store_run run, mates[4];
    char first[CONFIG_ID], second[CONFIG_ID], sql[160];
    bool found;
    int attempt, count = 0;
    int64_t now = store_now();
    fixture_submit(&f, "sweep: s\ngrid: {seed: [1, 2, 3]}\nrun: {pack: 4}\n");
    fixture_run_id(&f, "s", 0, first);
    fixture_run_id(&f, "s", 1, second);
    snprintf(sql, sizeof sql, "UPDATE run SET needs = '%s' WHERE id = '%s'", second, first);
    assert_int_equal(fixture_change(&f, sql), 1);
    for (int asked = 0; asked < 2; asked++) {
        GOOD(store_queue_next(f.s, asked ? "s" : NULL, DEVICE_CPU, 1, now, 0, &run, &found, err));
        assert_true(found);
        assert_string_equal(run.id, second);
        GOOD(store_queue_mates(f.s, asked ? "s" : NULL, &run, now, 4, mates, &count, err));
        assert_int_equal(count, 1);
        assert_string_not_equal(mates[0].id, first);
    }
    const struct store_exit end = {.cause = OUTCOME_DONE, .code = 0, .signal = -1};
    GOOD(store_attempt_begin(f.s, second, &fixture_start, &attempt, err));
    GOOD(store_attempt_end(f.s, second, 1, &end, RUN_FAILED, err));
    GOOD(store_queue_next(f.s, "s", DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_string_not_equal(run.id, first);
    fixture_change(&f, "UPDATE run SET state = 'done' WHERE state = 'failed'");
    GOOD(store_queue_next(f.s, "s", DEVICE_CPU, 1, now, 0, &run, &found, err));
    assert_string_equal(run.id, first);
    /* It must be a run that there is. */
    snprintf(sql, sizeof sql, "UPDATE run SET needs = 'ffffffffffff' WHERE id = '%s'", first);
    BAD(STATUS_FAILED, "FOREIGN KEY", store_exec(f.s, sql, "test", err));
}

static int count_state(void *arg, const struct store_run *run)
{
    ((int *)arg)[run->state]++;
    return 0;
}

static void runs_by_state(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, fixture_two_by_two);
    fixture_run_id(&f, "s", 1, id);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    int seen[RUN_STATES] = {0};
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_STARTING | 1u << RUN_RUNNING}, count_state,
                         seen, err));
    assert_int_equal(seen[RUN_STARTING], 1);
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_RUNNING}, count_state, seen, err));
    assert_int_equal(seen[RUN_RUNNING], 0);
    GOOD(store_runs_each(f.s, &(struct store_filter){.states = 1u << RUN_QUEUED}, count_state, seen, err));
    assert_int_equal(seen[RUN_QUEUED], 3);
    memset(seen, 0, sizeof seen);
    GOOD(store_runs_each(f.s, &(struct store_filter){.sweep = "s", .states = 1u << RUN_STARTING, .limit = 9},
                         count_state, seen, err));
    assert_int_equal(seen[RUN_STARTING], 1);
    assert_int_equal(seen[RUN_QUEUED], 0);
    GOOD(store_runs_each(f.s, &(struct store_filter){.limit = 2}, count_state, seen, err));
    assert_int_equal(seen[RUN_QUEUED] + seen[RUN_STARTING], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(life_of_a_run),
        STORE_TEST(only_legal_changes),
        STORE_TEST(cancel_heeds_other_sweeps),
        STORE_TEST(groups),
        STORE_TEST(queue_order),
        STORE_TEST(next_of_a_sweep),
        STORE_TEST(a_run_may_need_another),
        STORE_TEST(runs_by_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
