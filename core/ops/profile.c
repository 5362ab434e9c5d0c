#include "core/ops/profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every op that is timed: its slot, its parameters, and how they are passed on. */
#define TIMED_OPS(OP)                                                                                                  \
    OP(upload, (struct backend * be, void *to, const void *from, size_t bytes), (be, to, from, bytes))                 \
    OP(download, (struct backend * be, void *to, const void *from, size_t bytes), (be, to, from, bytes))               \
    OP(stage, (struct backend * be, const void *from, size_t bytes), (be, from, bytes))                                \
    OP(unstage, (struct backend * be, void *to, size_t bytes), (be, to, bytes))                                        \
    OP(copy, (struct backend * be, void *to, const void *from, size_t bytes), (be, to, from, bytes))                   \
    OP(zero, (struct backend * be, void *memory, size_t bytes), (be, memory, bytes))                                   \
    OP(embed_forward,                                                                                                  \
       (struct backend * be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B, int T,      \
        int C),                                                                                                        \
       (be, out, tokens, tok, pos, B, T, C))                                                                           \
    OP(embed_backward,                                                                                                 \
       (struct backend * be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B, int T, int C,  \
        int V),                                                                                                        \
       (be, dtok, dpos, dout, tokens, B, T, C, V))                                                                     \
    OP(join_columns, (struct backend * be, float *out, const float *a, const float *b, int N, int A, int B),           \
       (be, out, a, b, N, A, B))                                                                                       \
    OP(split_columns, (struct backend * be, float *a, float *b, const float *in, int N, int A, int B),                 \
       (be, a, b, in, N, A, B))                                                                                        \
    OP(norm_forward, (struct backend * be, const struct norm_forward *a), (be, a))                                     \
    OP(norm_backward, (struct backend * be, const struct norm_backward *a), (be, a))                                   \
    OP(linear_forward, (struct backend * be, const struct linear_forward *a), (be, a))                                 \
    OP(linear_backward, (struct backend * be, const struct linear_backward *a), (be, a))                               \
    OP(attention_forward, (struct backend * be, const struct attention_forward *a), (be, a))                           \
    OP(attention_backward, (struct backend * be, const struct attention_backward *a), (be, a))                         \
    OP(head, (struct backend * be, const struct head_pass *a), (be, a))                                                \
    OP(aux_loss, (struct backend * be, const struct aux_loss *a), (be, a))                                             \
    OP(radial_probe, (struct backend * be, const struct radial_probe *a), (be, a))                                     \
    OP(sum_squares,                                                                                                    \
       (struct backend * be, double *out, const float *x, const struct param_segment *segments, int count,             \
        const int32_t *adam_step),                                                                                     \
       (be, out, x, segments, count, adam_step))                                                                       \
    OP(adamw, (struct backend * be, const struct adamw *a), (be, a))                                                   \
    OP(ema_update,                                                                                                     \
       (struct backend * be, double *ema, const double *sums, double decay, double scale, int count,                   \
        const struct step_outcome *outcome),                                                                           \
       (be, ema, sums, decay, scale, count, outcome))                                                                  \
    OP(token_sums, (struct backend * be, const struct token_sums *a), (be, a))                                         \
    OP(judge_step, (struct backend * be, const struct step_verdict *a), (be, a))                                       \
    OP(decode_attention, (struct backend * be, const struct decode_attention *a), (be, a))                             \
    OP(sample, (struct backend * be, const struct sample_tokens *a), (be, a))

enum part {
#define PART(op, parameters, arguments) PART_##op,
    TIMED_OPS(PART) PART_COUNT
#undef PART
};

static const char *const names[PART_COUNT] = {
#define NAME(op, parameters, arguments) #op,
    TIMED_OPS(NAME)
#undef NAME
};

/* A run has its thread to itself, so what is counted is its own. */
static _Thread_local struct {
    const struct ops *inner;
    struct ops table;
    bool counting;
    struct part_time {
        enum part part;
        double ms;
        int64_t calls;
    } parts[PART_COUNT];
} profile;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

#define TIMED(op, parameters, arguments)                                                                               \
    static void timed_##op parameters                                                                                  \
    {                                                                                                                  \
        double begin = now_ms();                                                                                       \
        profile.inner->op arguments;                                                                                   \
        if (profile.counting) {                                                                                        \
            profile.parts[PART_##op].ms += now_ms() - begin;                                                           \
            profile.parts[PART_##op].calls++;                                                                          \
        }                                                                                                              \
    }
TIMED_OPS(TIMED)
#undef TIMED

const struct ops *profile_ops(const struct ops *inner)
{
    profile.inner = inner;
    profile.table = *inner;
#define SLOT(op, parameters, arguments) profile.table.op = timed_##op;
    TIMED_OPS(SLOT)
#undef SLOT
    profile.counting = false;
    for (int i = 0; i < PART_COUNT; i++)
        profile.parts[i] = (struct part_time){.part = (enum part)i};
    return &profile.table;
}

void profile_count(bool on)
{
    profile.counting = on;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct part_time *)a)->ms, y = ((const struct part_time *)b)->ms;
    return x < y ? 1 : x > y ? -1 : 0;
}

void profile_print(FILE *out, int64_t steps, double total_ms)
{
    struct part_time sorted[PART_COUNT];
    double rest = total_ms;
    memcpy(sorted, profile.parts, sizeof sorted);
    qsort(sorted, PART_COUNT, sizeof sorted[0], by_time);
    fprintf(out, "%-20s %12s %12s %8s\n", "part of a step", "calls a step", "ms a step", "share");
    for (int i = 0; i < PART_COUNT && steps > 0 && sorted[i].calls > 0; i++) {
        rest -= sorted[i].ms;
        fprintf(out, "%-20s %12.1f %12.3f %7.1f%%\n", names[sorted[i].part], (double)sorted[i].calls / (double)steps,
                sorted[i].ms / (double)steps, 100 * sorted[i].ms / total_ms);
    }
    if (steps > 0)
        fprintf(out, "%-20s %12s %12.3f %7.1f%%\n%-20s %12s %12.3f %7.1f%%\n", "other", "", rest / (double)steps,
                100 * rest / total_ms, "all", "", total_ms / (double)steps, 100.0);
}
