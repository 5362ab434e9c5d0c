/* The scheduler over an executor that is a batch system: jobs that wait there, what is heard of them, and the ends that
 * only such a system makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/store/store_rows.h"
#include "tests/support/scheduler_bed.h"

static void open_batch(int slots)
{
    bed.executor.waits = bed.executor.base.apart = true;
    bed_open(slots, 0);
}

static bool news(int job, const struct executor_news *what)
{
    struct executor *base = &bed.executor.base;
    bool fine = base->on_news(base->arg, bed.executor.jobs[job].first, bed.executor.jobs[job].place, what);
    bed_turn();
    return fine;
}

/* A column of the last attempt's row. */
static void column_is(int job, const char *column, const char *want)
{
    struct store_rows *rows = NULL;
    bool found = false;
    char *sql =
        memory_format("SELECT %s FROM attempt WHERE run = '%s' ORDER BY attempt DESC LIMIT 1", column, bed_run(job).id);
    assert_int_equal(store_rows_open(&rows, bed.store, "test", sql, NULL), STATUS_OK);
    assert_int_equal(store_rows_next(rows, &found, NULL), STATUS_OK);
    assert_true(found);
    assert_string_equal(store_rows_at(rows, 0).text, want);
    store_rows_close(rows);
    free(sql);
}

static void what_waits_there_is_starting(void **state)
{
    (void)state;
    open_batch(1);
    bed_submit("a", 0, 0, "");
    bed_turn();
    assert_true(bed.executor.jobs[0].released);
    bed_state_is(0, RUN_STARTING);
    column_is(0, "handle", "job 0");
    assert_true(news(0, &(struct executor_news){.handle = "job 0", .text = "job 7 PENDING (Priority)"}));
    bed_state_is(0, RUN_STARTING);
    column_is(0, "note", "job 7 PENDING (Priority)");
    assert_true(news(0, &(struct executor_news){.host = "n3", .text = "job 7 RUNNING on n3", .runs = true}));
    bed_state_is(0, RUN_RUNNING);
    column_is(0, "host", "n3");
    column_is(0, "handle", "job 0");
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    assert_true(news(0, &(struct executor_news){.text = "too late"})); /* nobody asks for it again */
    column_is(0, "note", "job 7 RUNNING on n3");
    bed_close();
}

static void a_restart_takes_over_what_waits(void **state)
{
    (void)state;
    open_batch(1);
    bed_submit("a", 0, 0, "");
    bed_turn();
    bed_close();
    open_batch(1);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(scheduler_live(bed.scheduler), 1);
    assert_int_equal(bed.executor.count, 1);
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    bed_close();
}

static void is_after(int job, enum outcome outcome, enum run_state next, int failures)
{
    bed_ends(job, outcome);
    bed_state_is(job, next);
    assert_int_equal(bed_run(job).failures, failures);
}

static void preemption_and_nodes_count_for_nothing(void **state)
{
    (void)state;
    open_batch(1);
    bed_submit("a", 0, 0, "run: {retries: 0}");
    bed_turn();
    for (int i = 0; i < 6; i++) {
        bed_until_started(i + 1);
        bed_ends(i, i % 2 ? OUTCOME_NODE : OUTCOME_PREEMPTED);
        assert_int_equal(bed_run(i).failures, 0);
    }
    bed_until_started(7);
    is_after(6, OUTCOME_REVOKED, RUN_CANCELLED, 0);
    bed_submit("b", 1, 2, "");
    bed_until_started(8);
    is_after(7, OUTCOME_REFUSED, RUN_FAILED, 1);
    bed_until_started(9);
    is_after(8, OUTCOME_DEPENDENCY, RUN_FAILED, 1);
    bed_close();
}

/* The journal of a job's run: a checkpoint of that step. */
static void checkpoints(int job, int step)
{
    char *path = memory_format("%s/journal.jsonl", bed.executor.jobs[job].dir);
    FILE *out = fopen(path, "a");
    assert_non_null(out);
    fprintf(out, "{\"table\":\"event\",\"attempt\":%d,\"step\":%d,\"kind\":\"checkpoint\",\"text\":\"\"}\n",
            bed.executor.jobs[job].attempt, step);
    fclose(out);
    free(path);
}

static void a_time_limit_is_a_part_of_the_way(void **state)
{
    (void)state;
    open_batch(1);
    bed_submit("a", 0, 0, "run: {retries: 1}");
    static const struct {
        int step, failures;
    } attempts[] = {{100, 0}, {150, 0}, {150, 1}, {151, 1}, {151, 2}};
    for (int i = 0; i < 5; i++) {
        bed_until_started(i + 1);
        checkpoints(i, attempts[i].step);
        bed_ends(i, OUTCOME_TIME_LIMIT);
        assert_int_equal(bed_run(i).failures, attempts[i].failures);
    }
    bed_state_is(4, RUN_FAILED);
    bed_close();
}

/* A job's memory is its own there, whatever runs beside it. */
static void memory_is_each_jobs_own(void **state)
{
    (void)state;
    open_batch(2);
    bed_submit("a", 0, 1, "run: {retries: 0}");
    bed_until_started(2);
    is_after(0, OUTCOME_MEMORY, RUN_FAILED, 1);
    bed_ends(1, OUTCOME_DONE);
    bed_close();
}

/* Runs that are to be submitted otherwise share no job. */
static void packs_have_one_set_of_options(void **state)
{
    (void)state;
    open_batch(1);
    bed.executor.slow = true;
    bed_submit("hold", 9, 9, "");
    bed_turn();
    bed_submit("a", 0, 1, "run: {pack: 8, slurm: {partition: a}}");
    bed_submit("b", 2, 4, "run: {pack: 8, slurm: {partition: b}}");
    bed_answers(0, NULL);
    bed_ends(0, OUTCOME_DONE);
    bed_turn();
    assert_int_equal(bed.executor.count, 3);
    bed_answers(1, NULL);
    bed_ends(1, OUTCOME_DONE);
    bed_ends(2, OUTCOME_DONE);
    bed_turn();
    assert_int_equal(bed.executor.count, 6);
    bed_answers(3, NULL);
    for (int i = 3; i < 6; i++)
        bed_ends(i, OUTCOME_DONE);
    bed_close();
}

int main(void)
{
#define WITH_HOME(f) cmocka_unit_test_setup_teardown(f, bed_make, bed_drop)
    const struct CMUnitTest tests[] = {WITH_HOME(what_waits_there_is_starting),
                                       WITH_HOME(a_restart_takes_over_what_waits),
                                       WITH_HOME(preemption_and_nodes_count_for_nothing),
                                       WITH_HOME(a_time_limit_is_a_part_of_the_way),
                                       WITH_HOME(memory_is_each_jobs_own),
                                       WITH_HOME(packs_have_one_set_of_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
