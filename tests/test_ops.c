/* Every op of the CPU table against the plain reference, over the list of cases, with 1, 2 and 3 threads. */
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

static struct backend *backend_of(const struct ops *ops, int threads)
{
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    assert_int_equal(ops->create(&be, &options, &err), STATUS_OK);
    return be;
}

/* Everything that differs is printed before the test fails. */
static int report(const char *text)
{
    if (text[0])
        print_error("%s\n", text);
    return text[0] != 0;
}

static void compare_slots(const char *prefix)
{
    int count, wrong = 0, ran = 0;
    struct op_case *cases = ops_cases(&count);
    struct backend *ref = backend_of(ops_reference(), 1);
    struct backend *cpu[3] = {backend_of(ops_cpu(), 1), backend_of(ops_cpu(), 2), backend_of(ops_cpu(), 3)};
    for (int i = 0; i < count; i++) {
        if (strncmp(cases[i].slot, prefix, strlen(prefix)) != 0)
            continue;
        struct case_result want;
        ops_case_run(ops_reference(), ref, &cases[i], 0, &want);
        wrong += report(want.fault);
        for (int t = 0; t < 3; t++) {
            struct case_result got, again;
            ops_case_run(ops_cpu(), cpu[t], &cases[i], t == 1 ? 1 : 0, &got);
            wrong += report(got.fault) + report(ops_case_compare(&cases[i], &want, &got, 1));
            if (t == 2) { /* the same bits every time */
                ops_case_run(ops_cpu(), cpu[t], &cases[i], 0, &again);
                wrong += report(ops_case_compare(&cases[i], &got, &again, 0));
                case_result_free(&cases[i], &again);
            }
            case_result_free(&cases[i], &got);
            ran++;
        }
        case_result_free(&cases[i], &want);
    }
    for (int t = 0; t < 3; t++)
        ops_cpu()->destroy(cpu[t]);
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

/* A NaN or an infinity in any input of any case reaches every output that it reaches in the reference. The fast
 * version may spread it further (a masked product with NaN is NaN), never less. */
static bool spreads(const struct op_case *c, const struct case_result *want, const struct case_result *got)
{
    for (int k = 0; k < c->count; k++)
        for (size_t i = 0; i < c->buffers[k].count && c->buffers[k].type == BUFFER_F32; i++) {
            float w = ((float *)want->data[k])[i], g = ((float *)got->data[k])[i];
            if (isnan(w) && !isnan(g)) {
                print_error("%s: poisoned %s: %s[%zu]: want NaN, got %g\n", c->name, c->buffers[c->poison].name,
                            c->buffers[k].name, i, g);
                return false;
            }
        }
    return true;
}

static size_t elements(const struct op_case *c)
{
    size_t sum = 0;
    for (int k = 0; k < c->count; k++)
        sum += c->buffers[k].count;
    return sum;
}

static void test_nan_reaches_the_outputs(void **state)
{
    (void)state;
    int count, wrong = 0;
    struct op_case *cases = ops_cases(&count);
    struct backend *ref = backend_of(ops_reference(), 1), *cpu = backend_of(ops_cpu(), 2);
    for (int i = 0; i < count; i += 2)
        for (int k = 0; k < cases[i].count && elements(&cases[i]) < 20000; k++) { /* large ones show nothing more */
            struct op_case *c = &cases[i];
            const struct case_buffer *b = &c->buffers[k];
            if (b->use != BUFFER_IN || b->type != BUFFER_F32 || b->count == 0 || strcmp(b->name, "scalars") == 0 ||
                strcmp(c->slot, "sample") == 0)
                continue;
            c->poison = k;
            c->poison_at = b->count / 2;
            c->poison_value = NAN;
            struct case_result want, got;
            ops_case_run(ops_reference(), ref, c, 0, &want);
            ops_case_run(ops_cpu(), cpu, c, 0, &got);
            wrong += !spreads(c, &want, &got);
            case_result_free(c, &want);
            case_result_free(c, &got);
        }
    ops_reference()->destroy(ref);
    ops_cpu()->destroy(cpu);
    free(cases);
    assert_int_equal(wrong, 0);
}

/* The runner itself: an op that writes past an end, changes an input, or sets what it should add to is found. */
static void bad_sum(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                    const int32_t *adam_step)
{
    ops_reference()->sum_squares(be, out, x, segments, count, adam_step);
    out[1] = 0;
}

static void bad_embed(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                      int T, int C, int V)
{
    memset(dtok, 0, (size_t)V * C * sizeof *dtok);
    ops_reference()->embed_backward(be, dtok, dpos, dout, tokens, B, T, C, V);
}

static void bad_probe(struct backend *be, const struct radial_probe *a)
{
    ops_reference()->radial_probe(be, a);
    ((float *)a->h)[a->C - 1] += 1;
    a->radial[a->N - 1] = NAN;
}

static void test_the_runner_finds_faults(void **state)
{
    (void)state;
    struct ops bad = *ops_reference();
    bad.sum_squares = bad_sum;
    bad.embed_backward = bad_embed;
    bad.radial_probe = bad_probe;
    int count, faults = 0, differences = 0, right = 0;
    struct op_case *cases = ops_cases(&count);
    struct backend *ref = backend_of(ops_reference(), 1);
    for (int i = 0; i < count; i++) {
        bool sum = strcmp(cases[i].slot, "sum_squares") == 0, embed = strcmp(cases[i].slot, "embed_backward") == 0;
        bool probe = strcmp(cases[i].slot, "radial_probe") == 0;
        if (!sum && !embed && !probe)
            continue;
        struct case_result want, got;
        ops_case_run(ops_reference(), ref, &cases[i], 0, &want);
        ops_case_run(&bad, ref, &cases[i], 0, &got);
        assert_string_equal(want.fault, "");
        faults += (sum && strstr(got.fault, "written at byte 8 of 8")) || (probe && strstr(got.fault, "was changed"));
        differences += !sum && ops_case_compare(&cases[i], &want, &got, 1)[0] != 0;
        right += sum + embed + probe;
        case_result_free(&cases[i], &want);
        case_result_free(&cases[i], &got);
    }
    ops_reference()->destroy(ref);
    free(cases);
    assert_int_equal(faults, 6 + 4);
    assert_int_equal(differences, 5 + 4);
    assert_int_equal(right, 6 + 5 + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_runner_finds_faults),
        cmocka_unit_test(test_embed_forward),
        cmocka_unit_test(test_embed_backward),
        cmocka_unit_test(test_norm_forward),
        cmocka_unit_test(test_residual_add),
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
