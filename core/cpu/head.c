#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/parallel.h"

/* By blocks of rows: logits of a block, softmax, cross-entropy and statistics while they are at hand, the gradient at
 * the logits in their place, then its two products. The whole [N,V] never exists. Threads split rows; each but the
 * first gathers a dweight of its own, added in order at the end. */

enum { BLOCK_ROWS = 256 };

struct job {
    const struct head_pass *a;
    const struct kernels *kernels;
    float *blocks;   /* [threads][BLOCK_ROWS, V] */
    float *partials; /* [threads - 1][V, C] */
    size_t block_stride, partial_stride;
};

/* correct and p_correct: the target's logit, and its exponential under the row's maximum. */
static void set_stats(const struct head_pass *a, size_t n, const struct row_stats *s, float correct, float p_correct,
                      float sum, float weighted)
{
    const struct logit_stats *to = &a->stats;
    float most = s->max > -s->min ? s->max : -s->min;
    bool number = !isnan(s->sum_sq);
    to->sum_sq[n] = s->sum_sq;
    to->max_abs[n] = number ? most : NAN;
    to->margin[n] = number ? correct - s->other : NAN;
    to->p_correct[n] = p_correct / sum;
    to->entropy[n] = logf(sum) - weighted / sum;
}

static void clear_row(const struct head_pass *a, size_t n, float *z)
{
    const struct logit_stats *to = &a->stats;
    a->ce[n] = 0;
    if (to->sum_sq)
        to->sum_sq[n] = to->max_abs[n] = to->std[n] = to->margin[n] = to->p_correct[n] = to->entropy[n] = 0;
    if (a->dy)
        memset(z, 0, (size_t)a->V * sizeof *z);
}

/* One row of logits: its loss and statistics; z becomes dz = grad_scale (softmax(z) - onehot) when gradients are due. */
static void finish_row(const struct head_pass *a, const struct kernels *kernels, size_t n, float *z)
{
    int V = a->V, target = a->targets[n];
    if (target < 0) {
        clear_row(a, n, z);
        return;
    }
    bool stats = a->stats.sum_sq != NULL;
    struct row_stats row = {0};
    kernels->logit_stats(&row, z, V, target, stats);
    float correct = z[target], weighted = 0;
    if (stats)
        a->stats.std[n] = sqrtf(kernels->spread(z, V, row.sum / (float)V) / (float)V);
    float sum = kernels->softmax(z, V, row.max, stats ? &weighted : NULL);
    a->ce[n] = logf(sum) + (row.max - correct);
    if (stats)
        set_stats(a, n, &row, correct, z[target], sum, weighted);
    if (a->dy) {
        kernels->scale(z, a->grad_scale / sum, (size_t)V);
        z[target] -= a->grad_scale;
    }
}

static void head_rows(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    const struct head_pass *a = job->a;
    int C = a->C, V = a->V;
    size_t begin, end;
    parallel_share((size_t)a->N, 1, thread, threads, &begin, &end);
    float *z = job->blocks + (size_t)thread * job->block_stride;
    float *dweight = thread == 0 ? a->dweight : job->partials + (size_t)(thread - 1) * job->partial_stride;
    for (size_t n = begin; n < end;) {
        int rows = end - n < BLOCK_ROWS ? (int)(end - n) : BLOCK_ROWS;
        const float *y = a->y + n * C;
        gemm_nt(rows, V, C, y, C, a->weight, C, 0, z, V);
        if (a->logits)
            memcpy(a->logits + n * V, z, (size_t)rows * V * sizeof *z);
        for (size_t r = 0; r < (size_t)rows; r++)
            finish_row(a, job->kernels, n + r, z + r * V);
        if (a->dy) {
            gemm_nn(rows, C, V, z, V, a->weight, C, 0, a->dy + n * C, C);
            gemm_tn(V, C, rows, z, V, y, C, thread == 0 || n > begin ? 1 : 0, dweight, C);
        }
        n += (size_t)rows;
    }
}

static void add_partials(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end, all = (size_t)job->a->V * job->a->C;
    parallel_share(all, 1024, thread, threads, &begin, &end);
    for (int t = 1; t < threads; t++) {
        size_t first, last; /* a thread that had no rows left its memory as it was */
        parallel_share((size_t)job->a->N, 1, t, threads, &first, &last);
        if (first < last)
            job->kernels->add_scaled(job->a->dweight + begin, 1, job->partials + (size_t)(t - 1) * job->partial_stride + begin,
                                     end - begin);
    }
}

void cpu_head(struct backend *be, const struct head_pass *a)
{
    int threads = be->threads;
    size_t rows = (size_t)(a->N < BLOCK_ROWS ? a->N : BLOCK_ROWS);
    struct job job = {.a = a, .kernels = be->kernels};
    job.block_stride = cpu_padded(rows * a->V);
    job.partial_stride = a->dy ? cpu_padded((size_t)a->V * a->C) : 0;
    job.blocks = cpu_scratch(be, (size_t)threads * job.block_stride + (size_t)(threads - 1) * job.partial_stride);
    job.partials = job.blocks + (size_t)threads * job.block_stride;
    parallel_run(threads, head_rows, &job);
    if (a->dy && threads > 1)
        parallel_run(threads, add_partials, &job);
}
