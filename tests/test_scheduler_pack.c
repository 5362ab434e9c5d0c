/* The scheduler: several runs in one worker. */
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
#include "tests/support/scheduler_bed.h"

static void packs_are_of_equal_shape(void **state)
{
    (void)state;
    bed_open(2, 5);
    bed_submit("a", 0, 0, "variants: {wide: {model.d_model: 64}, broad: {model.d_model: 128}}\nrun: {pack: 3}");
    bed_submit("b", 1, 4, "run: {pack: 3}");                  /* the default shape: wide's */
    bed_submit("alone", 5, 5, "");                            /* wants nobody with it */
    bed_submit("other", 6, 6, "run: {pack: 2}");              /* another number */
    bed_submit("first", 7, 7, "run: {pack: 3, priority: 1}"); /* another priority */
    bed_turn();
    assert_int_equal(bed.executor.count, 1 + 3);
    assert_int_equal(bed_run(0).seed, 7);
    const int want[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(bed.executor.jobs[1 + i].first, &bed.executor.jobs[1]);
        assert_int_equal(bed_run(1 + i).seed, want[i]);
        assert_string_equal(bed_run(1 + i).variant, i == 0 ? "wide" : "default");
        bed_state_is(1 + i, RUN_RUNNING);
    }
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 0);
    assert_int_equal(scheduler_live(bed.scheduler), 4);
    bed_ends(0, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 5); /* broad, by itself */
    assert_string_equal(bed_run(4).variant, "broad");
    bed_ends(4, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 7); /* seeds 3 and 4 */
    assert_ptr_equal(bed.executor.jobs[6].first, &bed.executor.jobs[5]);
    assert_int_equal(bed_run(6).seed, 4);
    bed_close();
}

static void each_of_a_pack_has_its_end(void **state)
{
    (void)state;
    struct store_changed changed;
    bed_open(1, 0);
    bed_submit("a", 0, 3, "run: {pack: 4, retries: 1}");
    bed_turn();
    assert_int_equal(bed.executor.count, 4);
    assert_true(bed.executor.jobs[0].released);
    bed_ends(1, OUTCOME_DONE);
    bed_state_is(1, RUN_DONE);
    bed_ends(2, OUTCOME_FAILED);
    bed_state_is(2, RUN_QUEUED);
    assert_int_equal(bed_run(2).failures, 1);
    assert_int_equal(bed_run(2).pack, 1);    /* tried again by itself */
    assert_int_equal(bed.executor.count, 4); /* the slot is the pack's yet */
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 0);
    assert_int_equal(store_cancel(bed.store, NULL, bed_run(3).id, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(bed.scheduler);
    assert_true(bed.executor.jobs[3].stopped);
    assert_false(bed.executor.jobs[0].stopped);
    bed_ends(3, OUTCOME_STOPPED);
    bed_state_is(3, RUN_CANCELLED);
    bed_state_is(0, RUN_RUNNING);
    bed_ends(0, OUTCOME_DONE);
    bed_state_is(0, RUN_DONE);
    assert_int_equal(bed.executor.count, 5);
    assert_string_equal(bed_run(4).id, bed_run(2).id);
    assert_int_equal(bed.executor.jobs[4].attempt, 2);
    bed_ends(4, OUTCOME_FAILED);
    bed_state_is(4, RUN_FAILED);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 1);
    bed_close();
}

static void a_pack_that_is_killed_counts_for_nobody(void **state)
{
    (void)state;
    bed_open(1, 0);
    bed_submit("a", 0, 2, "run: {pack: 3, retries: 0}");
    bed_turn();
    bed_ends(0, OUTCOME_DONE);
    bed_ends(1, OUTCOME_SIGNAL);
    bed_ends(2, OUTCOME_SIGNAL);
    assert_int_equal(bed.executor.count, 4); /* one by one now */
    assert_int_equal(bed_run(3).failures, 0);
    bed_ends(3, OUTCOME_SIGNAL);
    bed_state_is(3, RUN_FAILED); /* it was that one */
    assert_int_equal(bed.executor.count, 5);
    bed_ends(4, OUTCOME_DONE);
    bed_state_is(4, RUN_DONE);
    bed_close();
}

static void packs_are_taken_over(void **state)
{
    (void)state;
    struct store_changed changed;
    bed_open(2, 0);
    bed_submit("a", 0, 6, "run: {pack: 3}");
    bed_turn();
    assert_int_equal(bed.executor.count, 6);
    bed_ends(1, OUTCOME_DONE);
    bed_close();
    bed_open(2, 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(bed.executor.count, 6);
    assert_int_equal(scheduler_live(bed.scheduler), 5);
    assert_int_equal(slots_free(bed.executor.base.slots, DEVICE_CPU), 0);
    bed_ends(0, OUTCOME_LOST);
    bed_state_is(0, RUN_QUEUED);
    assert_int_equal(bed_run(0).pack, 3); /* nothing says that a mate was to blame */
    bed_ends(2, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 8); /* the one that was lost, and the seventh */
    assert_int_equal(store_cancel(bed.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(bed.scheduler);
    for (int i = 3; i < 8; i++)
        assert_true(bed.executor.jobs[i].stopped);
    bed_close();
}

int main(void)
{
#define WITH_HOME(f) cmocka_unit_test_setup_teardown(f, bed_make, bed_drop)
    const struct CMUnitTest tests[] = {WITH_HOME(packs_are_of_equal_shape), WITH_HOME(each_of_a_pack_has_its_end),
                                       WITH_HOME(a_pack_that_is_killed_counts_for_nobody),
                                       WITH_HOME(packs_are_taken_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
