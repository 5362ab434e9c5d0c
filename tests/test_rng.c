/* Philox4x32-10 against its published test vectors, and the distributions made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "core/base/rng.h"

/* Known answers of Random123 (kat_vectors): counter and key all zero, all ones. */
static void known_answers(void **state)
{
    (void)state;
    const struct rng_stream zero = {0}, ones = {.seed = UINT64_MAX, .use = 0xff, .second = UINT64_MAX};
    uint32_t out[4];
    rng_block(&zero, 0, out);
    assert_true(out[0] == 0x6627e8d5 && out[1] == 0xe169c58d && out[2] == 0xbc57ac4c && out[3] == 0x9b00dbd8);
    assert_true(rng_u64(&zero, 0) == 0xe169c58d6627e8d5 && rng_u64(&zero, 1) == 0x9b00dbd8bc57ac4c);
    assert_true(rng_u64(&ones, 0x01fffffffffffffe) == 0x41c83b0e408f276d);
    assert_true(rng_u64(&ones, 0x01ffffffffffffff) == 0x6d5451fda20bc7c6);
}

static void streams_differ(void **state)
{
    (void)state;
    const struct rng_stream a = {.seed = 1, .use = RNG_BATCH, .second = 1};
    struct rng_stream b = a, c = a, d = a, e = a;
    b.seed = 2;
    c.use = RNG_INIT;
    d.second = 2;
    e.second = a.second + (1ull << 32);
    const struct rng_stream *others[] = {&b, &c, &d, &e};
    for (int i = 0; i < 4; i++)
        assert_true(rng_u64(&a, 0) != rng_u64(others[i], 0));
}

static void bounded_and_uniform(void **state)
{
    (void)state;
    const struct rng_stream s = {.seed = 3, .use = RNG_TEST};
    int counts[7] = {0};
    double sum = 0;
    for (uint64_t i = 0; i < 70000; i++) {
        uint64_t x = rng_below(&s, i, 7);
        assert_true(x < 7);
        counts[x]++;
        double u = rng_uniform(&s, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    for (int i = 0; i < 7; i++)
        assert_true(abs(counts[i] - 10000) < 500); /* five standard deviations */
    assert_true(fabs(sum / 70000 - 0.5) < 0.006);
    assert_true(rng_below(&s, 5, 1) == 0);
}

static void normal(void **state)
{
    (void)state;
    const struct rng_stream s = {.seed = 4, .use = RNG_TEST};
    enum { N = 100001 }; /* odd: the last pair is cut */
    float *x = malloc(N * sizeof *x);
    double m1 = 0, m2 = 0, m4 = 0;
    rng_normal_fill(&s, x, N, 2.0);
    for (int i = 0; i < N; i++) {
        double v = (double)x[i] / 2.0;
        assert_true(isfinite(v));
        m1 += v / N;
        m2 += v * v / N;
        m4 += v * v * v * v / N;
    }
    assert_true(fabs(m1) < 0.02 && fabs(m2 - 1) < 0.03 && fabs(m4 - 3) < 0.2);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers), cmocka_unit_test(streams_differ),
                                       cmocka_unit_test(bounded_and_uniform), cmocka_unit_test(normal)};
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
