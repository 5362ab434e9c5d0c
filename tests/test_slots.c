/* The ledger of slots: shares of processors, GPUs through a stand-in for NVML, grants that outlive a restart. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/queue/nvml.h"
#include "harness/queue/slots.h"

static char folder[] = "/tmp/taper-slots.XXXXXX";
static char *library, *listing;

static int build_library(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    library = file_join(folder, "libnvidia-ml.so.1");
    listing = file_join(folder, "gpus");
    char *command = memory_format("cc -shared -fPIC -o %s tests/support/nvml/nvml.c", library);
    int code = system(command);
    free(command);
    setenv("TAPER_NVML", library, 1);
    setenv("FAKE_NVML", listing, 1);
    return code;
}

static int drop_library(void **state)
{
    (void)state;
    unlink(library);
    unlink(listing);
    free(library);
    free(listing);
    return rmdir(folder);
}

static void gpus_are(const char *text)
{
    assert_int_equal(file_write_all(listing, text, strlen(text), NULL), STATUS_OK);
}

static bool take(struct slots *s, int pool, int count, struct slots_grant *grant)
{
    const struct slots_wish wish = {.pool = pool, .count = count};
    return slots_take(s, &wish, grant);
}

static int processors(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}

static void cpu_slots_share_the_processors(void **state)
{
    (void)state;
    int all = processors();
    for (int n = 1; n <= 2 * all && n < 16; n++) {
        struct slots *s = slots_create(&(struct slots_options){.cpu = n});
        struct slots_grant grants[16];
        int threads = 0;
        assert_int_equal(slots_total(s, DEVICE_CPU), n);
        assert_int_equal(slots_total(s, DEVICE_CUDA), 0);
        for (int i = 0; i < n; i++) {
            char want[16];
            assert_int_equal(slots_free(s, DEVICE_CPU), n - i);
            assert_true(take(s, DEVICE_CPU, 1, &grants[i]));
            snprintf(want, sizeof want, "cpu:%d", i);
            assert_string_equal(grants[i].name, want);
            assert_string_equal(grants[i].device, "cpu");
            assert_true(grants[i].threads >= 1);
            threads += grants[i].threads;
        }
        assert_int_equal(threads, n <= all ? all : n);
        struct slots_grant extra;
        assert_false(take(s, DEVICE_CPU, 1, &extra));
        slots_give(s, &grants[n / 2]);
        assert_true(take(s, DEVICE_CPU, 1, &extra));
        assert_string_equal(extra.name, grants[n / 2].name);
        slots_destroy(s);
    }
}

static void wide_runs_take_several(void **state)
{
    (void)state;
    struct slots *s = slots_create(&(struct slots_options){.cpu = 4});
    struct slots_grant one, wide, two;
    assert_true(take(s, DEVICE_CPU, 1, &one));
    assert_false(take(s, DEVICE_CPU, 4, &wide));
    assert_int_equal(slots_free(s, DEVICE_CPU), 3); /* a refusal takes nothing */
    assert_true(take(s, DEVICE_CPU, 2, &wide));
    assert_string_equal(wide.name, "cpu:1,2");
    assert_true(take(s, DEVICE_CPU, 1, &two));
    assert_string_equal(two.name, "cpu:3");
    slots_give(s, &wide);
    assert_int_equal(slots_free(s, DEVICE_CPU), 2);
    slots_destroy(s);
}

static void grants_are_taken_again_by_name(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a:b 1000 0\n");
    struct slots_options options = {.cpu = 2, .gpu_runs = 2, .gpu_foreign = 100};
    struct slots *s = slots_create(&options);
    struct slots_grant g, h;
    slots_adopt(s, "cpu:1", &g);
    assert_int_equal(g.pool, DEVICE_CPU);
    assert_true(take(s, DEVICE_CPU, 1, &h));
    assert_string_equal(h.name, "cpu:0");
    assert_int_equal(slots_free(s, DEVICE_CPU), 0);
    slots_give(s, &g);
    assert_int_equal(slots_free(s, DEVICE_CPU), 1);
    slots_adopt(s, "gpu:GPU-a:b:0,1", &g); /* an id is opaque: colons too */
    assert_string_equal(g.device, "GPU-a:b");
    assert_int_equal(slots_free(s, DEVICE_CUDA), 0);
    slots_give(s, &g);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 2);
    /* What no longer exists, or never did, is carried along without harm. */
    const char *odd[] = {
        "cpu:7", "gpu:GPU-gone:0", "", "cpu:", "cpu:x", "gpu:", "nonsense", "cpu:99999999999999999999"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        slots_adopt(s, odd[i], &g);
        slots_give(s, &g);
    }
    slots_adopt(s, NULL, &g);
    slots_give(s, &g);
    assert_int_equal(slots_free(s, DEVICE_CPU), 1);
    slots_destroy(s);
}

static void gpus_fill_evenly(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 0\ngpu GPU-b 1000 0\n");
    struct slots *s = slots_create(&(struct slots_options){.cpu = 1, .gpu_runs = 2, .gpu_foreign = 100});
    struct slots_grant g[4], more;
    const char *want[] = {"gpu:GPU-a:0", "gpu:GPU-b:0", "gpu:GPU-a:1", "gpu:GPU-b:1"};
    assert_int_equal(slots_total(s, DEVICE_CUDA), 4);
    assert_int_equal(slots_widest(s, DEVICE_CUDA), 2); /* a run is on one GPU */
    for (int i = 0; i < 4; i++) {
        assert_true(take(s, DEVICE_CUDA, 1, &g[i]));
        assert_string_equal(g[i].name, want[i]);
    }
    assert_false(take(s, DEVICE_CUDA, 1, &more));
    assert_int_equal(slots_free(s, DEVICE_CPU), 1); /* the pools do not touch */
    slots_give(s, &g[0]);
    slots_give(s, &g[1]);
    assert_false(take(s, DEVICE_CUDA, 2, &more));
    slots_give(s, &g[2]);
    assert_true(take(s, DEVICE_CUDA, 2, &more));
    assert_string_equal(more.name, "gpu:GPU-a:0,1");
    slots_destroy(s);
}

static bool owns_42(void *arg, pid_t pid)
{
    (void)arg;
    return pid == 42;
}

static void busy_gpus_are_left_alone(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 900\nprocess 7 900\ngpu GPU-b 1000 50\n");
    struct slots *s =
        slots_create(&(struct slots_options){.cpu = 0, .gpu_runs = 2, .gpu_foreign = 100, .owns = owns_42});
    struct slots_grant g, h;
    assert_int_equal(slots_free(s, DEVICE_CUDA), 2);
    assert_true(take(s, DEVICE_CUDA, 1, &g));
    assert_string_equal(g.name, "gpu:GPU-b:0");
    /* Our own memory does not make a GPU busy; somebody else's beside it does. */
    gpus_are("gpu GPU-a 1000 900\nprocess 7 900\ngpu GPU-b 1000 650\nprocess 42 600\n");
    slots_refresh(s);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 1);
    gpus_are("gpu GPU-a 1000 900\nprocess 7 900\ngpu GPU-b 1000 850\nprocess 42 600\nprocess 8 200\n");
    slots_refresh(s);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 0);
    assert_false(take(s, DEVICE_CUDA, 1, &h));
    /* The others are done; a GPU that went away is not offered. */
    gpus_are("gpu GPU-a 1000 0\n");
    slots_refresh(s);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 2);
    assert_int_equal(slots_total(s, DEVICE_CUDA), 2);
    slots_give(s, &g);
    json_t *json = slots_to_json(s);
    assert_int_equal(json_array_size(json_object_get(json_object_get(json, "gpu"), "devices")), 2);
    json_decref(json);
    slots_destroy(s);
}

static void parts_stand_for_a_split_gpu(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 0\nmig MIG-1 500 0\nmig MIG-2 500 400\ngpu GPU-b 1000 0\n");
    struct slots *s = slots_create(&(struct slots_options){.cpu = 0, .gpu_runs = 1, .gpu_foreign = 100});
    struct slots_grant g, h, i;
    assert_int_equal(slots_total(s, DEVICE_CUDA), 3);
    assert_true(take(s, DEVICE_CUDA, 1, &g));
    assert_string_equal(g.device, "MIG-1");
    assert_true(take(s, DEVICE_CUDA, 1, &h));
    assert_string_equal(h.device, "GPU-b");
    assert_false(take(s, DEVICE_CUDA, 1, &i));
    slots_destroy(s);
}

static void a_bound_on_all_gpus_is_spread(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 0\ngpu GPU-b 1000 0\n");
    struct slots *s = slots_create(&(struct slots_options){.gpu_total = 3, .gpu_foreign = 100});
    struct slots_grant g[3], more;
    const char *want[] = {"gpu:GPU-a:0", "gpu:GPU-b:0", "gpu:GPU-a:1"};
    assert_int_equal(slots_total(s, DEVICE_CUDA), 3);
    assert_int_equal(slots_widest(s, DEVICE_CUDA), 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slots_free(s, DEVICE_CUDA), 3 - i);
        assert_true(take(s, DEVICE_CUDA, 1, &g[i]));
        assert_string_equal(g[i].name, want[i]);
    }
    assert_false(take(s, DEVICE_CUDA, 1, &more));
    slots_give(s, &g[1]);
    assert_false(take(s, DEVICE_CUDA, 2, &more)); /* two are free on GPU-b, but one in all */
    slots_destroy(s);
}

static void a_gpu_set_aside_or_to_avoid_is_passed_over(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 0\ngpu GPU-b 1000 0\n");
    struct slots *s = slots_create(&(struct slots_options){.gpu_runs = 1, .gpu_foreign = 100});
    const struct slots_wish wish = {.pool = DEVICE_CUDA, .count = 1, .avoid = "GPU-a"};
    struct slots_grant g, h;
    assert_true(slots_take(s, &wish, &g));
    assert_string_equal(g.device, "GPU-b");
    assert_false(slots_take(s, &wish, &h)); /* it waits for GPU-b */
    slots_set_aside(s, "GPU-b", "broken", 1);
    assert_true(slots_take(s, &wish, &h)); /* there is no other now */
    assert_string_equal(h.device, "GPU-a");
    slots_give(s, &g);
    slots_give(s, &h);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 1);
    assert_false(slots_all_aside(s));
    slots_set_aside(s, "GPU-a", "broken", 2);
    assert_true(slots_all_aside(s));
    assert_false(take(s, DEVICE_CUDA, 1, &g));
    assert_int_equal(slots_total(s, DEVICE_CUDA), 2);
    slots_set_aside(s, "GPU-b", NULL, 0);
    assert_true(take(s, DEVICE_CUDA, 1, &g));
    assert_string_equal(g.device, "GPU-b");
    slots_destroy(s);
}

static void runs_that_share_a_gpu_fit_beside_each_other(void **state)
{
    (void)state;
    gpus_are("gpu GPU-a 1000 50\ngpu GPU-b 600 0\n");
    struct slots *s = slots_create(&(struct slots_options){.gpu_runs = 3, .gpu_foreign = 100});
    struct slots_wish wish = {.pool = DEVICE_CUDA, .count = 1, .bytes = 980};
    struct slots_grant g, h;
    assert_int_equal(slots_largest(s), 1000);
    assert_true(slots_take(s, &wish, &g)); /* alone: what little others use does not keep it off */
    assert_string_equal(g.device, "GPU-a");
    wish.bytes = 400;
    assert_true(slots_take(s, &wish, &h));
    assert_string_equal(h.device, "GPU-b");
    assert_int_equal(slots_memory_left(s, &h), 200);
    slots_promise(s, &h, 150);
    assert_int_equal(slots_memory_left(s, &h), 50);
    wish.bytes = 60;
    assert_false(slots_take(s, &wish, &g));
    slots_give(s, &h);
    assert_true(slots_take(s, &wish, &h));
    assert_int_equal(slots_memory_left(s, &h), 540);
    slots_destroy(s);
}

static void without_a_driver_the_reason_is_told(void **state)
{
    (void)state;
    struct nvml *n;
    struct error err = {0};
    gpus_are("init 9\n");
    assert_int_equal(nvml_open(&n, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "Driver Not Loaded"));
    setenv("TAPER_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    assert_int_equal(nvml_open(&n, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "no NVIDIA driver"));
    struct slots *s = slots_create(&(struct slots_options){.cpu = 1, .gpu_runs = 1});
    json_t *json = slots_to_json(s);
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(json, "gpu"), "missing")), "no NVIDIA"));
    json_decref(json);
    assert_int_equal(slots_free(s, DEVICE_CUDA), 0);
    slots_destroy(s);
    setenv("TAPER_NVML", library, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cpu_slots_share_the_processors),
                                       cmocka_unit_test(wide_runs_take_several),
                                       cmocka_unit_test(grants_are_taken_again_by_name),
                                       cmocka_unit_test(gpus_fill_evenly),
                                       cmocka_unit_test(busy_gpus_are_left_alone),
                                       cmocka_unit_test(parts_stand_for_a_split_gpu),
                                       cmocka_unit_test(a_bound_on_all_gpus_is_spread),
                                       cmocka_unit_test(a_gpu_set_aside_or_to_avoid_is_passed_over),
                                       cmocka_unit_test(runs_that_share_a_gpu_fit_beside_each_other),
                                       cmocka_unit_test(without_a_driver_the_reason_is_told)};
    return cmocka_run_group_tests(tests, build_library, drop_library);
}
