/* Steps that are not finite, on the CUDA table over the simulated device: skipped there, counted, two in a row the end;
 * and that nobody waits for the device between readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_skip(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_skip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/model/schedule.h"
#include "core/train/trainer.h"
#include "gpu/backend.h"

enum { B = 3, T = 12, ACCUMULATE = 2, STEPS = 14, WARMUP = 4, END = 10, WINDOWS = ACCUMULATE * B * (T + 1) };

static int waits; /* of the host, for the device */

static void counted_download(struct backend *be, void *to, const void *from, size_t bytes)
{
    waits++;
    backend_download(be, to, from, bytes);
}

static int counted_sync(struct backend *be, struct error *err)
{
    waits++;
    return backend_sync(be, err);
}

static int create_half(struct backend **out, const struct backend_options *options, struct error *err)
{
    struct backend_options half = *options;
    half.precision = PRECISION_BF16;
    return backend_create(out, &half, err);
}

struct subject {
    struct ops ops;
    struct backend *be;
    struct config cfg;
    struct model m;
    struct trainer t;
    int32_t windows[STEPS][WINDOWS];
    struct error err;
};

static void open_subject(struct subject *s, bool half)
{
    static const char *const pairs[] = {"model.d_model=16", "model.layers=2", "model.heads=2", "model.context=12",
                                        "model.vocab=40",   "train.steps=14", "train.batch=3", "train.accumulate=2",
                                        "taper.sites=all",  "aux.lambda=0.1", "gate.warmup=4", "gate.end=10"};
    const struct backend_options options = {.precision = PRECISION_FP32};
    const struct rng_stream stream = {.seed = 5, .use = RNG_TEST};
    struct error *err = &s->err;
    *s = (struct subject){.ops = *gpu_ops_table()};
    s->ops.download = counted_download;
    s->ops.sync = counted_sync;
    if (half)
        s->ops.create = create_half;
    config_init(&s->cfg);
    int status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof pairs / sizeof pairs[0]; i++)
        status = config_set_pair(&s->cfg, pairs[i], err);
    if (status || config_finish(&s->cfg, err) || s->ops.create(&s->be, &options, err) ||
        model_create(&s->m, &s->cfg, &s->ops, s->be, err) || model_initialize(&s->m, err) ||
        trainer_create(&s->t, &s->m, B, T, err))
        fail_msg("%s", err->text);
    for (int i = 0; i < STEPS * WINDOWS; i++)
        s->windows[i / WINDOWS][i % WINDOWS] = (int32_t)rng_below(&stream, (uint64_t)i, 40);
}

static void close_subject(struct subject *s)
{
    trainer_destroy(&s->t);
    model_destroy(&s->m);
    s->ops.destroy(s->be);
}

/* Step k, with an embedding that is infinite in it, and back again after it: by uploads alone, which wait for nothing.
 */
static int step(struct subject *s, int k, bool bad, bool logged, struct step_report *report)
{
    static float clean[16];
    const float wrong[16] = {INFINITY};
    float *row = model_row(&s->m, s->m.params, s->m.table.tok_embed) + (size_t)s->windows[k - 1][0] * 16;
    if (bad) {
        s->ops.download(s->be, clean, row, sizeof clean);
        s->ops.upload(s->be, row, wrong, sizeof wrong);
    }
    int status = trainer_step(&s->t, s->windows[k - 1], logged, report, &s->err);
    if (bad)
        s->ops.upload(s->be, row, clean, sizeof clean);
    return status;
}

/* Parameters, moments and averages, as one block; the caller frees it. */
static char *state_of(struct subject *s, size_t *size)
{
    size_t block = s->m.table.total * sizeof(float), ema = (size_t)s->m.table.site_count * SITE_SUMS * sizeof(double);
    char *all = memory_alloc(3 * block + ema, 1);
    s->ops.download(s->be, all, s->m.params, block);
    s->ops.download(s->be, all + block, s->t.m, block);
    s->ops.download(s->be, all + 2 * block, s->t.v, block);
    s->ops.download(s->be, all + 3 * block, s->t.ema, ema);
    *size = 3 * block + ema;
    return all;
}

/* A run whose step `bad` is not finite, against one in which that step was never made. */
static void compare_with_left_out(int bad, bool half)
{
    struct subject skipping, without;
    struct step_report report;
    size_t size, other;
    open_subject(&skipping, half);
    open_subject(&without, half);
    for (int k = 1; k <= STEPS; k++) {
        report = (struct step_report){0};
        if (step(&skipping, k, k == bad, k % 5 == 0, &report))
            fail_msg("step %d: %s", k, skipping.err.text);
        if (k == bad && k % 5 == 0)
            assert_false(isfinite(report.stats.ce));
        if (k == bad)
            without.t.step++;
        else if (step(&without, k, false, k % 5 == 0, &report))
            fail_msg("step %d: %s", k, without.err.text);
    }
    assert_int_equal(trainer_settle(&skipping.t, &skipping.err), STATUS_OK);
    assert_int_equal(trainer_settle(&without.t, &without.err), STATUS_OK);
    assert_int_equal(skipping.t.step, STEPS);
    assert_int_equal(skipping.t.skipped, 1);
    assert_int_equal(skipping.t.last_skipped.step, bad);
    assert_false(isfinite(skipping.t.last_skipped.ce) && isfinite(skipping.t.last_skipped.grad_norm));
    assert_int_equal(without.t.skipped, 0);
    assert_memory_equal(skipping.t.adam_step, without.t.adam_step,
                        (size_t)skipping.m.table.counters * sizeof *skipping.t.adam_step);
    assert_int_equal(skipping.t.ema_updates, without.t.ema_updates);
    assert_true(skipping.t.target == without.t.target);
    char *a = state_of(&skipping, &size), *b = state_of(&without, &other);
    assert_int_equal(size, other);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    close_subject(&without);
    close_subject(&skipping);
}

static void test_a_bad_step_is_as_if_it_had_not_been(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        compare_with_left_out(2, half);  /* in calibration */
        compare_with_left_out(5, half);  /* mixed, the first one, logged */
        compare_with_left_out(8, half);  /* mixed */
        compare_with_left_out(12, half); /* at gate 0 */
    }
}

static void test_the_end_of_calibration_may_be_bad(void **state)
{
    (void)state;
    struct subject s;
    struct step_report report = {0};
    open_subject(&s, false);
    for (int k = 1; k <= WARMUP; k++)
        assert_int_equal(step(&s, k, k == WARMUP, false, &report), STATUS_OK);
    assert_int_equal(s.t.ema_updates, WARMUP - 1);
    assert_int_equal(s.t.skipped, 1);
    assert_true(isfinite(s.t.target));
    float *c = model_download_c(&s.m);
    for (int i = 0; i < s.m.table.site_count; i++)
        assert_true(isfinite(c[i]) && c[i] != 1);
    free(c);
    close_subject(&s);
}

static void test_two_in_a_row_stop_the_run(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++)
        for (int look = 0; look < 2; look++) { /* at the second one, or long after */
            struct subject s;
            struct step_report report = {0};
            size_t size, other;
            int status = STATUS_OK;
            char *good = NULL;
            open_subject(&s, half);
            for (int k = 1; k <= 12 && !status; k++) {
                if (k == 7)
                    good = state_of(&s, &size);
                status = step(&s, k, k == 3 || k == 7 || k == 8, look == 0 && k == 8, &report);
            }
            if (look == 1) {
                assert_int_equal(status, STATUS_OK);
                status = trainer_settle(&s.t, &s.err);
            }
            assert_int_equal(status, STATUS_DIVERGED);
            assert_non_null(strstr(s.err.text, "step 8: not finite: loss "));
            assert_non_null(strstr(s.err.text, "and so was the step before: 2 in a row; step 6 is the last good one"));
            assert_int_equal(s.t.step, 6);
            assert_int_equal(s.t.adam_step[COUNTER_ALWAYS], 5); /* without step 3 */
            char *now = state_of(&s, &other);
            assert_memory_equal(good, now, size);
            free(good);
            free(now);
            close_subject(&s);
        }
}

/* The count goes over a resume: the first bad step before it, the second after it. */
static void test_in_a_row_over_a_resume(void **state)
{
    (void)state;
    struct subject s;
    struct step_report report = {0};
    open_subject(&s, false);
    trainer_resume_skipped(&s.t, 4, 1);
    s.t.step = 6;
    assert_int_equal(step(&s, 7, true, true, &report), STATUS_DIVERGED);
    assert_non_null(strstr(s.err.text, "step 7: not finite"));
    assert_int_equal(s.t.skipped, 5);
    close_subject(&s);
}

static void test_nobody_waits_between_readings(void **state)
{
    (void)state;
    struct subject s;
    struct step_report report = {0};
    open_subject(&s, true);
    for (int k = 1; k <= STEPS; k++) {
        bool logged = k == 1 || k == STEPS;
        waits = 0;
        assert_int_equal(step(&s, k, false, logged, &report), STATUS_OK);
        if (logged || k == WARMUP)
            assert_true(waits > 0);
        else
            assert_int_equal(waits, 0);
        assert_true(logged ? isfinite(report.stats.ce) && isfinite(report.grad_norm)
                           : k == WARMUP || (isnan(report.stats.ce) && isnan(report.grad_norm)));
    }
    close_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bad_step_is_as_if_it_had_not_been),
        cmocka_unit_test(test_the_end_of_calibration_may_be_bad),
        cmocka_unit_test(test_two_in_a_row_stop_the_run),
        cmocka_unit_test(test_in_a_row_over_a_resume),
        cmocka_unit_test(test_nobody_waits_between_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
