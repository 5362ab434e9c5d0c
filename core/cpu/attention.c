#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/parallel.h"

/* A thread takes whole heads (b, h). Queries go by tiles: the scores of a tile against every key it sees, a strip
 * [TILE, T] that stays in cache, then softmax and the product with v. The keys past a tile's end are never touched, the
 * few it must not see inside its last square are set to 0. No T x T matrix; the backward makes the strips again. */

enum { TILE = 64 };

struct job {
    const struct attention_forward *forward;
    const struct attention_backward *backward;
    const struct kernels *kernels;
    const float *rope;
    float *scratch;
    size_t stride;    /* floats of a thread */
    size_t strip, head;/* padded [TILE, T] and [T, D] */
    int B, T, H, D;
};

/* Rows of strips are a little apart, or their columns would share cache sets. */
static int strip_stride(int T)
{
    return (T + 15) / 16 * 16 + 16;
}

static float *part_at(float *qkv, const struct job *job, int part, int b, int h)
{
    size_t C = (size_t)job->H * job->D;
    return qkv + (size_t)b * job->T * 3 * C + part * C + (size_t)h * job->D;
}

/* to [T,D] = one head's rows of a [T,stride] tensor, times factor. */
static void gather(float *restrict to, const float *restrict from, size_t stride, const struct job *job, float factor)
{
    for (int t = 0; t < job->T; t++)
        for (int d = 0; d < job->D; d++)
            to[(size_t)t * job->D + d] = from[t * stride + d] * factor;
}

static void scatter(float *restrict to, const float *restrict from, size_t stride, const struct job *job, float factor)
{
    for (int t = 0; t < job->T; t++)
        for (int d = 0; d < job->D; d++)
            to[t * stride + d] = from[(size_t)t * job->D + d] * factor;
}

static void rotate_head(const struct job *job, float *x, size_t stride, float sign)
{
    for (int t = 0; t < job->T; t++)
        cpu_rotate(x + t * stride, job->rope + (size_t)t * job->D, job->D, sign);
}

static void forward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_forward *a = job->forward;
    int T = job->T, D = job->D, stride = strip_stride(T);
    size_t C = (size_t)job->H * D, wide = 3 * C;
    float *q = scratch, *k = q + job->head, *v = k + job->head, *s = v + job->head, inverse[TILE];
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->qkv, job, part, b, h), wide, 1);
    gather(q, part_at(a->qkv, job, 0, b, h), wide, job, 1 / sqrtf((float)D));
    gather(k, part_at(a->qkv, job, 1, b, h), wide, job, 1);
    gather(v, part_at(a->qkv, job, 2, b, h), wide, job, 1);
    float *out = a->out + (size_t)b * T * C + (size_t)h * D, *lse = a->lse + ((size_t)b * job->H + h) * T;
    for (int first = 0; first < T; first += TILE) {
        int rows = T - first < TILE ? T - first : TILE, width = first + rows;
        gemm_nt(rows, width, D, q + (size_t)first * D, D, k, D, 0, s, stride);
        job->kernels->attention_rows(s, rows, width, stride, first, inverse, lse + first);
        gemm_nn(rows, D, width, s, stride, v, D, 0, out + first * C, (int)C);
        for (int r = 0; r < rows; r++)
            job->kernels->scale(out + (size_t)(first + r) * C, inverse[r], (size_t)D);
    }
}

static void forward_share(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end;
    parallel_share((size_t)job->B * job->H, 1, thread, threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        forward_head(job, job->scratch + (size_t)thread * job->stride, (int)i / job->H, (int)i % job->H);
}

void cpu_attention_forward(struct backend *be, const struct attention_forward *a)
{
    struct job job = {.forward = a, .kernels = be->kernels, .B = a->B, .T = a->T, .H = a->H, .D = a->D};
    job.rope = a->rope_theta > 0 ? cpu_rope(be, a->T, a->D, a->rope_theta) : NULL;
    job.head = cpu_padded((size_t)a->T * a->D);
    job.strip = cpu_padded((size_t)TILE * strip_stride(a->T));
    job.stride = 3 * job.head + job.strip;
    job.scratch = cpu_scratch(be, (size_t)be->threads * job.stride);
    parallel_run(be->threads, forward_share, &job);
}

/* One tile of queries: strips p and dp, then what it adds to dk and dv, and its dq.
 * dv += p^T dout, dp = dout v^T, ds = p (dp - delta), dq = ds k, dk += ds^T q (q carries 1/sqrt(D)). */
static void backward_tile(const struct job *job, float *const heads[8], float *strips, int first, const float *lse,
                          const float *delta)
{
    int T = job->T, D = job->D, stride = strip_stride(T), rows = T - first < TILE ? T - first : TILE;
    int width = first + rows;
    const float *q = heads[0] + (size_t)first * D, *k = heads[1], *v = heads[2], *dout = heads[3] + (size_t)first * D;
    float *dq = heads[4] + (size_t)first * D, *dk = heads[5], *dv = heads[6], *p = strips, *dp = p + job->strip;
    gemm_nt(rows, width, D, q, D, k, D, 0, p, stride);
    gemm_nt(rows, width, D, dout, D, v, D, 0, dp, stride);
    job->kernels->attention_back_rows(p, dp, rows, width, stride, first, lse + first, delta + first);
    gemm_tn(width, D, rows, p, stride, dout, D, 1, dv, D);
    gemm_tn(width, D, rows, dp, stride, q, D, 1, dk, D);
    gemm_nn(rows, D, width, dp, stride, k, D, 0, dq, D);
}

static void backward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_backward *a = job->backward;
    int T = job->T, D = job->D;
    size_t C = (size_t)job->H * D, wide = 3 * C, at = (size_t)b * T * C + (size_t)h * D;
    float *heads[8], *qkv = (float *)a->qkv, factor = 1 / sqrtf((float)D); /* only read through here */
    for (int i = 0; i < 8; i++)
        heads[i] = scratch + i * job->head;
    float *delta = heads[7], *strips = scratch + 8 * job->head;
    gather(heads[0], part_at(qkv, job, 0, b, h), wide, job, factor);
    gather(heads[1], part_at(qkv, job, 1, b, h), wide, job, 1);
    gather(heads[2], part_at(qkv, job, 2, b, h), wide, job, 1);
    gather(heads[3], a->dout + at, C, job, 1);
    for (int t = 0; t < T; t++) /* sum_u p_u dp_u = dout . out */
        delta[t] = job->kernels->dot(a->dout + at + t * C, a->out + at + t * C, (size_t)D);
    memset(heads[5], 0, 2 * job->head * sizeof *heads[5]); /* dk, dv */
    for (int first = 0; first < T; first += TILE)
        backward_tile(job, heads, strips, first, a->lse + ((size_t)b * job->H + h) * T, delta);
    scatter(part_at(a->dqkv, job, 0, b, h), heads[4], wide, job, factor);
    scatter(part_at(a->dqkv, job, 1, b, h), heads[5], wide, job, 1);
    scatter(part_at(a->dqkv, job, 2, b, h), heads[6], wide, job, 1);
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->dqkv, job, part, b, h), wide, -1);
}

static void backward_share(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end;
    parallel_share((size_t)job->B * job->H, 1, thread, threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        backward_head(job, job->scratch + (size_t)thread * job->stride, (int)i / job->H, (int)i % job->H);
}

void cpu_attention_backward(struct backend *be, const struct attention_backward *a)
{
    struct job job = {.backward = a, .kernels = be->kernels, .B = a->B, .T = a->T, .H = a->H, .D = a->D};
    job.rope = a->rope_theta > 0 ? cpu_rope(be, a->T, a->D, a->rope_theta) : NULL;
    job.head = cpu_padded((size_t)a->T * a->D);
    job.strip = cpu_padded((size_t)TILE * strip_stride(a->T));
    job.stride = 8 * job.head + 2 * job.strip;
    job.scratch = cpu_scratch(be, (size_t)be->threads * job.stride);
    parallel_run(be->threads, backward_share, &job);
}
