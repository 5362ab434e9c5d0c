/* The training code against golden files of an independent float64 reference: every tensor, every case, every
 * trajectory, for the fast CPU ops and the plain reference ops, on one and on three threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "core/train/golden.h"
#include "core/base/memory.h"
#include "core/base/safetensors.h"

/* Relative L2 error of a tensor. fp32 against float64 reaches about 3e-7 on one step; a trajectory adds up. */
static const double case_tolerance = 5e-6, trajectory_tolerance = 2e-5;

static double *values_of(const struct safetensors *f, const char *name, const struct tensor *like)
{
    struct error err = {0};
    double *out = memory_alloc(like->count, sizeof *out);
    if (safetensors_read_f64(f, name, like->rank, like->shape, out, &err))
        fail_msg("%s", err.text);
    return out;
}

static double length_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The key's bias has no gradient in exact arithmetic (softmax ignores a shift of all scores): noise alone moves it. */
static void drop_key_bias(double *x, size_t count)
{
    for (size_t i = count / 3; i < 2 * count / 3; i++)
        x[i] = 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static double error_of(const struct safetensors *want, const struct safetensors *got, const struct tensor *t)
{
    double *a = values_of(want, t->name, t), *b = values_of(got, t->name, t);
    if (ends_with(t->name, "attn.qkv.bias")) {
        drop_key_bias(a, t->count);
        drop_key_bias(b, t->count);
    }
    double size = length_of(a, t->count);
    if (strcmp(t->name, "out/radial") == 0) { /* zero in exact arithmetic under a final norm: measure by the whole */
        const struct tensor *other = safetensors_find(want, "out/tangential");
        double *tangential = values_of(want, "out/tangential", other);
        size = fmax(size, length_of(tangential, other->count));
        free(tangential);
    }
    for (size_t i = 0; i < t->count; i++)
        a[i] -= b[i];
    double error = length_of(a, t->count) / fmax(size, 1e-6);
    free(a);
    free(b);
    return error;
}

static bool is_expected(const char *name)
{
    const char *const prefixes[] = {"grad/", "out/", "stat/", "traj/", "final/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void compare(const char *path, const char *made, double tolerance, size_t least)
{
    struct safetensors want, got;
    struct error err = {0};
    size_t compared = 0;
    if (safetensors_open(&want, path, &err) || safetensors_open(&got, made, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < want.count; i++) {
        if (!is_expected(want.tensors[i].name))
            continue;
        double error = error_of(&want, &got, &want.tensors[i]);
        if (!(error <= tolerance))
            fail_msg("%s: %s: relative error %.2e, at most %.1e", path, want.tensors[i].name, error, tolerance);
        compared++;
    }
    if (compared < least)
        fail_msg("%s: only %zu tensors to compare, want %zu", path, compared, least);
    safetensors_close(&want);
    safetensors_close(&got);
}

static void run(const char *name, bool trajectory, const struct ops *ops, int threads)
{
    char made[] = "/tmp/taper-golden-XXXXXX";
    struct error err = {0};
    char *path = memory_format("tests/golden/%s.safetensors", name);
    int fd = mkstemp(made);
    assert_true(fd >= 0);
    close(fd);
    if ((trajectory ? golden_train : golden_step)(path, made, ops, threads, &err))
        fail_msg("%s", err.text);
    compare(path, made, trajectory ? trajectory_tolerance : case_tolerance, trajectory ? 22 : 23);
    unlink(made);
    free(path);
}

static const char *const cases[] = {"all_done",      "all_done_aux",     "all_mid_aux",        "baseline",
                                    "gpt2",          "gpt2_all_mid_aux", "gpt2_internal_done", "internal_aux",
                                    "internal_done", "internal_mid",     "llama_all_done_aux", "llama_internal_mid",
                                    "fakeln_real",   "fakeln_one",       "fakeln_qk",          "fakeln_value",
                                    "fakeln_all",    "fakeln_all_aux",   "fakeln_internal",    "fakeln_untied"};
static const char *const trajectories[] = {
    "traj_all",          "traj_all_aux",        "traj_baseline", "traj_gpt2_all_aux", "traj_internal",
    "traj_internal_aux", "traj_llama_internal", "traj_fakeln",   "traj_fakeln_aux",   "traj_fakeln_internal"};

static void run_all(bool trajectory, const struct ops *ops, int threads)
{
    size_t count = trajectory ? sizeof trajectories / sizeof trajectories[0] : sizeof cases / sizeof cases[0];
    for (size_t i = 0; i < count; i++)
        run(trajectory ? trajectories[i] : cases[i], trajectory, ops, threads);
}

static void cases_reference(void **state)
{
    (void)state;
    run_all(false, ops_reference(), 1);
}

static void cases_cpu(void **state)
{
    (void)state;
    run_all(false, ops_cpu(), 1);
    run_all(false, ops_cpu(), 3);
}

static void trajectories_reference(void **state)
{
    (void)state;
    run_all(true, ops_reference(), 1);
}

static void trajectories_cpu(void **state)
{
    (void)state;
    run_all(true, ops_cpu(), 1);
    run_all(true, ops_cpu(), 3);
}

/* The comparison itself must be able to fail: a case compared with another's output does. */
static void wrong_output_is_seen(void **state)
{
    (void)state;
    char made[] = "/tmp/taper-golden-XXXXXX";
    struct error err = {0};
    struct safetensors want, got;
    int fd = mkstemp(made);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(golden_step("tests/golden/internal_mid.safetensors", made, ops_cpu(), 1, &err), STATUS_OK);
    assert_int_equal(safetensors_open(&want, "tests/golden/internal_done.safetensors", &err), STATUS_OK);
    assert_int_equal(safetensors_open(&got, made, &err), STATUS_OK);
    const struct tensor *t = safetensors_find(&want, "grad/blocks.0.mlp.in.weight");
    assert_non_null(t);
    assert_true(error_of(&want, &got, t) > 0.1);
    safetensors_close(&want);
    safetensors_close(&got);
    unlink(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_reference),        cmocka_unit_test(cases_cpu),
        cmocka_unit_test(trajectories_reference), cmocka_unit_test(trajectories_cpu),
        cmocka_unit_test(wrong_output_is_seen),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
