/* Every op of the CUDA table against the plain reference, over the list of cases: the kernels as they are given to
 * nvcc, on fibers, and the backend's own code over a simulated device. fp32, in three orders of the threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/ops_case.h"

#ifdef GPU_SKIP
static void test_gpu_ops(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_ops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "gpu/backend.h"
#include "tests/gpu/sim_device.h"

static struct backend *backend_of(const struct ops *ops, int precision)
{
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = 1, .precision = precision};
    assert_int_equal(ops->create(&be, &options, &err), STATUS_OK);
    return be;
}

static int report(const char *text)
{
    if (text[0])
        print_error("%s\n", text);
    return text[0] != 0;
}

/* Orders of the threads: forward, backward, shuffled. All must agree with the reference, and to the bit among them. */
static int compare_case(const struct op_case *c, struct backend *ref, struct backend *gpu, double slack)
{
    static const unsigned schedules[] = {0, 1, 20260729};
    struct case_result want, first = {0};
    int wrong = 0;
    ops_case_run(ops_reference(), ref, c, 0, &want);
    for (int s = 0; s < 3; s++) {
        struct case_result got;
        sim_set_schedule(schedules[s]);
        ops_case_run(gpu_ops_table(), gpu, c, 0, &got);
        wrong += report(got.fault) + report(ops_case_compare(c, &want, &got, slack));
        if (s > 0)
            wrong += report(ops_case_compare(c, &first, &got, 0));
        if (s == 0)
            first = got;
        else
            case_result_free(c, &got);
    }
    struct case_result shifted; /* off the alignment that vector accesses need */
    ops_case_run(gpu_ops_table(), gpu, c, 1, &shifted);
    wrong += report(shifted.fault) + report(ops_case_compare(c, &want, &shifted, slack));
    case_result_free(c, &shifted);
    case_result_free(c, &first);
    case_result_free(c, &want);
    sim_set_schedule(0);
    return wrong;
}

static void compare_slots(const char *slot)
{
    int count, wrong = 0, ran = 0;
    struct op_case *cases = ops_cases(&count);
    struct backend *ref = backend_of(ops_reference(), PRECISION_FP32),
                   *gpu = backend_of(gpu_ops_table(), PRECISION_FP32);
    for (int i = 0; i < count; i++)
        if (strcmp(cases[i].slot, slot) == 0) {
            wrong += compare_case(&cases[i], ref, gpu, 1);
            ran++;
        }
    gpu_ops_table()->destroy(gpu);
    ops_reference()->destroy(ref);
    free(cases);
    assert_true(ran > 0);
    assert_int_equal(wrong, 0);
}

#define COMPARE(slot)                                                                                                  \
    static void test_##slot(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        compare_slots(#slot);                                                                                          \
    }

COMPARE(embed_forward)
COMPARE(embed_backward)
COMPARE(residual_add)
COMPARE(norm_forward)
COMPARE(norm_backward)
COMPARE(linear_forward)
COMPARE(linear_backward)
COMPARE(attention_forward)
COMPARE(attention_backward)
COMPARE(head)
COMPARE(aux_loss)
COMPARE(radial_probe)
COMPARE(sum_squares)
COMPARE(adamw)
COMPARE(ema_update)
COMPARE(token_sums)
COMPARE(judge_step)
COMPARE(decode_attention)
COMPARE(sample)

static void test_no_slot_is_empty(void **state)
{
    (void)state;
    assert_null(ops_first_empty(gpu_ops_table()));
    assert_string_equal(gpu_ops_table()->name, "cuda");
}

/* A NaN in any input reaches every output that it reaches in the reference: a broken run must not look tame. */
static void test_nan_reaches_the_outputs(void **state)
{
    (void)state;
    int count, wrong = 0;
    struct op_case *cases = ops_cases(&count);
    struct backend *ref = backend_of(ops_reference(), PRECISION_FP32),
                   *gpu = backend_of(gpu_ops_table(), PRECISION_FP32);
    for (int i = 0; i < count; i += 3)
        for (int k = 0; k < cases[i].count; k++) {
            struct op_case *c = &cases[i];
            const struct case_buffer *b = &c->buffers[k];
            if (b->use != BUFFER_IN || b->type != BUFFER_F32 || b->count == 0 || strcmp(b->name, "scalars") == 0 ||
                strcmp(c->slot, "sample") == 0)
                continue;
            if (strcmp(c->slot, "attention_backward") == 0 && strcmp(b->name, "dout") != 0)
                continue; /* it relies on out being made from qkv: a NaN there is in out as well */
            c->poison = k;
            c->poison_at = b->count / 2;
            c->poison_value = NAN;
            struct case_result want, got;
            ops_case_run(ops_reference(), ref, c, 0, &want);
            ops_case_run(gpu_ops_table(), gpu, c, 0, &got);
            for (int o = 0; o < c->count; o++)
                for (size_t e = 0; e < c->buffers[o].count && c->buffers[o].type == BUFFER_F32; e++)
                    if (isnan(((float *)want.data[o])[e]) && !isnan(((float *)got.data[o])[e])) {
                        print_error("%s: NaN in %s: %s[%zu] is not\n", c->name, b->name, c->buffers[o].name, e);
                        wrong++;
                        break;
                    }
            case_result_free(c, &want);
            case_result_free(c, &got);
        }
    gpu_ops_table()->destroy(gpu);
    ops_reference()->destroy(ref);
    free(cases);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_slot_is_empty),
        cmocka_unit_test(test_embed_forward),
        cmocka_unit_test(test_embed_backward),
        cmocka_unit_test(test_residual_add),
        cmocka_unit_test(test_norm_forward),
        cmocka_unit_test(test_norm_backward),
        cmocka_unit_test(test_linear_forward),
        cmocka_unit_test(test_linear_backward),
        cmocka_unit_test(test_attention_forward),
        cmocka_unit_test(test_attention_backward),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_aux_loss),
        cmocka_unit_test(test_radial_probe),
        cmocka_unit_test(test_sum_squares),
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_ema_update),
        cmocka_unit_test(test_token_sums),
        cmocka_unit_test(test_judge_step),
        cmocka_unit_test(test_decode_attention),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_nan_reaches_the_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
