/* The checks that `make gpu-check` makes on a device, run on the simulated one: they pass there, and a wrong op makes
 * them fail. What it says without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_tool(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_tool)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "gpu/backend.h"
#include "tests/gpu/tool/tool.h"

static void show_failures(const struct tool_report *r)
{
    size_t i;
    json_t *row;
    json_array_foreach(r->rows, i, row) if (!json_is_true(json_object_get(row, "ok")))
    {
        char *text = json_dumps(row, JSON_COMPACT);
        print_error("%s\n", text);
        free(text);
    }
}

static const struct check_options tiny = {.tiny = true, .threads = 1};

static void test_the_checks_pass(void **state)
{
    (void)state;
    struct tool_report r;
    char path[] = "/tmp/taper-gpu-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    report_open(&r, NULL);
    r.path = path;
    r.device = "simulated";
    check_run(&r, gpu_ops_table(), &tiny);
    show_failures(&r);
    assert_int_equal(r.failed, 0);
    assert_int_equal(json_array_size(r.rows), 18 + 6 + 2 * 4 + 2);
    json_t *all = json_load_file(path, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(all, "device")), "simulated");
    assert_int_equal(json_array_size(json_object_get(all, "rows")), json_array_size(r.rows));
    json_decref(all);
    report_close(&r);
    remove(path);
}

static void wrong_probe(struct backend *be, const struct radial_probe *a)
{
    struct radial_probe swapped = *a;
    swapped.radial = a->tangential;
    swapped.tangential = a->radial;
    gpu_ops_table()->radial_probe(be, &swapped);
}

/* A gain of the MLP's backward: every gradient before it is off. */
static void wrong_backward(struct backend *be, const struct linear_backward *a)
{
    struct linear_backward changed = *a;
    if (a->in_act == ACT_GELU)
        changed.in_act = ACT_GELU_TANH;
    gpu_ops_table()->linear_backward(be, &changed);
}

static void test_a_wrong_op_fails(void **state)
{
    (void)state;
    struct tool_report r;
    struct ops wrong = *gpu_ops_table();
    wrong.radial_probe = wrong_probe;
    wrong.linear_backward = wrong_backward;
    report_open(&r, NULL);
    check_run(&r, &wrong, &tiny);
    assert_true(r.failed >= 2);
    report_close(&r);
}

static void test_the_bench_runs(void **state)
{
    (void)state;
    struct tool_report r;
    report_open(&r, NULL);
    bench_run(&r, gpu_ops_table(), BENCH_TINY);
    show_failures(&r);
    assert_int_equal(r.failed, 0);
    assert_int_equal(json_array_size(r.rows), 1 + 3 + 3);
    report_close(&r);
}

static void test_steps_alone(void **state)
{
    (void)state;
    struct tool_report r;
    const struct check_options steps = {.tiny = true, .steps = true, .threads = 1};
    report_open(&r, NULL);
    check_run(&r, gpu_ops_table(), &steps);
    show_failures(&r);
    assert_int_equal(r.failed, 0);
    assert_int_equal(json_array_size(r.rows), 2 * 3);
    report_close(&r);
}

static void nothing(struct backend *be, const struct linear_forward *a)
{
    (void)be;
    (void)a;
}

/* Each kind of check sees an op that does nothing. */
static void test_shapes_see_a_missing_product(void **state)
{
    (void)state;
    struct tool_report r;
    struct config cfg;
    struct error err = {0};
    struct ops wrong = *gpu_ops_table();
    wrong.linear_forward = nothing;
    config_init(&cfg);
    assert_int_equal(config_set_pair(&cfg, "model.size=demo", &err), STATUS_OK);
    assert_int_equal(config_set_pair(&cfg, "model.context=16", &err), STATUS_OK);
    assert_int_equal(config_set_pair(&cfg, "model.vocab=64", &err), STATUS_OK);
    assert_int_equal(config_finish(&cfg, &err), STATUS_OK);
    report_open(&r, NULL);
    check_shapes(&r, &wrong, &cfg, "demo", &tiny, true);
    assert_int_equal(r.failed, 1);
    assert_true(json_number_value(json_object_get(json_array_get(r.rows, 0), "value")) == 5); /* of 5 products */
    report_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_checks_pass),
        cmocka_unit_test(test_steps_alone),
        cmocka_unit_test(test_shapes_see_a_missing_product),
        cmocka_unit_test(test_a_wrong_op_fails),
        cmocka_unit_test(test_the_bench_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
