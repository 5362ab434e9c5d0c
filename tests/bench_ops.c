/* Time of each op at the shapes of a training step, and its share of the machine's matrix rate.
 *
 *   bench_ops [THREADS [D ...]]      default: all processors, d 64 128 256 512
 *
 * A step is 2,048 tokens (4 x 512), vocabulary 10,000, 8 layers, heads of 32, GELU, tied head. Its floor is 6
 * operations a parameter and token (position embedding left out) and causal attention, at the sgemm rate measured in
 * the same run. Times are the best of several, since other programs may share the machine; with one thread they are
 * processor time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "tests/support/bench.h"

enum { B = 4, T = 512, N = B * T, V = 10000, LAYERS = 8, REPEATS = 7 };

static clockid_t clock_used = CLOCK_MONOTONIC;

struct bench {
    struct backend *be;
    int C;
    float *h, *y, *dy, *wide, *wide2, *dwide, *qkv, *dqkv, *out, *lse, *scale, *W, *dW, *ce, *stats, *moments;
    double norm_sq;
    int32_t *tokens;
    struct step_scalars scalars;
    float gate;
    int32_t adam_step;
    struct param_segment segment;
};

static float *memory(struct bench *b, size_t count, double std)
{
    struct error err = {0};
    float *x = ops_cpu()->alloc(b->be, count * sizeof *x, &err);
    if (!x) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    const struct rng_stream stream = {.seed = 1, .use = RNG_TEST, .second = count};
    rng_normal_fill(&stream, x, count < 4 << 20 ? count : 4 << 20, std);
    return x;
}

/* ---- the ops of a step */

static void run_norm(struct bench *b)
{
    struct norm_forward a = {.site = {NORM_RMS, PHASE_MIXED, 1e-6f, b->W, NULL, b->W, NULL, b->W, &b->gate},
                             .in = b->h,
                             .delta = b->dy,
                             .h = b->out,
                             .y = b->y,
                             .scale = b->scale,
                             .N = N,
                             .C = b->C};
    ops_cpu()->norm_forward(b->be, &a);
}

static void run_norm_back(struct bench *b)
{
    struct norm_backward a = {.site = {NORM_RMS, PHASE_MIXED, 1e-6f, b->W, NULL, b->W, NULL, b->W, &b->gate},
                              .dy = b->dy,
                              .h = b->h,
                              .scale = b->scale,
                              .dh = b->y,
                              .dgamma = b->dW,
                              .dgamma_tilde = b->dW + b->C,
                              .N = N,
                              .C = b->C};
    ops_cpu()->norm_backward(b->be, &a);
}

static void forward(struct bench *b, const float *in, float *pre, float *out, int I, int O)
{
    struct linear_forward a = {in, b->W, NULL, pre, out, out ? ACT_GELU : ACT_NONE, N, I, O};
    ops_cpu()->linear_forward(b->be, &a);
}

static void backward(struct bench *b, const float *dout, const float *in, float *din, const float *pre, int I, int O)
{
    struct linear_backward a = {dout, in, b->W, b->dW, NULL, din, pre, pre ? ACT_GELU : ACT_NONE, N, I, O};
    ops_cpu()->linear_backward(b->be, &a);
}

static void run_qkv(struct bench *b)
{
    forward(b, b->h, b->wide, NULL, b->C, 3 * b->C);
}

static void run_qkv_back(struct bench *b)
{
    backward(b, b->wide, b->h, b->y, NULL, b->C, 3 * b->C);
}

static void run_proj(struct bench *b)
{
    forward(b, b->h, b->y, NULL, b->C, b->C);
}

static void run_proj_back(struct bench *b)
{
    backward(b, b->dy, b->h, b->y, NULL, b->C, b->C);
}

static void run_up(struct bench *b)
{
    forward(b, b->h, b->wide, b->wide2, b->C, 4 * b->C);
}

static void run_up_back(struct bench *b)
{
    backward(b, b->dwide, b->h, b->y, NULL, b->C, 4 * b->C);
}

static void run_down(struct bench *b)
{
    forward(b, b->wide2, b->y, NULL, 4 * b->C, b->C);
}

static void run_down_back(struct bench *b)
{
    backward(b, b->dy, b->wide2, b->dwide, b->wide, 4 * b->C, b->C);
}

static void run_attention(struct bench *b)
{
    struct attention_forward a = {b->qkv, b->out, b->lse, 0, B, T, b->C / 32, 32};
    ops_cpu()->attention_forward(b->be, &a);
}

static void run_attention_back(struct bench *b)
{
    struct attention_backward a = {b->qkv, b->out, b->lse, b->dy, b->dqkv, 0, B, T, b->C / 32, 32};
    ops_cpu()->attention_backward(b->be, &a);
}

static void head(struct bench *b, bool stats, bool gradients)
{
    struct head_pass a = {.y = b->h,
                          .weight = b->W,
                          .targets = b->tokens,
                          .ce = b->ce,
                          .dy = gradients ? b->y : NULL,
                          .dweight = gradients ? b->dW : NULL,
                          .grad_scale = 1.0f / N,
                          .N = N,
                          .C = b->C,
                          .V = V};
    if (stats)
        a.stats = (struct logit_stats){b->stats,         b->stats + N,     b->stats + 2 * N,
                                       b->stats + 3 * N, b->stats + 4 * N, b->stats + 5 * N};
    ops_cpu()->head(b->be, &a);
}

static void run_head(struct bench *b)
{
    head(b, false, true);
}

static void run_head_stats(struct bench *b)
{
    head(b, true, true);
}

static void run_head_eval(struct bench *b)
{
    head(b, false, false);
}

static void run_embed(struct bench *b)
{
    ops_cpu()->embed_forward(b->be, b->h, b->tokens, b->W, b->W, B, T, b->C);
    ops_cpu()->embed_backward(b->be, b->dW, b->dW, b->dy, b->tokens, B, T, b->C, V);
}

static void run_update(struct bench *b)
{
    size_t count = b->segment.size;
    ops_cpu()->sum_squares(b->be, &b->norm_sq, b->dW, &b->segment, 1, &b->adam_step);
    struct adamw a = {b->W, b->moments,  b->moments + count, b->dW, &b->segment, 1, &b->norm_sq, 1, 0.9f, 0.95f, 1e-8f,
                      0.1f, &b->scalars, &b->adam_step,      NULL,  NULL};
    ops_cpu()->adamw(b->be, &a);
}

struct row {
    const char *name;
    void (*run)(struct bench *b);
    int times;            /* in a step; 0: shown, not counted */
    double per_C, per_CC; /* operations a token: per_C * C + per_CC * C^2 */
};

static const struct row rows[] = {
    {"embedding, both ways", run_embed, 1, 0, 0},
    {"norm forward", run_norm, 2 * LAYERS + 1, 0, 0},
    {"norm backward", run_norm_back, 2 * LAYERS + 1, 0, 0},
    {"qkv forward", run_qkv, LAYERS, 0, 6},
    {"qkv backward", run_qkv_back, LAYERS, 0, 12},
    {"attention forward", run_attention, LAYERS, 2 * T, 0},
    {"attention backward", run_attention_back, LAYERS, 4 * T, 0},
    {"projection forward", run_proj, LAYERS, 0, 2},
    {"projection backward", run_proj_back, LAYERS, 0, 4},
    {"mlp up + gelu forward", run_up, LAYERS, 0, 8},
    {"mlp up backward", run_up_back, LAYERS, 0, 16},
    {"mlp down forward", run_down, LAYERS, 0, 8},
    {"mlp down + gelu backward", run_down_back, LAYERS, 0, 16},
    {"head, loss, gradients", run_head, 1, 6.0 * V, 0},
    {"clip and AdamW", run_update, 1, 0, 0},
    {"(head with statistics)", run_head_stats, 0, 6.0 * V, 0},
    {"(head, loss alone)", run_head_eval, 0, 2.0 * V, 0},
};

static void prepare(struct bench *b, int C)
{
    size_t all = (size_t)N * C, params = (size_t)V * C + (size_t)T * C + (size_t)LAYERS * 12 * C * C;
    b->C = C;
    b->h = memory(b, all, 1), b->y = memory(b, all, 1), b->dy = memory(b, all, 1), b->out = memory(b, all, 1);
    b->wide = memory(b, 4 * all, 1), b->wide2 = memory(b, 4 * all, 1), b->dwide = memory(b, 4 * all, 1);
    b->qkv = memory(b, 3 * all, 1), b->dqkv = memory(b, 3 * all, 1);
    b->lse = memory(b, all, 1), b->scale = memory(b, N, 1), b->ce = memory(b, N, 1), b->stats = memory(b, 6 * N, 1);
    b->W = memory(b, params, 0.02), b->dW = memory(b, params, 0.02), b->moments = memory(b, 2 * params, 0);
    b->tokens = (int32_t *)(void *)memory(b, N, 1);
    const struct rng_stream stream = {.seed = 2, .use = RNG_TEST};
    for (int n = 0; n < N; n++)
        b->tokens[n] = (int32_t)rng_below(&stream, (uint64_t)n, V);
    b->scalars = (struct step_scalars){.lr = 1e-9f};
    b->gate = 0.5f;
    b->adam_step = 1;
    b->segment = (struct param_segment){0, params, true, GROUP_ALWAYS};
}

static void bench_width(int threads, int C)
{
    struct bench b = {0};
    struct error err = {0};
    const struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    if (ops_cpu()->create(&b.be, &options, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    prepare(&b, C);
    double best[sizeof rows / sizeof rows[0]], rate = bench_sgemm_rate(threads, REPEATS, clock_used), total = 0,
                                               work = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        best[i] = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            double begin = bench_now(clock_used);
            rows[i].run(&b);
            best[i] = fmin(best[i], bench_now(clock_used) - begin);
        }
    rate = fmax(rate, bench_sgemm_rate(threads, REPEATS, clock_used));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        total += best[i] * rows[i].times;
        work += N * (rows[i].per_C * C + rows[i].per_CC * C * C) * rows[i].times;
    }
    printf("\nd %d, %d threads, %s kernels, BLAS %s: sgemm %d^3 %.1f GFLOP/s\n", C, threads, b.be->kernels->name,
           gemm_kernels(), BENCH_SGEMM, rate * 1e-9);
    printf("%-28s %9s %6s %8s %12s\n", "op", "ms each", "times", "of step", "of the rate");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double flop = N * (rows[i].per_C * C + rows[i].per_CC * C * C);
        printf("%-28s %9.3f %6d %7.1f%%", rows[i].name, 1e3 * best[i], rows[i].times,
               100 * best[i] * rows[i].times / total);
        printf(flop > 0 ? " %11.0f%%\n" : "\n", 100 * flop / best[i] / rate);
    }
    printf("%-28s %9.1f ms: %.0f tokens/s, floor %.1f ms, %.0f%% of the rate\n", "a step", 1e3 * total, N / total,
           1e3 * work / rate, 100 * work / rate / total);
    ops_cpu()->destroy(b.be);
}

int main(int argc, char **argv)
{
    static const int widths[] = {64, 128, 256, 512};
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : parallel_processors();
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    for (int i = 2; i < argc; i++)
        bench_width(threads, (int)strtol(argv[i], NULL, 10));
    for (int i = 0; i < 4 && argc < 3; i++)
        bench_width(threads, widths[i]);
    return 0;
}
