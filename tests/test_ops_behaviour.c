/* What the ops must do that no comparison shows: AdamW by hand, decoding equal to attention, sampling as a
 * distribution, the taper at its two ends, a norm in place. Both CPU tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "core/ops/ops.h"
#include "core/base/rng.h"

static struct backend *open_table(const struct ops **ops, int which)
{
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    *ops = which ? ops_cpu() : ops_reference();
    assert_int_equal((*ops)->create(&be, &options, &err), STATUS_OK);
    return be;
}

static void random_fill(float *x, size_t count, uint64_t stream_id)
{
    const struct rng_stream stream = {.seed = 3, .use = RNG_TEST, .second = stream_id};
    rng_normal_fill(&stream, x, count, 1);
}

static void assert_near(double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        fail_msg("want %.9g, got %.9g", want, got);
}

/* Two steps with numbers worked out by hand: g = 3 then 4, clip 1 of norm 6: g' = 0.5 then 2/3. */
static void test_adamw_by_hand(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        float p[2] = {2, 5}, m[2] = {0}, v[2] = {0}, g[2] = {3, 9};
        const struct param_segment segments[2] = {{0, 1, true, 0}, {1, 1, true, 1}};
        double norm_sq = 36;
        struct step_scalars scalars = {.lr = 0.1f};
        int32_t adam_step[2] = {1, 0};
        const struct adamw a = {p,    m,     v, g,    segments, 2,         &norm_sq, 1,
                                0.5f, 0.75f, 0, 0.2f, &scalars, adam_step, NULL,     NULL};
        ops->adamw(be, &a);
        /* m = 0.25, v = 0.0625, both corrected to g' and g'^2: the step is lr itself. */
        assert_near(p[0], 2 - 2 * 0.1 * 0.2 - 0.1, 1e-6);
        assert_near(m[0], 0.25, 1e-7);
        assert_near(v[0], 0.0625, 1e-7);
        adam_step[0] = 2;
        g[0] = 4;
        ops->adamw(be, &a);
        double m2 = 0.5 * 0.25 + 0.5 * 2 / 3, v2 = 0.75 * 0.0625 + 0.25 * 4 / 9;
        assert_near(p[0], 1.86 * 0.98 - 0.1 * (m2 / 0.75) / sqrt(v2 / (1 - 0.5625)), 1e-6);
        assert_true(p[1] == 5 && m[1] == 0 && v[1] == 0); /* off the graph: neither updated nor decayed */
        ops->destroy(be);
    }
}

/* Decoding token by token gives what attention over the whole sequence gives. */
static void check_decode(const struct ops *ops, struct backend *be, struct rope rope)
{
    enum { B = 2, T = 9, H = 2, D = 8, C = H * D, S = 12 };
    static float qkv[B * T * 3 * C], one[B * 3 * C], out[B * T * C], lse[B * H * T], k[B * H * S * D], v[B * H * S * D];
    static float decoded[B * C];
    random_fill(qkv, B * T * 3 * C, 1);
    static float kept[B * T * 3 * C];
    memcpy(kept, qkv, sizeof kept);
    const struct attention_forward whole = {qkv, out, lse, rope, B, T, H, D};
    ops->attention_forward(be, &whole);
    for (int t = 0; t < T; t++) {
        int32_t pos[B] = {t, t};
        for (int b = 0; b < B; b++)
            memcpy(one + b * 3 * C, kept + (b * T + t) * 3 * C, 3 * C * sizeof(float));
        const struct decode_attention a = {one, k, v, decoded, pos, rope, B, H, D, S};
        ops->decode_attention(be, &a);
        for (int b = 0; b < B; b++)
            for (int i = 0; i < C; i++)
                assert_near(decoded[b * C + i], out[(b * T + t) * C + i], 2e-6);
    }
}

static void test_decoding_is_attention(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        check_decode(ops, be, (struct rope){0});
        check_decode(ops, be, (struct rope){.theta = 10000});
        check_decode(ops, be, (struct rope){.theta = 10000, .factor = 2});
        ops->destroy(be);
    }
}

/* A token changed later must not change what comes before it. */
static void test_attention_is_causal(void **state)
{
    (void)state;
    enum { T = 150, D = 32 };
    static float qkv[T * 3 * D], again[T * 3 * D], out[T * D], out_again[T * D], lse[T];
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        random_fill(qkv, T * 3 * D, 2);
        memcpy(again, qkv, sizeof again);
        for (int at = 1; at < T; at += 37) {
            for (int i = 0; i < 3 * D; i++)
                again[at * 3 * D + i] = qkv[at * 3 * D + i] + 1;
            const struct attention_forward a = {qkv, out, lse, {.theta = 0}, 1, T, 1, D},
                                           b = {again, out_again, lse, {.theta = 0}, 1, T, 1, D};
            ops->attention_forward(be, &a);
            ops->attention_forward(be, &b);
            assert_memory_equal(out, out_again, (size_t)at * D * sizeof(float));
            assert_memory_not_equal(out + at * D, out_again + at * D, D * sizeof(float));
            memcpy(again, qkv, sizeof again);
        }
        ops->destroy(be);
    }
}

/* Counts of many draws against the probabilities, within five standard deviations. */
static void check_distribution(const struct ops *ops, struct backend *be, float temperature, int top_k, float top_p,
                               const double *want)
{
    enum { V = 5, B = 200, ROUNDS = 100, DRAWS = B * ROUNDS };
    static float logits[B * V];
    int32_t tokens[B];
    int counts[V] = {0};
    const double p[V] = {0.1, 0.4, 0.05, 0.15, 0.3};
    for (int i = 0; i < B * V; i++)
        logits[i] = (float)log(p[i % V]);
    for (int round = 0; round < ROUNDS; round++) {
        const struct sample_tokens a = {logits, tokens, temperature, top_p, top_k, 99, (uint64_t)round, B, V};
        ops->sample(be, &a);
        for (int b = 0; b < B; b++) {
            assert_in_range(tokens[b], 0, V - 1);
            counts[tokens[b]]++;
        }
    }
    for (int v = 0; v < V; v++)
        assert_near(counts[v], DRAWS * want[v], 5 * sqrt(DRAWS * want[v] * (1 - want[v])));
}

static void test_sampling_is_the_distribution(void **state)
{
    (void)state;
    const double plain[] = {0.1, 0.4, 0.05, 0.15, 0.3}, two[] = {0, 4.0 / 7, 0, 0, 3.0 / 7};
    const double nucleus[] = {0, 0.4 / 0.85, 0, 0.15 / 0.85, 0.3 / 0.85}, best[] = {0, 1, 0, 0, 0};
    double sharp[5], total = 0;
    for (int i = 0; i < 5; i++)
        total += plain[i] * plain[i];
    for (int i = 0; i < 5; i++)
        sharp[i] = plain[i] * plain[i] / total;
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        check_distribution(ops, be, 1, 0, 1, plain);
        check_distribution(ops, be, 0.5f, 0, 1, sharp);
        check_distribution(ops, be, 1, 2, 1, two);
        check_distribution(ops, be, 1, 0, 0.8f, nucleus);
        check_distribution(ops, be, 1, 1, 1, best);
        check_distribution(ops, be, 1, 0, 0.01f, best);
        check_distribution(ops, be, 0, 0, 1, best);
        ops->destroy(be);
    }
}

static void test_argmax_takes_the_lowest_of_equals(void **state)
{
    (void)state;
    const float logits[] = {1, 3, 3, 2, NAN, 1, 0, 5, NAN, NAN, NAN, NAN};
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        int32_t tokens[3] = {-1, -1, -1};
        const struct sample_tokens a = {logits, tokens, 0, 1, 0, 1, 0, 3, 4};
        ops->sample(be, &a);
        assert_int_equal(tokens[0], 1);
        assert_int_equal(tokens[1], 3);
        assert_int_equal(tokens[2], 0); /* no number at all: still a token of the vocabulary */
        ops->destroy(be);
    }
}

/* With the gate at exactly 1 and 0 the mixed branch equals the ends; h may be the input's own memory. */
static void test_taper_ends(void **state)
{
    (void)state;
    enum { N = 5, C = 24 };
    float in[N * C], delta[N * C], gamma[C], gamma_tilde[C], c = 0.8f, scale[N], end[N * C], mixed[N * C], h[N * C];
    random_fill(in, N * C, 4);
    random_fill(delta, N * C, 5);
    random_fill(gamma, C, 6);
    random_fill(gamma_tilde, C, 7);
    for (int which = 0; which < 2; which++) {
        const struct ops *ops;
        struct backend *be = open_table(&ops, which);
        for (int gate = 0; gate < 2; gate++) {
            const float g = (float)gate;
            struct norm_forward a = {
                .site = {NORM_RMS, gate ? PHASE_NORMED : PHASE_FOLDED, 1e-6f, gamma, NULL, gamma_tilde, NULL, &c, &g},
                .in = in,
                .delta = delta,
                .h = h,
                .y = end,
                .scale = scale,
                .N = N,
                .C = C};
            ops->norm_forward(be, &a);
            a.site.phase = PHASE_MIXED;
            a.y = mixed;
            float in_place[N * C];
            memcpy(in_place, in, sizeof in);
            a.in = a.h = in_place;
            ops->norm_forward(be, &a);
            assert_memory_equal(h, in_place, sizeof h);
            for (int i = 0; i < N * C; i++)
                assert_near(mixed[i], end[i], 1e-6 * (1 + fabs(end[i])));
        }
        ops->destroy(be);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw_by_hand),
        cmocka_unit_test(test_decoding_is_attention),
        cmocka_unit_test(test_attention_is_causal),
        cmocka_unit_test(test_sampling_is_the_distribution),
        cmocka_unit_test(test_argmax_takes_the_lowest_of_equals),
        cmocka_unit_test(test_taper_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
