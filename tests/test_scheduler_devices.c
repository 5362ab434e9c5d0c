/* The scheduler and GPUs: which one a retry gets, and which ones are set aside. Over pretended devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/store/store_device.h"
#include "harness/store/store_rows.h"
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

static int keep_run(void *arg, const struct store_run *run)
{
    *(struct store_run *)arg = *run;
    return 0;
}

/* How the last attempt of a run ended: the cause, and what its text holds. */
static void assert_text(const char *run, const char *cause, const char *text)
{
    struct store_rows *rows = NULL;
    bool found = false;
    assert_int_equal(store_rows_open(&rows, bed.store, "test",
                                     "SELECT cause, text FROM attempt WHERE run = :run ORDER BY attempt DESC", NULL),
                     STATUS_OK);
    store_rows_bind(rows, ":run", run);
    assert_int_equal(store_rows_next(rows, &found, NULL), STATUS_OK);
    assert_true(found);
    assert_string_equal(store_rows_at(rows, 0).text, cause);
    if (!strstr(store_rows_at(rows, 1).text, text))
        fail_msg("%s", store_rows_at(rows, 1).text);
    store_rows_close(rows);
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

static void end_each(int first, int last, enum outcome outcome)
{
    for (int i = first; i <= last; i++) {
        assert_true(bed.executor.count > i);
        bed_ends(i, outcome);
    }
    bed_turn();
}

/* Both get runs done, so it is three runs that fail on both. */
static void what_fails_everywhere_is_the_runs_own(void **state)
{
    (void)state;
    open_two(0);
    bed_submit("good", 0, 1, "");
    bed_turn();
    end_each(0, 1, OUTCOME_DONE);
    bed_submit("bad", 2, 4, "run: {retries: 1}");
    bed_turn();
    end_each(2, 7, OUTCOME_FAILED);
    assert_int_equal(bed.executor.count, 8);
    assert_int_equal(aside(), 0);
    bed_close();
}

/* Neither gets one done any more, so both are aside before a run has failed for good. */
static void devices_that_all_fail_are_all_set_aside(void **state)
{
    (void)state;
    open_two(0);
    bed_submit("good", 0, 1, "");
    bed_turn();
    end_each(0, 1, OUTCOME_DONE);
    bed_submit("bad", 2, 99, "run: {retries: 9}");
    bed_turn();
    for (int i = 2; i < bed.executor.count && i < 40; i++) {
        bed_ends(i, OUTCOME_FAILED);
        bed_state_is(i, RUN_QUEUED);
    }
    assert_int_equal(aside(), 2);
    assert_true(bed.executor.count < 40);
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

/* What the first of the queue waits for; "" when it is not memory. */
static bool waits_for_memory(void)
{
    json_t *pools = scheduler_pools(bed.scheduler);
    const char *text = json_string_value(json_object_get(json_object_get(pools, "cuda"), "short"));
    bool waits = strstr(text, "MiB, of GPU-a ") && strstr(text, "MiB are not promised to others");
    assert_true(waits || !text[0]);
    json_decref(pools);
    return waits;
}

static uint64_t promised(void)
{
    json_t *all = slots_to_json(bed.executor.base.slots);
    const json_t *gpu = json_array_get(json_object_get(json_object_get(all, "gpu"), "devices"), 0);
    uint64_t bytes = (uint64_t)json_integer_value(json_object_get(gpu, "promised"));
    json_decref(all);
    return bytes;
}

static void runs_share_a_gpu_as_its_memory_allows(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 2000000000 0\n");
    bed.gpu_runs = 4;
    bed.base = "model.size: demo, device: cuda";
    bed_open(1, 0);
    bed_submit("a", 0, 3, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 2); /* though four slots are there */
    assert_true(waits_for_memory());
    /* A restart promises the same again. */
    const uint64_t before = promised();
    assert_true(before > 1000000000 && before < 2000000000);
    bed_close();
    bed_open(1, 0);
    assert_int_equal(promised(), 0);
    assert_int_equal(scheduler_recover(bed.scheduler, NULL), STATUS_OK);
    bed_turn();
    assert_int_equal(bed.executor.count, 2);
    assert_int_equal(promised(), before);
    assert_true(waits_for_memory());
    bed_ends(0, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 3);
    assert_true(waits_for_memory());
    for (int i = 1; i < 4; i++)
        bed_ends(i, OUTCOME_DONE);
    assert_int_equal(promised(), 0);
    assert_false(waits_for_memory());
    bed_close();
}

static void a_pack_is_as_large_as_the_memory_allows(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1200000000 0\n");
    bed.gpu_runs = 1;
    bed.base = "model.size: demo, device: cuda";
    bed_open(1, 0);
    bed_submit("a", 0, 5, "run: {pack: 6}");
    bed_turn();
    const int first = bed.executor.count;
    assert_true(first > 1 && first < 6);
    assert_true(promised() <= 1200000000);
    for (int i = 0; i < first; i++)
        bed_ends(i, OUTCOME_DONE);
    assert_int_equal(bed.executor.count, 2 * first < 6 ? 2 * first : 6);
    bed_close();
}

/* It fails by itself, at once, and with the reason; the queue goes on. */
static void what_no_gpu_can_hold_is_bad_input(void **state)
{
    (void)state;
    struct store_run run = {0};
    struct store_filter failed = {.states = 1u << RUN_FAILED};
    gpus_are("gpu GPU-a 2000000000 0\ngpu GPU-b 1000000000 0\n");
    bed.gpu_runs = 1;
    bed.base = "model.size: demo, device: cuda, train.batch: 4096";
    bed_open(1, 0);
    bed_submit("large", 0, 0, "run: {retries: 5}");
    bed.base = "model.size: demo, device: cuda";
    bed_submit("small", 0, 0, "");
    bed_turn();
    assert_int_equal(bed.executor.count, 1);
    assert_int_equal(store_runs_each(bed.store, &failed, keep_run, &run, NULL), 0);
    assert_string_equal(run.sweep, "large");
    assert_int_equal(run.attempts, 1);
    assert_text(run.id, "input", "the run takes about ");
    assert_text(run.id, "input", ", the largest GPU has 1907 MiB; half of train.batch with twice train.accumulate");
    bed_ends(0, OUTCOME_DONE);
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
        WITH_HOME(a_retry_takes_another_device),
        WITH_HOME(a_device_that_fails_every_run_is_set_aside),
        WITH_HOME(only_failures_in_a_row_count),
        WITH_HOME(what_fails_everywhere_is_the_runs_own),
        WITH_HOME(devices_that_all_fail_are_all_set_aside),
        WITH_HOME(runs_share_a_gpu_as_its_memory_allows),
        WITH_HOME(a_pack_is_as_large_as_the_memory_allows),
        WITH_HOME(what_no_gpu_can_hold_is_bad_input),
        WITH_HOME(a_pack_counts_once),
        WITH_HOME(words_for_a_device),
    };
    return cmocka_run_group_tests(tests, gpus_make, gpus_drop);
}
