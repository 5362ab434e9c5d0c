/* What one turn of the loop brings, in one transaction: ends and starts together, or neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/scheduler_bed.h"

/* SQL by another process' hand. */
static void meddle(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(bed.home.database, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int live_jobs(void)
{
    return scheduler_live(bed.scheduler);
}

static void an_end_and_the_next_start_are_one(void **state)
{
    (void)state;
    bed_open(1, 5);
    bed_submit("a", 0, 2, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(bed.executor.jobs[i].released);
        bed_state_is(i, RUN_RUNNING);
        bed_ends(i, OUTCOME_DONE);
        bed_state_is(i, RUN_DONE);
        assert_int_equal(bed.executor.count, i < 2 ? i + 2 : 3);
    }
    assert_int_equal(live_jobs(), 0);
    bed_close();
}

/* A start that cannot be stored takes nothing with it: the end is recorded all the same, the worker that was held is
 * never let go, and the run is tried again as if it had not been. */
static void a_start_that_is_not_stored(void **state)
{
    (void)state;
    bed_open(1, 5);
    bed_submit("a", 0, 1, "");
    bed_turn();
    bed_state_is(0, RUN_RUNNING);
    meddle("CREATE TRIGGER no BEFORE UPDATE OF handle ON attempt BEGIN SELECT RAISE(ABORT, 'not now'); END");
    bed_ends(0, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 2);
    assert_false(bed.executor.jobs[1].released);
    assert_true(bed.executor.jobs[1].killed);
    bed_state_is(1, RUN_QUEUED);
    assert_int_equal(bed_run(1).attempts, 0);
    assert_non_null(strstr(scheduler_trouble(bed.scheduler), "not now"));
    bed_ends(1, OUTCOME_LOST); /* its worker was never let go */
    bed_state_is(1, RUN_QUEUED);
    meddle("DROP TRIGGER no");
    bed_until_started(3);
    bed_turn();
    bed_state_is(0, RUN_DONE);
    bed_state_is(2, RUN_RUNNING);
    assert_true(bed.executor.jobs[2].released);
    assert_int_equal(bed.executor.jobs[2].attempt, 1);
    bed_ends(2, OUTCOME_DONE);
    bed_state_is(2, RUN_DONE);
    assert_int_equal(live_jobs(), 0);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 1);
    bed_close();
}

/* One end that cannot be recorded holds up no other of the same turn. */
static void an_end_that_is_not_stored(void **state)
{
    (void)state;
    bed_open(2, 5);
    bed_submit("a", 0, 1, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    struct store_run first = bed_run(0);
    char sql[256];
    snprintf(sql, sizeof sql,
             "CREATE TRIGGER no BEFORE UPDATE OF cause ON attempt WHEN old.run = '%s' BEGIN SELECT RAISE(ABORT, 'not "
             "that one'); END",
             first.id);
    meddle(sql);
    const struct executor_end end = {.code = 0, .signal = -1, .cpu_us = 5, .peak_bytes = 6};
    for (int i = 0; i < 2; i++)
        bed.executor.base.on_end(bed.executor.base.arg, bed.executor.jobs[i].first, 0, &end);
    uint64_t begin = uv_hrtime();
    while (bed_run(1).state != RUN_DONE && uv_hrtime() - begin < 10000000000u)
        uv_run(&bed.loop, UV_RUN_ONCE);
    bed_state_is(1, RUN_DONE);
    bed_state_is(0, RUN_RUNNING); /* as far as the store knows */
    bed_close();
}

static int (*widest)(struct executor *ex, int pool);
static uint64_t busy_until; /* uv_hrtime */

/* The second pool is asked only when there is nothing in the first. */
static int widest_late(struct executor *ex, int pool)
{
    while (pool == DEVICE_CUDA && uv_hrtime() < busy_until)
        ;
    return widest(ex, pool);
}

/* A delay that is over between the look at the queue and the question when to look again is not slept through. */
static void a_delay_that_ends_within_a_turn(void **state)
{
    (void)state;
    bed_open(1, 0.05);
    widest = bed.executor.base.widest;
    bed.executor.base.widest = widest_late;
    bed_submit("a", 0, 0, "");
    bed_turn();
    busy_until = uv_hrtime() + 100000000;
    bed_ends(0, OUTCOME_FAILED);
    bed_until_started(2);
    bed_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_end_and_the_next_start_are_one, bed_make, bed_drop),
        cmocka_unit_test_setup_teardown(a_start_that_is_not_stored, bed_make, bed_drop),
        cmocka_unit_test_setup_teardown(an_end_that_is_not_stored, bed_make, bed_drop),
        cmocka_unit_test_setup_teardown(a_delay_that_ends_within_a_turn, bed_make, bed_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
