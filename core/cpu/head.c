#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/base/parallel.h"

/* Threads split rows; a thread goes by blocks of rows, and within a block by chunks of the vocabulary, twice:
 *  1. logits of the chunk, and while it is in the second cache its maximum, exponentials, sum and statistics;
 *  2. with the row's log-sum-exp known, the chunk becomes dz = grad_scale (softmax(z) - onehot), and gives its part of
 *     dy = dz W and dweight = dz^T y.
 * So a logit travels to memory and back once, and W and dweight once a block. The whole [N,V] never exists. Each thread
 * but the first gathers a dweight of its own; they are added in order at the end.
 * The products are our own, over weights packed once; for few rows that would not pay, and the BLAS is used. */

enum { OWN_ROWS = 384, OWN_CHUNK = 256, BLAS_ROWS = 96, BLAS_CHUNK = 2560 };

struct job {
    const struct head_pass *a;
    const struct kernels *kernels;
    float *columns, *rows; /* the weight matrix packed for y W^T and for dz W; NULL: the BLAS is used */
    float *scratch;        /* of all threads */
    float *partials;       /* [threads - 1][V, C] */
    size_t stride, partial_stride;
    int block, chunk, chunks;
    bool keep; /* chunks for a second sweep; else they share one place */
};

/* Sums over the chunks of a row; exponentials are taken under a chunk's own maximum. */
struct row_total {
    float max, other, least, correct; /* of the logits; the last is the target's */
    float sum_sq, mean, deviation;    /* deviation: sum of (z - mean)^2 */
};

/* A block's memory in its thread's scratch. */
struct block {
    size_t n; /* first row */
    int rows;
    float *z;                    /* [chunks][block, chunk] */
    float *tile;                 /* its y in panels */
    float *max, *sum, *weighted; /* [chunks][block]: of exp(z - max), and of exp(z - max) (z - max) */
    struct row_total *total;     /* [block] */
};

static size_t place_block(const struct job *job, struct block *to, float *scratch)
{
    int kept = job->keep ? job->chunks : 1;
    size_t all = cpu_padded((size_t)job->block * job->chunk * kept),
           each = cpu_padded((size_t)job->block * job->chunks);
    size_t tile = cpu_padded(job->kernels->packed_size(job->block, job->a->C));
    to->z = scratch;
    to->tile = to->z + all;
    to->max = to->tile + tile;
    to->sum = to->max + each;
    to->weighted = to->sum + each;
    to->total = (struct row_total *)(void *)(to->weighted + each);
    return all + tile + 3 * each + cpu_padded((size_t)job->block * sizeof *to->total / sizeof(float));
}

static void pack_weight(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    const struct head_pass *a = job->a;
    gemm_pack_share(job->kernels, job->columns, a->weight, 1, (size_t)a->C, a->C, a->V, thread, threads);
    if (a->dy)
        gemm_pack_share(job->kernels, job->rows, a->weight, (size_t)a->C, 1, a->V, a->C, thread, threads);
}

/* Put `width` logits with mean m and deviation d to those before them (Chan, Golub and LeVeque 1979). */
static void add_deviation(struct row_total *total, int before, int width, float m, float d)
{
    float step = m - total->mean, part = (float)width / (float)(before + width);
    total->mean += step * part;
    total->deviation += d + step * step * (float)before * part;
}

/* First visit of a row's chunk: z becomes exp(z - max). */
static void visit_row(const struct job *job, const struct block *block, int c, int r, float *z, int begin, int width)
{
    const struct kernels *kernels = job->kernels;
    struct row_total *total = &block->total[r];
    size_t at = (size_t)c * job->block + r;
    int target = job->a->targets[block->n + r] - begin;
    bool stats = job->a->stats.sum_sq != NULL, inside = target >= 0 && target < width;
    struct row_stats row = {0};
    kernels->logit_stats(&row, z, width, inside ? target : -1, stats);
    if (inside)
        total->correct = z[target];
    if (stats) {
        float mean = row.sum / (float)width;
        add_deviation(total, begin, width, mean, kernels->spread(z, width, mean));
        total->sum_sq += row.sum_sq;
        total->least = row.min < total->least ? row.min : total->least;
        total->other = row.other > total->other ? row.other : total->other;
    }
    total->max = row.max > total->max ? row.max : total->max;
    block->max[at] = row.max;
    block->sum[at] = kernels->softmax(z, width, row.max, stats ? &block->weighted[at] : NULL);
}

static void set_stats(const struct job *job, const struct block *block, int r, float sum)
{
    const struct head_pass *a = job->a;
    const struct row_total *total = &block->total[r];
    const struct logit_stats *to = &a->stats;
    size_t n = block->n + (size_t)r;
    bool number = !isnan(total->sum_sq); /* a NaN in the row */
    float most = total->max > -total->least ? total->max : -total->least, log_sum = logf(sum), entropy = 0;
    for (int c = 0; c < job->chunks; c++) { /* -sum p log p, log p = z - max - log_sum */
        size_t at = (size_t)c * job->block + r;
        float off = block->max[at] - total->max;
        entropy -= expf(off) / sum * (block->weighted[at] + block->sum[at] * (off - log_sum));
    }
    to->sum_sq[n] = total->sum_sq;
    to->max_abs[n] = number ? most : NAN;
    to->std[n] = sqrtf(total->deviation / (float)a->V);
    to->margin[n] = number ? total->correct - total->other : NAN;
    to->p_correct[n] = expf(total->correct - total->max) / sum;
    to->entropy[n] = entropy;
}

/* After the first visits: the loss and statistics of a row. Leaves in block->max the factors that turn the chunks'
 * exponentials into grad_scale * softmax. */
static void finish_row(const struct job *job, const struct block *block, int r)
{
    const struct head_pass *a = job->a;
    const struct row_total *total = &block->total[r];
    const struct logit_stats *to = &a->stats;
    size_t n = block->n + (size_t)r;
    float sum = 0;
    for (int c = 0; c < job->chunks; c++) {
        size_t at = (size_t)c * job->block + r;
        sum += block->sum[at] * expf(block->max[at] - total->max);
    }
    if (a->targets[n] < 0) {
        a->ce[n] = 0;
        if (to->sum_sq)
            to->sum_sq[n] = to->max_abs[n] = to->std[n] = to->margin[n] = to->p_correct[n] = to->entropy[n] = 0;
        return;
    }
    a->ce[n] = logf(sum) + (total->max - total->correct);
    if (to->sum_sq)
        set_stats(job, block, r, sum);
    for (int c = 0; c < job->chunks; c++) {
        size_t at = (size_t)c * job->block + r;
        block->max[at] = a->grad_scale / sum * expf(block->max[at] - total->max);
    }
}

static void first_sweep(const struct job *job, const struct block *block)
{
    const struct head_pass *a = job->a;
    const float *y = a->y + block->n * a->C;
    for (int r = 0; r < block->rows; r++)
        block->total[r] = (struct row_total){.max = -INFINITY, .other = -INFINITY, .least = INFINITY};
    for (int c = 0; c < job->chunks; c++) {
        int begin = c * job->chunk, width = a->V - begin < job->chunk ? a->V - begin : job->chunk, C = a->C;
        float *z = block->z + (job->keep ? (size_t)c * job->block * job->chunk : 0);
        if (job->columns)
            job->kernels->multiply(block->rows, width, C, y, (size_t)C, 1, job->columns + (size_t)begin * C, false, z,
                                   (size_t)job->chunk);
        else
            gemm_nt(block->rows, width, C, y, C, a->weight + (size_t)begin * C, C, 0, z, job->chunk);
        for (int r = 0; r < block->rows; r++) {
            float *row = z + (size_t)r * job->chunk;
            if (a->bias)
                job->kernels->add_scaled(row, 1, a->bias + begin, (size_t)width);
            if (a->logits)
                memcpy(a->logits + (block->n + r) * a->V + begin, row, (size_t)width * sizeof *row);
            visit_row(job, block, c, r, row, begin, width);
        }
    }
    for (int r = 0; r < block->rows; r++)
        finish_row(job, block, r);
}

/* dz of a chunk in the place of its exponentials. */
static void logit_gradient(const struct job *job, const struct block *block, int c, float *z, int begin, int width)
{
    for (int r = 0; r < block->rows; r++) {
        float *row = z + (size_t)r * job->chunk;
        int target = job->a->targets[block->n + r];
        if (target < 0) {
            memset(row, 0, (size_t)width * sizeof *row);
            continue;
        }
        job->kernels->scale(row, block->max[(size_t)c * job->block + r], (size_t)width);
        if (target >= begin && target < begin + width)
            row[target - begin] -= job->a->grad_scale;
    }
}

static void second_sweep(const struct job *job, const struct block *block, float *dweight, bool add)
{
    const struct head_pass *a = job->a;
    const struct kernels *kernels = job->kernels;
    int C = a->C, rows = block->rows, stride = job->chunk;
    const float *y = a->y + block->n * C;
    float *dy = a->dy + block->n * C;
    if (job->columns)
        kernels->pack(block->tile, y, (size_t)C, 1, rows, C);
    for (int c = 0; c < job->chunks; c++) {
        int begin = c * job->chunk, width = a->V - begin < job->chunk ? a->V - begin : job->chunk;
        float *z = block->z + (size_t)c * job->block * job->chunk, *dw = dweight + (size_t)begin * C;
        logit_gradient(job, block, c, z, begin, width);
        if (job->columns) {
            kernels->multiply_part(rows, C, width, a->V, z, (size_t)stride, 1,
                                   job->rows + (size_t)begin * kernels->panel, c > 0, dy, (size_t)C);
            kernels->multiply(width, C, rows, z, 1, (size_t)stride, block->tile, add, dw, (size_t)C);
        } else {
            gemm_nn(rows, C, width, z, stride, a->weight + (size_t)begin * C, C, c > 0 ? 1 : 0, dy, C);
            gemm_tn(width, C, rows, z, stride, y, C, add ? 1 : 0, dw, C);
        }
    }
}

static void head_rows(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    const struct head_pass *a = job->a;
    size_t begin, end;
    struct block block;
    parallel_share((size_t)a->N, 1, thread, threads, &begin, &end);
    place_block(job, &block, job->scratch + (size_t)thread * job->stride);
    float *dweight = thread == 0 ? a->dweight : job->partials + (size_t)(thread - 1) * job->partial_stride;
    for (size_t n = begin; n < end; n += (size_t)block.rows) {
        block.n = n;
        block.rows = end - n < (size_t)job->block ? (int)(end - n) : job->block;
        first_sweep(job, &block);
        if (a->dy)
            second_sweep(job, &block, dweight, thread == 0 || n > begin);
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
        const float *from = job->partials + (size_t)(t - 1) * job->partial_stride + begin;
        if (first < last)
            job->kernels->add_scaled(job->a->dweight + begin, 1, from, end - begin);
    }
}

/* Blocks of a thread's rows of like size, none longer than most. */
static int block_rows(int rows, int most)
{
    int blocks = (rows + most - 1) / most;
    return (rows + blocks - 1) / blocks;
}

void cpu_head(struct backend *be, const struct head_pass *a)
{
    const struct kernels *kernels = be->kernels;
    size_t threads = (size_t)be->threads;
    bool own = a->N >= BLAS_ROWS;
    int most = own ? OWN_ROWS : BLAS_ROWS, chunk = own ? OWN_CHUNK : BLAS_CHUNK;
    struct job job = {.a = a, .kernels = kernels, .block = block_rows((a->N + be->threads - 1) / be->threads, most)};
    job.chunk = a->V < chunk ? a->V : chunk;
    job.chunks = (a->V + job.chunk - 1) / job.chunk;
    job.keep = a->dy != NULL;
    struct block unused;
    job.stride = place_block(&job, &unused, be->scratch);
    job.partial_stride = a->dy ? cpu_padded((size_t)a->V * a->C) : 0;
    size_t columns = own ? cpu_padded(kernels->packed_size(a->C, a->V)) : 0;
    size_t back = own && a->dy ? cpu_padded(kernels->packed_size(a->V, a->C)) : 0;
    job.scratch = cpu_scratch(be, threads * job.stride + (threads - 1) * job.partial_stride + columns + back);
    job.partials = job.scratch + threads * job.stride;
    if (own) {
        job.columns = job.partials + (threads - 1) * job.partial_stride;
        job.rows = job.columns + columns;
        parallel_run(be->threads, pack_weight, &job);
    }
    parallel_run(be->threads, head_rows, &job);
    if (a->dy && threads > 1)
        parallel_run(be->threads, add_partials, &job);
}
