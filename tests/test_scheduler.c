/* The scheduler: order, retries, cancels, runs that were lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/store/store_rows.h"
#include "tests/support/scheduler_bed.h"

static void in_the_order_of_priority_and_arrival(void **state)
{
    (void)state;
    bed_open(2, 5);
    bed_submit("low", 0, 2, "run: {priority: -1}");
    bed_submit("first", 10, 11, "");
    bed_submit("second", 20, 21, "");
    bed_submit("high", 30, 31, "run: {priority: 9}");
    const int want[] = {30, 31, 10, 11, 20, 21, 0, 1, 2};
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    for (int i = 0; i < 9; i++) {
        assert_true(bed.executor.count > i);
        assert_true(bed.executor.jobs[i].released);
        assert_int_equal(bed_run(i).seed, want[i]);
        bed_state_is(i, RUN_RUNNING);
        bed_ends(i, OUTCOME_DONE);
        bed_state_is(i, RUN_DONE);
    }
    assert_int_equal(bed.executor.count, 9);
    assert_int_equal(scheduler_live(bed.scheduler), 0);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 2);
    bed_close();
}

static void wide_runs_are_waited_for(void **state)
{
    (void)state;
    bed_open(2, 5);
    bed_submit("narrow", 0, 0, "");
    bed_submit("wide", 1, 1, "run: {slots: 2}");
    bed_submit("late", 2, 2, "");
    bed_submit("never", 3, 3, "run: {slots: 3, priority: 9}");
    bed_turn();
    assert_int_equal(bed.executor.count, 1); /* the late one does not pass the wide one */
    bed_ends(0, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 2);
    assert_int_equal(bed_run(1).seed, 1);
    bed_ends(1, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 3);
    assert_int_equal(bed_run(2).seed, 2);
    bed_ends(2, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 3); /* what can never fit holds nobody up */
    bed_close();
}

static void failures_are_retried_with_growing_delays(void **state)
{
    (void)state;
    bed_open(1, 0.05);
    bed_submit("a", 0, 0, "run: {retries: 3}");
    bed_turn();
    uint64_t waited[4], ended = uv_hrtime(); /* before the end: a delay counts from there, however slow the rest is */
    for (int i = 0; i < 4; i++) {
        bed_until_started(i + 1);
        waited[i] = (uv_hrtime() - ended) / 1000000;
        assert_int_equal(bed.executor.jobs[i].attempt, i + 1);
        ended = uv_hrtime();
        bed_ends(i, i == 1 ? OUTCOME_SIGNAL : i == 2 ? OUTCOME_TIMEOUT : OUTCOME_FAILED);
        bed_state_is(i, i < 3 ? RUN_QUEUED : RUN_FAILED);
        assert_int_equal(bed_run(i).failures, i + 1);
    }
    assert_true(waited[1] >= 40 && waited[2] >= 90 && waited[3] >= 180);
    struct store_changed changed;
    assert_int_equal(store_retry(bed.store, "a", NULL, false, &changed, NULL), STATUS_OK);
    scheduler_kick(bed.scheduler);
    bed_turn();
    assert_int_equal(bed.executor.count, 5); /* at once, with its retries back */
    bed_ends(4, OUTCOME_FAILED);
    bed_state_is(4, RUN_QUEUED);
    bed_close();
}

static void attempt_is(const char *run, int number, enum outcome want)
{
    struct store_attempt attempt;
    assert_int_equal(store_attempt_get(bed.store, run, number, &attempt, NULL), STATUS_OK);
    assert_string_equal(attempt.cause, outcome_name(want));
    store_attempt_fini(&attempt);
}

static int64_t counted(const char *sql)
{
    struct store_rows *rows = NULL;
    bool found = false;
    assert_int_equal(store_rows_open(&rows, bed.store, "test", sql, NULL), STATUS_OK);
    assert_int_equal(store_rows_next(rows, &found, NULL), STATUS_OK);
    assert_true(found);
    int64_t n = store_rows_at(rows, 0).integer;
    store_rows_close(rows);
    return n;
}

static int keep_run(void *arg, const struct store_run *run)
{
    *(struct store_run *)arg = *run;
    return 0;
}

/* Too little memory is told apart from other failures, and tried again like them. Whatever the log's last line says. */
static void memory_that_ran_out(void **state)
{
    (void)state;
    static const char *const texts[] = {"step 3: no space for it", "taper: device: cuda: out of memory: 3 bytes",
                                        "step 3: not finite: loss nan"};
    static const enum outcome outcomes[] = {OUTCOME_MEMORY, OUTCOME_FAILED, OUTCOME_FAILED};
    bed_open(1, 0);
    bed_submit("a", 0, 0, "run: {retries: 2}");
    for (int i = 0; i < 3; i++) {
        bed_until_started(i + 1);
        struct store_run run = bed_run(i);
        bed_ends_with(i, outcomes[i], -1, texts[i]);
        assert_int_equal(bed_run(i).failures, i + 1);
        attempt_is(run.id, i + 1, outcomes[i]);
    }
    bed_state_is(2, RUN_FAILED);
    bed_close();
}

/* Beside others nobody knows who took it: that counts for nothing, and the run goes on when there is more. */
static void memory_that_ran_out_beside_others(void **state)
{
    (void)state;
    bed_open(2, 0.02);
    bed_submit("a", 0, 1, "run: {retries: 0}");
    bed_until_started(2);
    bed_ends_with(0, OUTCOME_MEMORY, -1, "out of memory");
    bed_state_is(0, RUN_QUEUED);
    assert_int_equal(bed_run(0).failures, 0);
    assert_non_null(strstr(scheduler_trouble(bed.scheduler), "memory: out of memory"));
    bed_until_started(3); /* after a while */
    bed_ends(1, OUTCOME_DONE);
    bed_ends_with(2, OUTCOME_MEMORY, -1, "out of memory"); /* alone: its own need */
    bed_state_is(2, RUN_FAILED);
    bed_close();
}

/* Training is deterministic: what was not finite once will be again, however many retries there are. */
static void what_diverged_is_not_tried_again(void **state)
{
    (void)state;
    bed_open(1, 0);
    bed_submit("a", 0, 0, "run: {retries: 5}");
    bed_turn();
    struct store_run run = bed_run(0);
    bed_ends(0, OUTCOME_DIVERGED);
    bed_state_is(0, RUN_FAILED);
    attempt_is(run.id, 1, OUTCOME_DIVERGED);
    bed_close();
}

/* A place that cannot be written is no fault of the run: it waits, longer each time, and loses none of its retries. */
static void a_full_disk_counts_for_nothing(void **state)
{
    (void)state;
    bed_open(1, 0.02);
    bed_submit("a", 0, 0, "run: {retries: 0}");
    for (int i = 0; i < 3; i++) {
        bed_until_started(i + 1);
        bed_ends(i, OUTCOME_DISK);
        bed_state_is(i, RUN_QUEUED);
        assert_int_equal(bed_run(i).failures, 0);
        attempt_is(bed_run(i).id, i + 1, OUTCOME_DISK);
    }
    bed_until_started(4);
    bed_ends(3, OUTCOME_DONE);
    bed_state_is(3, RUN_DONE);
    bed_close();
}

static void what_does_not_count(void **state)
{
    (void)state;
    bed_open(1, 0);
    bed_submit("a", 0, 0, "run: {retries: 0}");
    bed_turn();
    bed_ends(0, OUTCOME_LOST);
    bed_ends(1, OUTCOME_START);
    bed_until_started(3);
    bed_ends(2, OUTCOME_STOPPED);
    assert_int_equal(bed.executor.count, 4);
    assert_int_equal(bed_run(3).failures, 0);
    bed_ends(3, OUTCOME_INPUT);
    bed_state_is(3, RUN_FAILED);
    bed_close();
}

static void lost_again_and_again_waits(void **state)
{
    (void)state;
    bed_open(1, 0.1);
    bed_submit("a", 0, 0, "");
    bed_turn();
    bed_ends(0, OUTCOME_LOST);
    assert_int_equal(bed.executor.count, 2); /* the first time at once */
    uint64_t begin = uv_hrtime();
    bed_ends(1, OUTCOME_LOST);
    assert_int_equal(bed.executor.count, 2);
    bed_until_started(3);
    assert_true(uv_hrtime() - begin > 90000000u);
    bed_close();
}

/* Whatever the machine had none of, it is no fault of the runs: they wait, all of them, and go on by themselves. */
static void a_start_that_fails_counts_for_nothing(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed.executor.refuse = true;
    bed_submit("a", 0, 9, "run: {retries: 0}");
    for (int i = 0; i < 20; i++)
        bed_turn();
    assert_int_equal(bed.executor.count, 0);
    assert_int_equal(counted("SELECT count(*) FROM run WHERE state = 'queued' AND failures = 0"), 10);
    assert_int_equal(counted("SELECT count(*) FROM attempt"), 1); /* one found out for all */
    assert_int_equal(counted("SELECT count(*) FROM attempt WHERE cause = 'start'"), 1);
    assert_string_equal(scheduler_trouble(bed.scheduler), "no processes left");
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 2);
    bed.executor.refuse = false;
    bed_until_started(2);
    assert_string_equal(scheduler_trouble(bed.scheduler), "");
    assert_int_equal(counted("SELECT count(*) FROM event WHERE kind = 'held'"), 1);
    bed_close();
}

/* What is wrong with the run itself ends that run, and holds nobody else up. */
static void a_start_that_the_run_is_at_fault_for(void **state)
{
    (void)state;
    char *dir = NULL;
    bed_open(1, 0);
    bed_submit("a", 0, 1, "run: {retries: 3}");
    struct store_run first;
    struct store_filter all = {.limit = 1};
    assert_int_equal(store_runs_each(bed.store, &all, keep_run, &first, NULL), STATUS_OK);
    dir = home_run_dir(&bed.home, first.id);
    assert_int_equal(file_write_all(dir, "x", 1, NULL), STATUS_OK);
    free(dir);
    bed_until_started(1);
    assert_int_equal(bed_run(0).seed, 1);
    attempt_is(first.id, 1, OUTCOME_INPUT);
    assert_int_equal(store_run_find(bed.store, first.id, &first, NULL), STATUS_OK);
    assert_int_equal(first.state, RUN_FAILED);
    bed_close();
}

static void cancelled_only_when_gone(void **state)
{
    (void)state;
    struct store_changed changed;
    bed_open(2, 0);
    bed_submit("a", 0, 3, "");
    bed_turn();
    assert_int_equal(store_cancel(bed.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    assert_int_equal(changed.queued, 2);
    assert_int_equal(changed.live, 2);
    scheduler_cancel(bed.scheduler);
    assert_true(bed.executor.jobs[0].stopped && bed.executor.jobs[1].stopped);
    assert_false(bed.executor.jobs[0].killed);
    bed_state_is(0, RUN_RUNNING);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 0);
    bed_ends(0, OUTCOME_SIGNAL);
    bed_state_is(0, RUN_CANCELLED);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 1);
    bed_ends(1, OUTCOME_DONE); /* it got done all the same */
    bed_state_is(1, RUN_DONE);
    assert_int_equal(bed.executor.count, 2);
    bed_close();
}

static void the_first_failure_takes_the_others_along(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed_submit("fast", 0, 4, "run: {retries: 0, fail_fast: true}");
    bed_submit("other", 10, 10, "");
    bed_turn();
    bed_ends(0, OUTCOME_FAILED);
    bed_state_is(0, RUN_FAILED);
    assert_true(bed.executor.jobs[1].stopped);
    bed_ends(1, OUTCOME_STOPPED);
    bed_state_is(1, RUN_CANCELLED);
    assert_int_equal(bed.executor.count, 3);
    assert_int_equal(bed_run(2).seed, 10); /* only the other sweep's run was started since */
    bed_close();
}

static void paused_sweeps_start_nothing(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed_submit("a", 0, 3, "");
    bed_submit("b", 10, 10, "");
    bed_turn();
    assert_int_equal(store_sweep_pause(bed.store, "a", true, NULL), STATUS_OK);
    bed_ends(0, OUTCOME_DONE);
    assert_int_equal(bed_run(2).seed, 10);
    bed_ends(1, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 3);
    assert_int_equal(store_sweep_pause(bed.store, "a", false, NULL), STATUS_OK);
    scheduler_kick(bed.scheduler);
    bed_turn();
    assert_int_equal(bed.executor.count, 4);
    bed_close();
}

static void attempts_are_taken_over(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed_submit("a", 0, 2, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    bed_close(); /* as after a crash: nothing was said */
    bed_open(2, 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(scheduler_live(bed.scheduler), 2);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 0);
    assert_int_equal(bed.executor.count, 2); /* nothing was started twice */
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    assert_int_equal(bed.executor.count, 3);
    bed_ends(1, OUTCOME_LOST);
    assert_int_equal(bed.executor.jobs[3].attempt, 2);
    bed_close();
    /* One whose handle nobody knows any more. */
    bed.executor.jobs[2].handle[0] = '?';
    bed_open(2, 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(bed.executor.count, 5);
    assert_int_equal(scheduler_live(bed.scheduler), 2);
    bed_close();
}

/* A start that takes long holds up neither the loop nor the store; its slot is taken, and the run is starting. */
static void a_slow_start_freezes_nothing(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed.executor.slow = true;
    bed_submit("a", 0, 3, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    bed_state_is(0, RUN_STARTING);
    assert_int_equal(store_sweep_pause(bed.store, "a", true, NULL), STATUS_OK); /* the store takes changes meanwhile */
    assert_int_equal(store_sweep_pause(bed.store, "a", false, NULL), STATUS_OK);
    bed_answers(1, NULL);
    bed_state_is(1, RUN_RUNNING);
    bed_state_is(0, RUN_STARTING);
    assert_true(bed.executor.jobs[1].released && !bed.executor.jobs[0].released);
    bed_ends(1, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 3); /* the others go on */
    bed_answers(0, NULL);
    bed_state_is(0, RUN_RUNNING);
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    bed_close();
}

/* The answer may be that nothing came of it: the slot is free again, and it is tried once more. */
static void a_start_may_fail_late(void **state)
{
    (void)state;
    bed_open(1, 0);
    bed.executor.slow = true;
    bed_submit("a", 0, 0, "run: {retries: 1}");
    bed_turn();
    bed_answers(0, "the batch system said no");
    assert_int_equal(bed_run(0).failures, 0);
    attempt_is(bed_run(0).id, 1, OUTCOME_START);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 1);
    bed_until_started(2);
    bed_answers(1, NULL);
    bed_ends(1, OUTCOME_DONE);
    bed_state_is(1, RUN_DONE);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 1);
    assert_int_equal(scheduler_live(bed.scheduler), 0);
    bed_close();
}

/* What is cancelled while it starts is never let go, and is cancelled once it is gone. */
static void cancelled_while_starting(void **state)
{
    (void)state;
    struct store_changed changed;
    bed_open(1, 0);
    bed.executor.slow = true;
    bed_submit("a", 0, 0, "");
    bed_turn();
    assert_int_equal(store_cancel(bed.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(bed.scheduler);
    assert_false(bed.executor.jobs[0].stopped);
    bed_answers(0, NULL);
    assert_true(bed.executor.jobs[0].killed && !bed.executor.jobs[0].released);
    bed_ends(0, OUTCOME_START);
    bed_state_is(0, RUN_CANCELLED);
    bed_close();
}

/* A wish made after the cancel wins: submitted again, or retried, while it is ending, it is queued when it has ended.
 */
static void wanted_again_while_ending(void **state)
{
    (void)state;
    struct store_changed changed;
    bed_open(2, 0);
    bed_submit("a", 0, 1, "");
    bed_turn();
    assert_int_equal(store_cancel(bed.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(bed.scheduler);
    assert_true(bed.executor.jobs[0].stopped && bed.executor.jobs[1].stopped);
    assert_int_equal(store_retry(bed.store, NULL, bed_run(1).id, false, &changed, NULL), STATUS_OK);
    assert_int_equal(changed.queued, 1);
    bed_submit("a", 0, 0, ""); /* and the other by its sweep */
    bed_ends(0, OUTCOME_STOPPED);
    assert_int_equal(bed.executor.count, 3);
    assert_string_equal(bed_run(2).id, bed_run(0).id);
    bed_ends(1, OUTCOME_SIGNAL);
    assert_int_equal(bed_run(1).failures, 0);
    bed_state_is(1, bed.executor.count == 4 ? RUN_RUNNING : RUN_QUEUED);
    bed_close();
}

/* After a restart an attempt goes to the executor whose name it has; one of an executor that is not there may be
 * running all the same, and is left alone. */
static void executors_are_found_by_name(void **state)
{
    (void)state;
    struct executor other = bed.executor.base;
    struct executor *both[] = {&other, &bed.executor.base, NULL}, *without[] = {&other, NULL};
    bed_open(1, 0);
    bed_submit("a", 0, 1, "");
    bed_turn();
    bed_close();
    other.name = "other";
    executor_use_slots(&other, slots_create(&(struct slots_options){.cpu = 0}));
    bed_executors = without;
    bed_open(1, 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(scheduler_live(bed.scheduler), 0);
    bed_state_is(0, RUN_RUNNING);
    assert_int_equal(bed.executor.count, 1);
    bed_close();
    bed_executors = both;
    bed_open(1, 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(scheduler_live(bed.scheduler), 1);
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    bed_close();
    bed_executors = NULL;
    slots_destroy(other.slots);
}

static void draining_starts_nothing(void **state)
{
    (void)state;
    bed_open(2, 0);
    bed_submit("a", 0, 5, "");
    bed_turn();
    scheduler_drain(bed.scheduler, true, EXECUTOR_STOP);
    assert_true(bed.executor.jobs[0].stopped && bed.executor.jobs[1].stopped);
    bed_ends(0, OUTCOME_STOPPED);
    bed_ends(1, OUTCOME_SIGNAL); /* the grace was over */
    assert_int_equal(bed.executor.count, 2);
    assert_int_equal(scheduler_live(bed.scheduler), 0);
    bed_state_is(0, RUN_QUEUED);
    bed_state_is(1, RUN_QUEUED);
    assert_int_equal(bed_run(1).failures, 0);
    bed_close();
}

int main(void)
{
#define WITH_HOME(f) cmocka_unit_test_setup_teardown(f, bed_make, bed_drop)
    const struct CMUnitTest tests[] = {WITH_HOME(in_the_order_of_priority_and_arrival),
                                       WITH_HOME(wide_runs_are_waited_for),
                                       WITH_HOME(failures_are_retried_with_growing_delays),
                                       WITH_HOME(memory_that_ran_out),
                                       WITH_HOME(memory_that_ran_out_beside_others),
                                       WITH_HOME(what_diverged_is_not_tried_again),
                                       WITH_HOME(a_full_disk_counts_for_nothing),
                                       WITH_HOME(what_does_not_count),
                                       WITH_HOME(lost_again_and_again_waits),
                                       WITH_HOME(a_start_that_fails_counts_for_nothing),
                                       WITH_HOME(a_start_that_the_run_is_at_fault_for),
                                       WITH_HOME(cancelled_only_when_gone),
                                       WITH_HOME(the_first_failure_takes_the_others_along),
                                       WITH_HOME(paused_sweeps_start_nothing),
                                       WITH_HOME(attempts_are_taken_over),
                                       WITH_HOME(a_slow_start_freezes_nothing),
                                       WITH_HOME(a_start_may_fail_late),
                                       WITH_HOME(cancelled_while_starting),
                                       WITH_HOME(wanted_again_while_ending),
                                       WITH_HOME(executors_are_found_by_name),
                                       WITH_HOME(draining_starts_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
