/* Every gradient of the table against central finite differences of the reference forward, and every statistic against
 * its definition. The gradients come from both CPU tables.
 *
 * Steps of 2^-7 on numbers of order one: the cubic term and the rounding of float outputs both stay near 1e-5 of the
 * gradient, so a bound of 5e-4 finds any missing factor (1/C, 1/sqrt(D), 1-g, the centring ...). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/ops/ops.h"
#include "core/base/rng.h"

static const float step = 0x1p-7f;

/* One table under test, its backend, and the memory of the test. */
struct bench {
    const struct ops *ops;
    struct backend *be, *ref;
    uint64_t draws;
};

static void bench_open(struct bench *t, int which)
{
    struct error err = {0};
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    *t = (struct bench){.ops = which ? ops_cpu() : ops_reference()};
    assert_int_equal(t->ops->create(&t->be, &options, &err), STATUS_OK);
    assert_int_equal(ops_reference()->create(&t->ref, &options, &err), STATUS_OK);
}

static void bench_close(struct bench *t)
{
    t->ops->destroy(t->be);
    ops_reference()->destroy(t->ref);
}

static float *blank(struct bench *t, size_t count)
{
    struct error err = {0};
    return t->ops->alloc(t->be, count * sizeof(double), &err);
}

static float *random_floats(struct bench *t, size_t count, double center, double std)
{
    float *x = blank(t, count);
    const struct rng_stream stream = {.seed = 11, .use = RNG_TEST, .second = ++t->draws};
    rng_normal_fill(&stream, x, count, std);
    for (size_t i = 0; i < count; i++)
        x[i] += (float)center;
    return x;
}

static double weighted_sum(const float *x, const float *weights, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * weights[i];
    return sum;
}

/* grad [count], less what it held before, against differences of loss(arg) in x [count]. */
static void check(const char *what, float *x, const float *grad, const float *before, size_t count,
                  double (*loss)(void *arg), void *arg)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        float kept = x[i];
        x[i] = kept + step;
        double up = loss(arg), up_at = x[i];
        x[i] = kept - step;
        double slope = (up - loss(arg)) / (up_at - x[i]), got = grad[i] - (before ? before[i] : 0.0);
        x[i] = kept;
        off += (slope - got) * (slope - got);
        size += slope * slope;
    }
    if (!(sqrt(off) <= 5e-4 * sqrt(size)) || size == 0)
        fail_msg("%s: gradient off by %.2e of its norm %.2e", what, sqrt(off / size), sqrt(size));
}

/* ---- embedding */

struct embed_loss {
    struct bench *t;
    float *out, *tok, *pos, *weights;
    int32_t *tokens;
};

enum { E_B = 2, E_T = 5, E_C = 3, E_V = 4 };

static double embed_loss(void *arg)
{
    struct embed_loss *e = arg;
    ops_reference()->embed_forward(e->t->ref, e->out, e->tokens, e->tok, e->pos, E_B, E_T, E_C);
    return weighted_sum(e->out, e->weights, E_B * E_T * E_C);
}

static void test_embedding(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct bench t;
        bench_open(&t, which);
        int32_t tokens[E_B * E_T] = {1, 3, 1, 0, 2, 2, 2, 0, 3, 1};
        struct embed_loss e = {&t,
                               blank(&t, E_B * E_T * E_C),
                               random_floats(&t, E_V * E_C, 0, 1),
                               random_floats(&t, E_T * E_C, 0, 1),
                               random_floats(&t, E_B * E_T * E_C, 0, 1),
                               tokens};
        float *dtok = blank(&t, E_V * E_C), *dpos = blank(&t, E_T * E_C);
        t.ops->embed_backward(t.be, dtok, dpos, e.weights, tokens, E_B, E_T, E_C, E_V);
        check("tok", e.tok, dtok, NULL, E_V * E_C, embed_loss, &e);
        check("pos", e.pos, dpos, NULL, E_T * E_C, embed_loss, &e);
        bench_close(&t);
    }
}

/* ---- norm */

enum { N_N = 3, N_C = 6 };

struct norm_loss {
    struct bench *t;
    struct norm_forward forward;
    float *weights;
};

static double norm_loss(void *arg)
{
    struct norm_loss *n = arg;
    ops_reference()->norm_forward(n->t->ref, &n->forward);
    return weighted_sum(n->forward.y, n->weights, N_N * N_C);
}

static void check_norm(int which, enum norm_kind kind, enum gate_phase phase)
{
    struct bench t;
    bench_open(&t, which);
    const float gate = phase == PHASE_NORMED ? 1 : phase == PHASE_FOLDED ? 0 : 0.37f;
    bool layer = kind == NORM_LAYER, normed = phase != PHASE_FOLDED, folded = phase != PHASE_NORMED;
    float c = 0.7f;
    float *gamma = random_floats(&t, N_C, 1, 0.5), *beta = layer ? random_floats(&t, N_C, 0, 1) : NULL;
    float *gamma_tilde = random_floats(&t, N_C, 1, 0.5), *beta_tilde = layer ? random_floats(&t, N_C, 0, 1) : NULL;
    float *in = random_floats(&t, N_N * N_C, 0.3, 1), *grad[5], *before[5];
    struct norm_loss loss = {.t = &t, .weights = random_floats(&t, N_N * N_C, 0, 1)};
    loss.forward = (struct norm_forward){.site = {kind, phase, 1e-5f, gamma, beta, gamma_tilde, beta_tilde, &c, &gate},
                                         .in = in,
                                         .y = blank(&t, N_N * N_C),
                                         .scale = blank(&t, N_N),
                                         .mean = blank(&t, N_N),
                                         .N = N_N,
                                         .C = N_C};
    norm_loss(&loss);
    for (int i = 0; i < 5; i++) {
        grad[i] = random_floats(&t, N_N * N_C, 0, 1);
        before[i] = blank(&t, N_N * N_C);
        memcpy(before[i], grad[i], N_N * N_C * sizeof(float));
    }
    struct norm_backward a = {.site = loss.forward.site,
                              .dy = loss.weights,
                              .h = in,
                              .scale = loss.forward.scale,
                              .mean = loss.forward.mean,
                              .dh = grad[0],
                              .dgamma = grad[1],
                              .dbeta = layer ? grad[2] : NULL,
                              .dgamma_tilde = grad[3],
                              .dbeta_tilde = layer ? grad[4] : NULL,
                              .N = N_N,
                              .C = N_C};
    t.ops->norm_backward(t.be, &a);
    check("h", in, grad[0], before[0], N_N * N_C, norm_loss, &loss);
    if (normed)
        check("gamma", gamma, grad[1], before[1], N_C, norm_loss, &loss);
    if (normed && layer)
        check("beta", beta, grad[2], before[2], N_C, norm_loss, &loss);
    if (folded)
        check("gamma_tilde", gamma_tilde, grad[3], before[3], N_C, norm_loss, &loss);
    if (folded && layer)
        check("beta_tilde", beta_tilde, grad[4], before[4], N_C, norm_loss, &loss);
    for (int i = 1; i < 5; i++) /* what is off the graph is left alone */
        if (i < 3 ? !normed : !folded)
            assert_memory_equal(grad[i], before[i], N_N * N_C * sizeof(float));
    bench_close(&t);
}

static void test_norm(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int kind = NORM_RMS; kind <= NORM_LAYER; kind++)
            for (int phase = PHASE_NORMED; phase <= PHASE_FOLDED; phase++)
                check_norm(which, (enum norm_kind)kind, (enum gate_phase)phase);
}

/* ---- linear: x -> act(x I) -> W, so that the gradient at the activation's input is the one at x */

enum { L_N = 3, L_I = 4, L_O = 5 };

struct linear_loss {
    struct bench *t;
    struct linear_forward first, second;
    float *weights;
};

static double linear_loss(void *arg)
{
    struct linear_loss *l = arg;
    ops_reference()->linear_forward(l->t->ref, &l->first);
    ops_reference()->linear_forward(l->t->ref, &l->second);
    return weighted_sum(l->second.pre, l->weights, L_N * L_O);
}

static void check_linear(int which, enum op_act act)
{
    struct bench t;
    bench_open(&t, which);
    int wide = act == ACT_SWIGLU ? 2 * L_I : L_I;
    float *x = random_floats(&t, (size_t)L_N * wide, 0, 1), *identity = blank(&t, (size_t)wide * wide);
    for (int i = 0; i < wide; i++)
        identity[i * wide + i] = 1;
    float *W = random_floats(&t, L_O * L_I, 0, 1), *bias = random_floats(&t, L_O, 0, 1);
    float *first_pre = blank(&t, (size_t)L_N * wide), *hidden = act == ACT_NONE ? first_pre : blank(&t, L_N * L_I);
    struct linear_loss l = {.t = &t, .weights = random_floats(&t, L_N * L_O, 0, 1)};
    l.first =
        (struct linear_forward){x, identity, NULL, first_pre, act == ACT_NONE ? NULL : hidden, act, L_N, wide, wide};
    l.second = (struct linear_forward){hidden, W, bias, blank(&t, L_N * L_O), NULL, ACT_NONE, L_N, L_I, L_O};
    linear_loss(&l);
    float *dW = random_floats(&t, L_O * L_I, 0, 1), *dbias = random_floats(&t, L_O, 0, 1),
          *din = blank(&t, 2 * L_N * L_I);
    float dW_before[L_O * L_I], dbias_before[L_O];
    memcpy(dW_before, dW, sizeof dW_before);
    memcpy(dbias_before, dbias, sizeof dbias_before);
    struct linear_backward a = {l.weights, hidden, W,   dW, dbias, din, act == ACT_NONE ? NULL : first_pre,
                                act,       L_N,    L_I, L_O};
    t.ops->linear_backward(t.be, &a);
    check("input", x, din, NULL, (size_t)L_N * wide, linear_loss, &l);
    check("weight", W, dW, dW_before, L_O * L_I, linear_loss, &l);
    check("bias", bias, dbias, dbias_before, L_O, linear_loss, &l);
    bench_close(&t);
}

static void test_linear(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++)
        for (int act = ACT_NONE; act <= ACT_SWIGLU; act++)
            check_linear(which, (enum op_act)act);
}

/* ---- attention */

enum { A_B = 2, A_T = 5, A_H = 2, A_D = 6, A_ALL = A_B * A_T * A_H * A_D };

struct attention_loss {
    struct bench *t;
    float *qkv, *rotated, *out, *lse, *weights;
    struct rope rope;
};

static double attention_loss(void *arg)
{
    struct attention_loss *l = arg;
    memcpy(l->rotated, l->qkv, 3 * A_ALL * sizeof(float));
    const struct attention_forward a = {l->rotated, l->out, l->lse, l->rope, A_B, A_T, A_H, A_D};
    ops_reference()->attention_forward(l->t->ref, &a);
    return weighted_sum(l->out, l->weights, A_ALL);
}

static void test_attention(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        struct bench t;
        bench_open(&t, which & 1);
        struct attention_loss l = {
            &t,
            random_floats(&t, 3 * A_ALL, 0, 1),
            blank(&t, 3 * A_ALL),
            blank(&t, A_ALL),
            blank(&t, A_B * A_H * A_T),
            random_floats(&t, A_ALL, 0, 1),
            {.theta = which & 2 ? 100.0f : 0.0f, .factor = 3, .low = 0.25f, .high = 0.9f, .original = 5}};
        attention_loss(&l);
        float *dqkv = blank(&t, 3 * A_ALL);
        const struct attention_backward a = {l.rotated, l.out, l.lse, l.weights, dqkv, l.rope, A_B, A_T, A_H, A_D};
        t.ops->attention_backward(t.be, &a);
        check(which & 2 ? "qkv, rotated" : "qkv", l.qkv, dqkv, NULL, 3 * A_ALL, attention_loss, &l);
        bench_close(&t);
    }
}

/* ---- head */

enum { H_N = 4, H_C = 3, H_V = 7 };

struct head_loss {
    struct bench *t;
    struct head_pass pass;
};

/* What the contract says the gradients are of. */
static double head_loss(void *arg)
{
    struct head_loss *l = arg;
    struct head_pass a = l->pass;
    a.dy = a.dweight = NULL;
    a.stats = (struct logit_stats){0};
    ops_reference()->head(l->t->ref, &a);
    double sum = 0;
    for (int n = 0; n < H_N; n++)
        sum += a.ce[n];
    return a.grad_scale * sum;
}

/* Statistics of row n of the logits, from their definitions. */
static void check_stats(const struct head_pass *a, int n)
{
    const float *z = a->logits + (size_t)n * H_V;
    int y = a->targets[n];
    double sum = 0, sum_sq = 0, mean = 0, most = 0, other = -INFINITY, entropy = 0, variance = 0;
    for (int v = 0; v < H_V; v++) {
        sum += exp((double)z[v]);
        sum_sq += (double)z[v] * z[v];
        mean += (double)z[v] / H_V;
        most = fmax(most, fabs((double)z[v]));
        if (v != y)
            other = fmax(other, z[v]);
    }
    for (int v = 0; v < H_V; v++) {
        double p = exp((double)z[v]) / sum;
        entropy -= p * log(p);
        variance += (z[v] - mean) * (z[v] - mean) / H_V;
    }
    const double want[7] = {sum_sq,  most,           sqrt(variance), z[y] - other, exp((double)z[y]) / sum,
                            entropy, log(sum) - z[y]};
    const float got[7] = {a->stats.sum_sq[n],    a->stats.max_abs[n], a->stats.std[n], a->stats.margin[n],
                          a->stats.p_correct[n], a->stats.entropy[n], a->ce[n]};
    for (int i = 0; i < 7; i++)
        if (!(fabs(want[i] - got[i]) <= 1e-5 * (fabs(want[i]) + 1)))
            fail_msg("statistic %d of row %d: want %.9g, got %.9g", i, n, want[i], (double)got[i]);
}

static void test_head(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct bench t;
        bench_open(&t, which);
        int32_t targets[H_N] = {2, -1, 6, 0};
        float *y = random_floats(&t, H_N * H_C, 0, 1), *W = random_floats(&t, H_V * H_C, 0, 1);
        float *dW = random_floats(&t, H_V * H_C, 0, 1), before[H_V * H_C];
        memcpy(before, dW, sizeof before);
        struct head_loss l = {
            &t,
            {.y = y,
             .weight = W,
             .targets = targets,
             .ce = blank(&t, H_N),
             .dy = blank(&t, H_N * H_C),
             .dweight = dW,
             .grad_scale = 0.4f,
             .logits = blank(&t, H_N * H_V),
             .stats = {blank(&t, H_N), blank(&t, H_N), blank(&t, H_N), blank(&t, H_N), blank(&t, H_N), blank(&t, H_N)},
             .N = H_N,
             .C = H_C,
             .V = H_V}};
        t.ops->head(t.be, &l.pass);
        for (int n = 0; n < H_N; n++)
            if (targets[n] >= 0)
                check_stats(&l.pass, n);
        assert_true(l.pass.ce[1] == 0 && l.pass.stats.p_correct[1] == 0 && l.pass.stats.max_abs[1] == 0);
        for (int i = 0; i < H_C; i++)
            assert_true(l.pass.dy[H_C + i] == 0);
        check("y", y, l.pass.dy, NULL, H_N * H_C, head_loss, &l);
        check("head weight", W, dW, before, H_V * H_C, head_loss, &l);
        bench_close(&t);
    }
}

/* ---- auxiliary loss and probe */

enum { X_N = 3, X_C = 5 };

struct aux_check {
    float *h;
    bool layer;
    double lambda, target, grad_scale;
    int only; /* one token, or -1 for all */
};

/* lambda * sum_n (s_n - s_tgt)^2 from h itself, eps as below. */
static double aux_value(void *arg)
{
    struct aux_check *x = arg;
    double total = 0;
    for (int n = 0; n < X_N; n++) {
        const float *h = x->h + (size_t)n * X_C;
        double mean = 0, square = 0;
        for (int i = 0; i < X_C && x->layer; i++)
            mean += (double)h[i] / X_C;
        for (int i = 0; i < X_C; i++)
            square += (h[i] - mean) * (h[i] - mean) / X_C;
        double off = sqrt(square + 1e-5) - x->target;
        total += x->only < 0 || x->only == n ? x->lambda * off * off : 0;
    }
    return total * x->grad_scale;
}

/* Slope of the token's term along h/|h|, by differences: the radial part of its gradient. */
static double slope_along_h(struct aux_check *x, int n)
{
    float *h = x->h + (size_t)n * X_C, kept[X_C];
    double length = 0, value[2];
    memcpy(kept, h, sizeof kept);
    for (int i = 0; i < X_C; i++)
        length += (double)h[i] * h[i];
    length = sqrt(length);
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < X_C; i++)
            h[i] = (float)(kept[i] * (1 + (side ? 1 : -1) * 1e-2 / length));
        value[side] = aux_value(x);
    }
    memcpy(h, kept, sizeof kept);
    return (value[1] - value[0]) / 2e-2;
}

static void check_aux(int which, bool layer)
{
    struct bench t;
    bench_open(&t, which);
    struct aux_check x = {random_floats(&t, X_N * X_C, 0.2, 1), layer, 0.3, 0.6, 0.25, -1};
    struct step_scalars scalars = {.aux_target = 0.6f};
    float *y = blank(&t, X_N * X_C), *scale = blank(&t, X_N), *mean = blank(&t, X_N), gamma[X_C] = {0}, beta[X_C] = {0};
    const struct norm_forward norm = {.site = {layer ? NORM_LAYER : NORM_RMS, PHASE_NORMED, 1e-5f, gamma,
                                               layer ? beta : NULL, NULL, NULL, NULL, NULL},
                                      .in = x.h,
                                      .y = y,
                                      .scale = scale,
                                      .mean = mean,
                                      .N = X_N,
                                      .C = X_C};
    ops_reference()->norm_forward(t.ref, &norm);
    float *dh = random_floats(&t, X_N * X_C, 0, 0.1), before[X_N * X_C], radial[X_N];
    double sum = 2;
    memcpy(before, dh, sizeof before);
    const struct aux_loss a = {x.h, scale, layer ? mean : NULL, dh, &sum, radial, 0.3f, 0.25f, &scalars, X_N, X_C};
    t.ops->aux_loss(t.be, &a);
    check("aux", x.h, dh, before, X_N * X_C, aux_value, &x);
    x.grad_scale = 1;
    assert_true(fabs(sum - 2 - aux_value(&x)) < 1e-6);
    for (int n = 0; n < X_N; n++) {
        x.only = n;
        double want = slope_along_h(&x, n);
        if (!(fabs(radial[n] - want) < 1e-3 * fabs(want) + 1e-5))
            fail_msg("aux radial of row %d: want %g, got %g", n, want, (double)radial[n]);
    }
    bench_close(&t);
}

static void test_aux(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        check_aux(which, false);
        check_aux(which, true);
    }
}

/* A gradient built from known parts: 3 along h/|h|, 4 along a unit vector across it. */
static void test_probe(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct bench t;
        bench_open(&t, which);
        enum { C = 40 };
        float h[2 * C] = {0}, dh[2 * C], radial[2], tangential[2];
        for (int i = 0; i < C; i++) { /* |h| = 2 sqrt(C), the alternating vector is across it */
            h[i] = 2;
            dh[i] = 0.5f * (float)((3 - 4 * (i % 2 ? 1 : -1)) / sqrt(C));
            dh[C + i] = i == 0 ? 0.5f * 7 : 0; /* the second h is zero: it has no direction */
        }
        const struct radial_probe a = {dh, h, 0.5f, radial, tangential, 2, C};
        t.ops->radial_probe(t.be, &a);
        assert_true(fabs(radial[0] - 3) < 1e-5 && fabs(tangential[0] - 4) < 1e-5);
        assert_true(radial[1] == 0 && fabs(tangential[1] - 7) < 1e-5);
        bench_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedding), cmocka_unit_test(test_norm), cmocka_unit_test(test_linear),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_head), cmocka_unit_test(test_aux),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
