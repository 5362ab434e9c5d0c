/* The scheduler and GPUs: which one a retry gets, and which ones are set aside. Over pretended devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/store/store_device.h"
#include "tests/support/gpus.h"
#include "tests/support/scheduler_bed.h"

static void open_two(double retry_delay)
{
    gpus_are("gpu GPU-a 80000000000 0\ngpu GPU-b 80000000000 0\n");
    bed.gpu_runs = 1;
    bed.base = "model.size: demo, device: cuda";
    bed_open(1, retry_delay);
}

/* The GPU of a job. */
static const char *device_of(int job)
{
    static char device[SLOTS_DEVICE];
    struct store_attempt attempt;
    assert_int_equal(store_attempt_get(bed.store, bed_run(job).id, bed.executor.jobs[job].attempt, &attempt, NULL),
                     STATUS_OK);
    snprintf(device, sizeof device, "%s", attempt.device);
    store_attempt_fini(&attempt);
    return device;
}

static int widest(void)
{
    return slots_widest(bed.executor.base.slots, DEVICE_CUDA);
}

static int aside(void)
{
    json_t *list = slots_aside_json(bed.executor.base.slots);
    int n = (int)json_array_size(list);
    json_decref(list);
    return n;
}

static void a_retry_takes_another_device(void **state)
{
    (void)state;
    open_two(0);
    bed_submit("a", 0, 3, "run: {retries: 9}");
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    assert_string_equal(device_of(0), "GPU-a");
    assert_string_equal(device_of(1), "GPU-b");
    bed_ends(0, OUTCOME_FAILED);
    /* Only the one it failed on is free: the next in the queue takes that. */
    bed_until_started(3);
    assert_int_equal(bed_run(2).seed, 2);
    assert_string_equal(device_of(2), "GPU-a");
    bed_ends(1, OUTCOME_DONE);
    bed_until_started(4);
    assert_int_equal(bed_run(3).seed, 0);
    assert_string_equal(device_of(3), "GPU-b");
    /* With nobody else for it, the free one waits; it is not wasted on the same run. */
    bed_ends(3, OUTCOME_FAILED);
    bed_until_started(5);
    assert_int_equal(bed_run(4).seed, 3);
    assert_string_equal(device_of(4), "GPU-b");
    bed_ends(4, OUTCOME_DONE);
    bed_turn();
    assert_int_equal(bed.executor.count, 5);
    bed_ends(2, OUTCOME_DONE);
    bed_until_started(6);
    assert_string_equal(device_of(5), "GPU-a");
    /* What was not the device's fault chooses freely. */
    bed_ends(5, OUTCOME_STOPPED);
    bed_until_started(7);
    assert_string_equal(device_of(6), "GPU-a");
    assert_int_equal(aside(), 0);
    bed_close();
}

/* The next jobs on a device end so, others are done. */
static void end_all(const char *device, enum outcome outcome, int until)
{
    for (int i = 0; i < bed.executor.count && i < until; i++)
        if (!bed.executor.jobs[i].over) {
            bed_ends(i, strcmp(device_of(i), device) == 0 ? outcome : OUTCOME_DONE);
            bed_turn();
        }
}

static void a_device_that_fails_every_run_is_set_aside(void **state)
{
    (void)state;
    open_two(0);
    bed_submit("a", 0, 11, "run: {retries: 3}");
    bed_turn();
    end_all("GPU-a", OUTCOME_FAILED, SCRIPTED_JOBS_MOST);
    assert_int_equal(bed.executor.count, 15);
    assert_int_equal(aside(), 1);
    assert_int_equal(widest(), 1);
    for (int i = 0; i < bed.executor.count; i++)
        bed_state_is(i, RUN_DONE);
    bed_close();
    /* A restart remembers, and does not wait for what is aside. */
    bed_open(1, 0);
    assert_int_equal(aside(), 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    assert_int_equal(aside(), 1);
    bed_submit("b", 20, 21, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 16);
    assert_string_equal(device_of(15), "GPU-b");
    char device[STORE_DEVICE];
    assert_int_equal(store_device_use(bed.store, "GPU-", device, sizeof device, NULL), STATUS_OK);
    assert_string_equal(device, "GPU-a");
    scheduler_use_device(bed.scheduler, device);
    bed_turn();
    assert_int_equal(bed.executor.count, 17);
    assert_string_equal(device_of(16), "GPU-a");
    bed_close();
}

static void only_failures_in_a_row_count(void **state)
{
    (void)state;
    static const enum outcome fine[] = {OUTCOME_DONE, OUTCOME_DIVERGED, OUTCOME_TIMEOUT};
    static const enum outcome nobodys[] = {OUTCOME_INPUT, OUTCOME_MEMORY, OUTCOME_LOST, OUTCOME_STOPPED};
    gpus_are("gpu GPU-a 80000000000 0\n");
    bed.gpu_runs = 1;
    bed.base = "model.size: demo, device: cuda";
    bed_open(1, 0);
    bed_submit("a", 0, 99, "run: {retries: 0}");
    bed_turn();
    int job = 0;
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        bed_ends(job++, OUTCOME_FAILED);
        bed_ends(job++, OUTCOME_SIGNAL);
        bed_ends(job++, fine[i]);
    }
    bed_ends(job++, OUTCOME_FAILED);
    bed_ends(job++, OUTCOME_FAILED);
    for (size_t i = 0; i < sizeof nobodys / sizeof nobodys[0]; i++)
        bed_ends(job++, nobodys[i]);
    assert_int_equal(aside(), 0);
    assert_int_equal(bed.executor.count, job + 1);
    bed_ends(job, OUTCOME_FAILED);
    assert_int_equal(aside(), 1);
    assert_int_equal(widest(), 0);
    assert_int_equal(bed.executor.count, job + 1);
    bed_close();
}

static void what_fails_everywhere_is_the_runs_own(void **state)
{
    (void)state;
    open_two(0);
    bed_submit("a", 0, 7, "run: {retries: 5}");
    bed_turn();
    for (int i = 0; i < 48; i++) {
        assert_true(bed.executor.count > i);
        bed_ends(i, OUTCOME_FAILED);
    }
    bed_turn();
    assert_int_equal(aside(), 0);
    assert_int_equal(bed.executor.count, 48);
    bed_close();
}

static void a_pack_counts_once(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 80000000000 0\n");
    bed.gpu_runs = 1;
    bed.base = "model.size: demo, device: cuda";
    bed_open(1, 60);
    bed_submit("a", 0, 3, "run: {pack: 4, retries: 1}");
    bed_turn();
    assert_int_equal(bed.executor.count, 4);
    for (int i = 0; i < 4; i++)
        bed_ends(i, OUTCOME_FAILED);
    assert_int_equal(aside(), 0);
    bed_close();
}

static void words_for_a_device(void **state)
{
    (void)state;
    bed_open(1, 0);
    char device[STORE_DEVICE];
    int64_t since;
    struct error err = {0};
    assert_int_equal(store_device_use(bed.store, "GPU-a", device, sizeof device, &err), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "'GPU-a' means no device that is set aside; set aside is none");
    assert_int_equal(store_device_set_aside(bed.store, "GPU-a", "x", &since, NULL), STATUS_OK);
    assert_int_equal(store_device_set_aside(bed.store, "GPU-ab", "y", &since, NULL), STATUS_OK);
    err = (struct error){0};
    assert_int_equal(store_device_use(bed.store, "GPU-", device, sizeof device, &err), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "'GPU-' means several devices; set aside are: GPU-a, GPU-ab");
    assert_int_equal(store_device_use(bed.store, "GPU-a", device, sizeof device, &err), STATUS_OK); /* the whole id */
    assert_string_equal(device, "GPU-a");
    assert_int_equal(store_device_use(bed.store, "", device, sizeof device, &err), STATUS_OK);
    assert_string_equal(device, "GPU-ab");
    bed_close();
}

#define WITH_HOME(f) cmocka_unit_test_setup_teardown(f, bed_make, bed_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOME(a_retry_takes_another_device), WITH_HOME(a_device_that_fails_every_run_is_set_aside),
        WITH_HOME(only_failures_in_a_row_count), WITH_HOME(what_fails_everywhere_is_the_runs_own),
        WITH_HOME(a_pack_counts_once),           WITH_HOME(words_for_a_device),
    };
    return cmocka_run_group_tests(tests, gpus_make, gpus_drop);
}
