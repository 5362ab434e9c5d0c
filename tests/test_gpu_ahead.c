/* Batches ahead of the work: the copy stream's order. The simulated device makes copies as late as events allow, or as
 * early; orders that lack an event are shown to give wrong data in one of the two, and the backend's gives right data
 * in both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_ahead(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_ahead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "gpu/backend.h"
#include "tests/gpu/sim_device.h"

enum { COUNT = 64, ROUNDS = 9 };

/* What an order of calls may lack. */
enum lack { LACK_NOTHING, LACK_ARRIVAL, LACK_TAKING, LACK_HOST_WAIT };

/* One slot used again and again; true when every round's data came through. */
static bool one_slot(enum lack lack, bool early)
{
    struct device *d;
    struct error err = {0};
    int32_t got[ROUNDS][COUNT];
    bool right = true;
    sim_set_early_copies(early);
    assert_int_equal(device_open(&d, NULL, &err), STATUS_OK);
    int32_t *host = device_allocate_host(d, COUNT * 4), *slot = device_allocate(d, COUNT * 4);
    int32_t *all = device_allocate(d, sizeof got);
    struct device_event *arrived = device_event_create(d), *taken = device_event_create(d);
    device_event_record(d, taken, QUEUE_WORK);
    for (int r = 0; r < ROUNDS; r++) {
        if (lack != LACK_HOST_WAIT)
            device_event_synchronize(d, arrived);
        for (int i = 0; i < COUNT; i++)
            host[i] = 100 * r + i;
        if (lack != LACK_TAKING)
            device_event_wait(d, taken, QUEUE_COPY);
        device_send(d, slot, host, COUNT * 4);
        device_event_record(d, arrived, QUEUE_COPY);
        if (lack != LACK_ARRIVAL)
            device_event_wait(d, arrived, QUEUE_WORK);
        device_copy(d, all + r * COUNT, slot, COUNT * 4);
        device_event_record(d, taken, QUEUE_WORK);
    }
    device_download(d, got, all, sizeof got);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < COUNT; i++)
            right = right && got[r][i] == 100 * r + i;
    assert_int_equal(device_take_fault(d, &err), STATUS_OK);
    device_close(d);
    sim_set_early_copies(false);
    return right;
}

static void test_a_missing_order_is_seen(void **state)
{
    (void)state;
    assert_true(one_slot(LACK_NOTHING, false) && one_slot(LACK_NOTHING, true));
    assert_false(one_slot(LACK_ARRIVAL, false) && one_slot(LACK_ARRIVAL, true));
    assert_false(one_slot(LACK_TAKING, false) && one_slot(LACK_TAKING, true));
    assert_false(one_slot(LACK_HOST_WAIT, false) && one_slot(LACK_HOST_WAIT, true));
}

static struct backend *open_backend(void)
{
    const struct backend_options options = {.precision = PRECISION_BF16};
    struct backend *be = NULL;
    struct error err = {0};
    assert_int_equal(gpu_ops_table()->create(&be, &options, &err), STATUS_OK);
    return be;
}

static void fill(int32_t *to, int round)
{
    for (int i = 0; i < COUNT; i++)
        to[i] = 1000 * round + i;
}

/* As the trainer does it: the next batch is staged before the last one's work. */
static void test_batches_come_through(void **state)
{
    (void)state;
    const struct ops *ops = gpu_ops_table();
    for (int early = 0; early < 2; early++) {
        struct error err = {0};
        int32_t host[COUNT], got[ROUNDS][COUNT], want[COUNT];
        sim_set_early_copies(early);
        struct backend *be = open_backend();
        int32_t *batch = ops->alloc(be, sizeof host, &err), *all = ops->alloc(be, sizeof got, &err);
        fill(host, 0);
        ops->stage(be, host, sizeof host);
        for (int r = 0; r < ROUNDS; r++) {
            if (r + 1 < ROUNDS) {
                fill(host, r + 1);
                ops->stage(be, host, sizeof host);
                memset(host, 0xee, sizeof host); /* it is free at once */
            }
            ops->unstage(be, batch, sizeof host);
            ops->copy(be, all + r * COUNT, batch, sizeof host);
        }
        ops->download(be, got, all, sizeof got);
        assert_int_equal(ops->sync(be, &err), STATUS_OK);
        for (int r = 0; r < ROUNDS; r++) {
            fill(want, r);
            assert_memory_equal(got[r], want, sizeof want);
        }
        ops->destroy(be);
    }
    sim_set_early_copies(false);
}

static void refuse(struct backend *be, int status, const char *wanted)
{
    struct error err = {0};
    assert_int_equal(gpu_ops_table()->sync(be, &err), status);
    if (!strstr(err.text, wanted))
        fail_msg("want '%s' in: %s", wanted, err.text);
}

static void test_what_has_no_room_is_refused(void **state)
{
    (void)state;
    const struct ops *ops = gpu_ops_table();
    struct backend *be = open_backend();
    struct error err = {0};
    int32_t host[COUNT] = {0}, *batch = ops->alloc(be, sizeof host, &err);
    ops->unstage(be, batch, sizeof host);
    refuse(be, STATUS_FAILED, "unstage: ");
    for (int i = 0; i < STAGED_MOST; i++)
        ops->stage(be, host, sizeof host / 2);
    assert_int_equal(ops->sync(be, &err), STATUS_OK);
    ops->stage(be, host, sizeof host / 2);
    refuse(be, STATUS_FAILED, "stage: ");
    ops->unstage(be, batch, sizeof host / 2);
    ops->stage(be, host, sizeof host);
    refuse(be, STATUS_FAILED, "stage: 256 bytes in slots of 128");
    ops->destroy(be);
}

static void test_no_memory_is_a_failure(void **state)
{
    (void)state;
    int32_t host[COUNT] = {0};
    sim_set_memory(sizeof host + sizeof host / 2);
    struct backend *be = open_backend();
    gpu_ops_table()->stage(be, host, sizeof host);
    refuse(be, STATUS_MEMORY, "stage: out of memory: ");
    gpu_ops_table()->destroy(be);
    sim_set_memory(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_order_is_seen),
        cmocka_unit_test(test_batches_come_through),
        cmocka_unit_test(test_what_has_no_room_is_refused),
        cmocka_unit_test(test_no_memory_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
