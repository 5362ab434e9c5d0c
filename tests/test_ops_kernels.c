/* The vector kernels, at every instruction set this processor has: elementary functions against libm over their range
 * and at its ends, products against plain sums, and whole ops against the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cpu/cpu.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "tests/support/ops_case.h"

enum { COUNT = 40001 };

/* |got - want| in units of the last place of want, or of the smallest normal number. */
static double ulps(float got, double want)
{
    double size = fabs(want) < 0x1p-126 ? 0x1p-126 : fabs(want);
    int exponent;
    frexp(size, &exponent);
    return fabs(got - want) / ldexp(1, exponent - 24);
}

static double gelu(double x)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}

static double gelu_slope(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

static double gelu_tanh(double x)
{
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_tanh_slope(double x)
{
    double k = sqrt(2 / M_PI), u = k * (x + 0.044715 * x * x * x), t = tanh(u), c = cosh(u);
    return 0.5 * (1 + t) + 0.5 * x * k * (1 + 3 * 0.044715 * x * x) / (c * c);
}

/* Fill x with points evenly from low to high, in an odd count so that the tail of every loop runs too. */
static void spread_points(float *x, double low, double high)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(low + (high - low) * i / (COUNT - 1));
}

static void check_ulps(const struct kernels *k, const char *what, const float *x, const float *y,
                       double (*want)(double), double low, double high, double bound)
{
    double worst = 0;
    float at = 0;
    for (int i = 0; i < COUNT; i++)
        if (x[i] >= low && x[i] <= high && !(ulps(y[i], want(x[i])) <= worst)) {
            worst = ulps(y[i], want(x[i]));
            at = x[i];
        }
    if (!(worst <= bound))
        fail_msg("%s, %s: off by %.1f ulp at %.9g (bound %.1f)", k->name, what, worst, (double)at, bound);
}

/* bound: of the larger of 1 and the value. */
static void check_absolute(const struct kernels *k, const char *what, const float *x, const float *y,
                           double (*want)(double), double bound)
{
    for (int i = 0; i < COUNT; i++)
        if (!(fabs(y[i] - want(x[i])) <= bound * fmax(1, fabs(want(x[i])))))
            fail_msg("%s, %s: want %.9g, got %.9g at %.9g", k->name, what, want(x[i]), (double)y[i], (double)x[i]);
}

static void test_functions(void **state)
{
    (void)state;
    float *x = memory_alloc(COUNT, sizeof *x), *y = memory_alloc(COUNT, sizeof *y);
    for (int level = 0; level < KERNEL_LEVELS; level++) {
        const struct kernels *k = kernels_level(level);
        if (!k)
            continue;
        spread_points(x, -86.5, 88.7);
        k->exp(y, x, COUNT);
        check_ulps(k, "exp", x, y, exp, -86.5, 88.7, 2);
        spread_points(x, -86.5, 0);
        for (int i = 0; i < COUNT; i++) { /* of rows of one: exp(x - 0) */
            y[i] = x[i];
            k->softmax(&y[i], 1, 0, NULL);
        }
        check_ulps(k, "softmax", x, y, exp, -86.5, 0, 2);
        spread_points(x, -9, 9);
        k->act(ACT_GELU, y, x, COUNT);
        check_ulps(k, "gelu", x, y, gelu, -2, 9, 7);
        check_ulps(k, "gelu, tail", x, y, gelu, -6, -2, 32);
        check_absolute(k, "gelu", x, y, gelu, 4e-7);
        k->act(ACT_GELU_TANH, y, x, COUNT);
        check_ulps(k, "gelu_tanh", x, y, gelu_tanh, -1, 9, 5);
        check_ulps(k, "gelu_tanh, tail", x, y, gelu_tanh, -4, -1, 40);
        check_absolute(k, "gelu_tanh", x, y, gelu_tanh, 4e-7);
        for (int i = 0; i < COUNT; i++)
            y[i] = 1;
        k->act_back(ACT_GELU, y, x, COUNT);
        check_absolute(k, "gelu'", x, y, gelu_slope, 4e-7);
        for (int i = 0; i < COUNT; i++)
            y[i] = 1;
        k->act_back(ACT_GELU_TANH, y, x, COUNT);
        check_absolute(k, "gelu_tanh'", x, y, gelu_tanh_slope, 6e-7);
    }
    free(x);
    free(y);
}

/* Past the ends, and what is no number. */
static void test_extremes(void **state)
{
    (void)state;
    const float x[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 200, -200, 0, -0.0f, 88.8f, -104, 1e-40f};
    enum { POINTS = sizeof x / sizeof x[0] };
    const float exponentials[POINTS] = {INFINITY, 0, NAN, INFINITY, 0, INFINITY, 0, 1, 1, INFINITY, 0, 1};
    const float values[POINTS] = {INFINITY, NAN, NAN, 1e30f, 0, 200, 0, 0, 0, 88.8f, 0, 0};
    const float slopes[POINTS] = {1, 0, NAN, 1, 0, 1, 0, 0.5f, 0.5f, 1, 0, 0.5f};
    for (int level = 0; level < KERNEL_LEVELS; level++) {
        const struct kernels *k = kernels_level(level);
        if (!k)
            continue;
        float e[POINTS], y[2][POINTS], d[2][POINTS];
        k->exp(e, x, POINTS);
        for (int act = 0; act < 2; act++) {
            k->act(act ? ACT_GELU_TANH : ACT_GELU, y[act], x, POINTS);
            for (int i = 0; i < POINTS; i++)
                d[act][i] = 1;
            k->act_back(act ? ACT_GELU_TANH : ACT_GELU, d[act], x, POINTS);
        }
        for (int i = 0; i < POINTS; i++) {
            assert_true(e[i] == exponentials[i] || (isnan(e[i]) && isnan(exponentials[i])));
            for (int act = 0; act < 2; act++) {
                assert_true(fabsf(y[act][i] - values[i]) < 1e-30f || y[act][i] == values[i] ||
                            (isnan(y[act][i]) && isnan(values[i])));
                assert_true(fabsf(d[act][i] - slopes[i]) < 4e-7f || (isnan(d[act][i]) && isnan(slopes[i])));
            }
        }
    }
}

/* SwiGLU and its gradients from their definitions, tails and ends included. */
static void test_swiglu(void **state)
{
    (void)state;
    float *x = memory_alloc(COUNT, sizeof *x), *two = memory_alloc(COUNT, sizeof *x),
          *y = memory_alloc(COUNT, sizeof *y);
    float *dgate = memory_alloc(COUNT, sizeof *x), *dup = memory_alloc(COUNT, sizeof *x);
    for (int level = 0; level < KERNEL_LEVELS; level++) {
        const struct kernels *k = kernels_level(level);
        if (!k)
            continue;
        spread_points(x, -100, 100);
        for (int i = 0; i < COUNT; i++)
            two[i] = 2;
        k->swiglu(y, x, two, COUNT);
        k->swiglu_back(dgate, dup, two, x, two, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double s = 1 / (1 + exp(-(double)x[i])), silu = x[i] * s, slope = s + x[i] * s * (1 - s);
            assert_true(fabs(y[i] - 2 * silu) <= 1e-6 * fabs(2 * silu) + 1e-30);
            assert_true(fabs(dup[i] - 2 * silu) <= 1e-6 * fabs(2 * silu) + 1e-30);
            assert_true(fabs(dgate[i] - 4 * slope) <= 2e-6 * (fabs(slope) + fabs(x[i] * s)) + 1e-30);
        }
        const float ends[3] = {INFINITY, -200, NAN};
        k->swiglu(y, ends, two, 3);
        assert_true(isinf(y[0]) && fabsf(y[1]) < 1e-30f && isnan(y[2]));
    }
    free(x), free(two), free(y), free(dgate), free(dup);
}

static void random_fill(float *x, size_t count, uint64_t id)
{
    const struct rng_stream stream = {.seed = 17, .use = RNG_TEST, .second = id};
    rng_normal_fill(&stream, x, count, 1);
}

/* One product, a and b as they are or transposed, c set or added to, rows of c apart; against sums in double. */
static void check_product(const struct kernels *k, int m, int n, int depth, int used, int form)
{
    bool a_t = form & 1, b_t = form & 2, add = form & 4;
    size_t ai = a_t ? 1 : (size_t)depth, ak = a_t ? (size_t)m : 1, bk = b_t ? 1 : (size_t)n,
           bn = b_t ? (size_t)depth : 1;
    size_t ldc = (size_t)n + 3, spare = k->packed_size(depth, n);
    float *a = memory_alloc((size_t)m * depth, sizeof *a), *b = memory_alloc((size_t)depth * n, sizeof *b);
    float *c = memory_alloc((size_t)m * ldc, sizeof *c), *before = memory_alloc((size_t)m * ldc, sizeof *c);
    float *packed = memory_alloc(spare + 8, sizeof *packed);
    random_fill(a, (size_t)m * depth, 1);
    random_fill(b, (size_t)depth * n, 2);
    random_fill(c, (size_t)m * ldc, 3);
    memcpy(before, c, (size_t)m * ldc * sizeof *c);
    for (int i = 0; i < 8; i++)
        packed[spare + i] = 42;
    k->pack(packed, b, bk, bn, depth, n);
    for (int i = 0; i < 8; i++)
        assert_true(packed[spare + i] == 42);
    k->multiply_part(m, n, used, depth, a, ai, ak, packed, add, c, ldc);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double want = add ? before[i * ldc + j] : 0;
            for (int p = 0; p < used; p++)
                want += (double)a[(size_t)i * ai + (size_t)p * ak] * b[(size_t)p * bk + (size_t)j * bn];
            if (!(fabs(c[i * ldc + j] - want) < 4e-6 * sqrt(depth)))
                fail_msg("%s: m %d n %d k %d of %d form %d: [%d,%d]: want %g, got %g", k->name, m, n, used, depth, form,
                         i, j, want, (double)c[i * ldc + j]);
        }
        assert_memory_equal(c + i * ldc + n, before + i * ldc + n, 3 * sizeof *c); /* between the rows */
    }
    free(a), free(b), free(c), free(before), free(packed);
}

static void test_products(void **state)
{
    (void)state;
    static const int shapes[][4] = {{1, 1, 1, 1},       {2, 33, 3, 3},      {5, 31, 7, 4},     {12, 32, 64, 64},
                                    {13, 64, 191, 190}, {25, 17, 193, 193}, {250, 40, 20, 20}, {3, 100, 400, 385},
                                    {7, 8, 9, 1},       {11, 95, 5, 5}};
    for (int level = 0; level < KERNEL_LEVELS; level++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0] && kernels_level(level); s++)
            for (int form = 0; form < 8; form++)
                check_product(kernels_level(level), shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], form);
}

/* Whole ops with the kernels of the lower levels. */
static void test_ops_at_every_level(void **state)
{
    (void)state;
    int count, wrong = 0;
    struct op_case *cases = ops_cases(&count);
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    for (int level = 1; level < KERNEL_LEVELS; level++) {
        struct backend *be = NULL, *ref = NULL;
        assert_int_equal(ops_cpu()->create(&be, &options, NULL), STATUS_OK);
        assert_int_equal(ops_reference()->create(&ref, &options, NULL), STATUS_OK);
        be->kernels = kernels_level(level);
        for (int i = level; i < count && be->kernels; i += 3) {
            struct case_result want, got;
            ops_case_run(ops_reference(), ref, &cases[i], 0, &want);
            ops_case_run(ops_cpu(), be, &cases[i], 0, &got);
            const char *difference = got.fault[0] ? got.fault : ops_case_compare(&cases[i], &want, &got, 1);
            if (difference[0])
                print_error("level %d: %s\n", level, difference);
            wrong += difference[0] != 0;
            case_result_free(&cases[i], &want);
            case_result_free(&cases[i], &got);
        }
        ops_cpu()->destroy(be);
        ops_reference()->destroy(ref);
    }
    free(cases);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions), cmocka_unit_test(test_extremes),           cmocka_unit_test(test_swiglu),
        cmocka_unit_test(test_products),  cmocka_unit_test(test_ops_at_every_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
