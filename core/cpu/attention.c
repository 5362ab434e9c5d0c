#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/parallel.h"

/* A thread takes whole heads (b, h). Queries go by tiles: the scores of a tile against every key it sees, a strip
 * [TILE, T] that stays in cache, then softmax and the product with v. The keys past a tile's end are never touched, the
 * few it must not see inside its last square are set to 0. No T x T matrix; the backward makes the strips again.
 * All products are our own (kernels.h): these are too small for the BLAS. */

enum { TILE = 48 };

struct job {
    const struct attention_forward *forward;
    const struct attention_backward *backward;
    const struct kernels *kernels;
    const float *rope;
    float *scratch;
    size_t stride;                 /* floats of a thread */
    size_t head, strip, row, tile; /* padded sizes: [T,D], [TILE,T], a strip's row, a packed [TILE,D] */
    size_t keys, values;           /* packed sizes: as b with T columns, with D columns */
    int B, T, H, D;
};

static void set_sizes(struct job *job)
{
    const struct kernels *kernels = job->kernels;
    job->head = cpu_padded((size_t)job->T * job->D);
    job->row = cpu_padded((size_t)job->T); /* not a power of two: columns must not share cache sets */
    job->strip = TILE * job->row;
    job->tile = cpu_padded(kernels->packed_size(TILE, job->D));
    job->keys = cpu_padded(kernels->packed_size(job->D, job->T));
    job->values = cpu_padded(kernels->packed_size(job->T, job->D));
}

static float *part_at(float *qkv, const struct job *job, int part, int b, int h)
{
    size_t C = (size_t)job->H * job->D;
    return qkv + (size_t)b * job->T * 3 * C + part * C + (size_t)h * job->D;
}

static void rotate_head(const struct job *job, float *x, size_t stride, float sign)
{
    for (int t = 0; t < job->T; t++)
        cpu_rotate(x + t * stride, job->rope + (size_t)t * job->D, job->D, sign);
}

/* Operands are packed straight from the tensor; 1/sqrt(D) goes into the packed k^T. */
static void forward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_forward *a = job->forward;
    const struct kernels *kernels = job->kernels;
    int T = job->T, D = job->D;
    size_t C = (size_t)job->H * D, wide = 3 * C;
    float *keys_t = scratch, *values = keys_t + job->keys, *s = values + job->values, inverse[TILE];
    const float *q = part_at(a->qkv, job, 0, b, h);
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->qkv, job, part, b, h), wide, 1);
    kernels->pack(keys_t, part_at(a->qkv, job, 1, b, h), 1, wide, D, T);
    kernels->scale(keys_t, 1 / sqrtf((float)D), kernels->packed_size(D, T));
    kernels->pack(values, part_at(a->qkv, job, 2, b, h), wide, 1, T, D);
    float *out = a->out + (size_t)b * T * C + (size_t)h * D, *lse = a->lse + ((size_t)b * job->H + h) * T;
    for (int first = 0; first < T; first += TILE) {
        int rows = T - first < TILE ? T - first : TILE, width = first + rows;
        kernels->multiply(rows, width, D, q + first * wide, wide, 1, keys_t, false, s, job->row);
        kernels->attention_rows(s, rows, width, (int)job->row, first, inverse, lse + first);
        kernels->multiply_part(rows, D, width, T, s, job->row, 1, values, false, out + first * C, C);
        for (int r = 0; r < rows; r++)
            kernels->scale(out + (size_t)(first + r) * C, inverse[r], (size_t)D);
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
    set_sizes(&job);
    job.stride = job.keys + job.values + job.strip;
    job.scratch = cpu_scratch(be, (size_t)be->threads * job.stride);
    parallel_run(be->threads, forward_share, &job);
}

/* One head's operands in the tensors and in a thread's scratch. k^T and k carry 1/sqrt(D), and so does q's tile. */
struct head {
    const float *q, *dout, *lse;     /* rows `wide` and C apart */
    float *dq;                       /* in dqkv */
    float *dk, *dv;                  /* [T,D] */
    float *delta;                    /* [T] */
    float *keys_t, *values_t, *keys; /* packed */
    float *p, *dp;                   /* strips */
    float *q_tile, *dout_tile;       /* packed */
    size_t C, wide;
    float factor;
};

static size_t place_head(const struct job *job, struct head *to, float *scratch)
{
    const struct {
        float **at;
        size_t size;
    } parts[] = {
        {&to->dk, job->head},        {&to->dv, job->head},   {&to->keys_t, job->keys}, {&to->values_t, job->keys},
        {&to->keys, job->values},    {&to->p, job->strip},   {&to->dp, job->strip},    {&to->q_tile, job->tile},
        {&to->dout_tile, job->tile}, {&to->delta, job->row},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].at = scratch ? scratch + used : NULL;
        used += parts[i].size;
    }
    return used;
}

/* One tile of queries: strips p and dp, then what it adds to dk and dv, and its dq.
 * dp = dout v^T, ds = p (dp - delta), dv += p^T dout, dk += ds^T q, dq = ds k. */
static void backward_tile(const struct job *job, const struct head *x, int first)
{
    const struct kernels *kernels = job->kernels;
    int T = job->T, D = job->D, rows = T - first < TILE ? T - first : TILE, width = first + rows;
    const float *q = x->q + first * x->wide, *dout = x->dout + first * x->C;
    size_t d = (size_t)D;
    kernels->multiply(rows, width, D, q, x->wide, 1, x->keys_t, false, x->p, job->row);
    kernels->multiply(rows, width, D, dout, x->C, 1, x->values_t, false, x->dp, job->row);
    kernels->attention_back_rows(x->p, x->dp, rows, width, (int)job->row, first, x->lse + first, x->delta + first);
    kernels->pack(x->dout_tile, dout, x->C, 1, rows, D);
    kernels->pack(x->q_tile, q, x->wide, 1, rows, D);
    kernels->scale(x->q_tile, x->factor, kernels->packed_size(rows, D));
    kernels->multiply(width, D, rows, x->p, 1, job->row, x->dout_tile, true, x->dv, d);
    kernels->multiply(width, D, rows, x->dp, 1, job->row, x->q_tile, true, x->dk, d);
    kernels->multiply_part(rows, D, width, T, x->dp, job->row, 1, x->keys, false, x->dq + first * x->wide, x->wide);
}

static void backward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_backward *a = job->backward;
    const struct kernels *kernels = job->kernels;
    int T = job->T, D = job->D;
    struct head x = {.C = (size_t)job->H * D, .wide = 3 * (size_t)job->H * D, .factor = 1 / sqrtf((float)D)};
    size_t at = (size_t)b * T * x.C + (size_t)h * D;
    float *qkv = (float *)a->qkv; /* only read through here */
    place_head(job, &x, scratch);
    x.q = part_at(qkv, job, 0, b, h);
    x.dq = part_at(a->dqkv, job, 0, b, h);
    x.dout = a->dout + at;
    x.lse = a->lse + ((size_t)b * job->H + h) * T;
    kernels->pack(x.keys_t, part_at(qkv, job, 1, b, h), 1, x.wide, D, T);
    kernels->scale(x.keys_t, x.factor, kernels->packed_size(D, T));
    kernels->pack(x.values_t, part_at(qkv, job, 2, b, h), 1, x.wide, D, T);
    kernels->pack(x.keys, part_at(qkv, job, 1, b, h), x.wide, 1, T, D);
    kernels->scale(x.keys, x.factor, kernels->packed_size(T, D));
    for (int t = 0; t < T; t++) /* sum_u p_u dp_u = dout . out */
        x.delta[t] = kernels->dot(x.dout + t * x.C, a->out + at + t * x.C, (size_t)D);
    memset(x.dk, 0, job->head * sizeof *x.dk);
    memset(x.dv, 0, job->head * sizeof *x.dv);
    for (int first = 0; first < T; first += TILE)
        backward_tile(job, &x, first);
    kernels->copy_rows(part_at(a->dqkv, job, 1, b, h), x.wide, x.dk, (size_t)D, T, D);
    kernels->copy_rows(part_at(a->dqkv, job, 2, b, h), x.wide, x.dv, (size_t)D, T, D);
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->dqkv, job, part, b, h), x.wide, -1);
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
    set_sizes(&job);
    struct head unused;
    job.stride = place_head(&job, &unused, NULL);
    job.scratch = cpu_scratch(be, (size_t)be->threads * job.stride);
    parallel_run(be->threads, backward_share, &job);
}
