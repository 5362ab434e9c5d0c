#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

/* A thread takes whole heads (b, h). Forward it goes by tiles of queries, whose scores against every key they see fit
 * the first cache or nearly; backward, where the log-sum-exp is known, by blocks of keys and in each by tiles of
 * queries. No T x T matrix. */

struct job {
    const struct attention_forward *forward;
    const struct attention_backward *backward;
    const struct kernels *kernels;
    const float *rope;
    float *scratch;
    size_t stride; /* floats of a thread */
    int B, T, H, D;
};

static float *part_at(float *qkv, const struct job *job, int part, int b, int h)
{
    size_t A = (size_t)job->H * job->D;
    return qkv + (size_t)b * job->T * 3 * A + part * A + (size_t)h * job->D;
}

static void rotate_head(const struct job *job, float *x, size_t stride, float sign)
{
    for (int t = 0; t < job->T; t++)
        cpu_rotate(x + t * stride, job->rope + (size_t)t * job->D, job->D, sign);
}

/* The memory a head needs, put one after the other into a thread's scratch. */
struct places {
    float *keys_t, *values_t, *keys, *values; /* packed */
    float *q_packed, *dout_packed;
    float *p, *dp, *dk, *dv, *delta;
};

static size_t strip_stride(const struct job *job)
{
    return attention_stride(job->backward && job->T > ATTENTION_KEYS ? ATTENTION_KEYS : job->T);
}

static size_t place(const struct job *job, struct places *to, float *scratch)
{
    const struct kernels *kernels = job->kernels;
    bool back = job->backward != NULL;
    size_t columns = kernels->packed_size(job->D, job->T), rows = kernels->packed_size(job->T, job->D);
    size_t strip = ATTENTION_QUERIES * strip_stride(job), block = back ? (size_t)ATTENTION_KEYS * job->D : 0;
    const struct {
        float **at;
        size_t size;
    } parts[] = {
        {&to->keys_t, columns},
        {&to->values_t, back ? columns : 0},
        {&to->keys, back ? rows : 0},
        {&to->values, back ? 0 : rows},
        {&to->q_packed, back ? rows : 0},
        {&to->dout_packed, back ? rows : 0},
        {&to->p, strip},
        {&to->dp, back ? strip : 0},
        {&to->dk, block},
        {&to->dv, block},
        {&to->delta, back ? (size_t)job->T : 0},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].at = scratch ? scratch + used : NULL;
        used += cpu_padded(parts[i].size);
    }
    return used;
}

static void pack_scaled(const struct job *job, float *to, const float *from, size_t bk, size_t bn, int k, int n)
{
    job->kernels->pack(to, from, bk, bn, k, n);
    job->kernels->scale(to, 1 / sqrtf((float)job->D), job->kernels->packed_size(k, n));
}

static int fewer(int a, int b)
{
    return a < b ? a : b;
}

static void forward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_forward *a = job->forward;
    int T = job->T, D = job->D;
    size_t A = (size_t)job->H * D, wide = 3 * A;
    struct places at;
    place(job, &at, scratch);
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->qkv, job, part, b, h), wide, 1);
    pack_scaled(job, at.keys_t, part_at(a->qkv, job, 1, b, h), 1, wide, D, T);
    job->kernels->pack(at.values, part_at(a->qkv, job, 2, b, h), wide, 1, T, D);
    const struct attention_tile tile = {
        .T = T,
        .D = D,
        .stride = strip_stride(job),
        .q = part_at(a->qkv, job, 0, b, h),
        .q_stride = wide,
        .keys_t = at.keys_t,
        .p = at.p,
        .lse = a->lse + ((size_t)b * job->H + h) * T,
        .values = at.values,
        .out = a->out + (size_t)b * T * A + (size_t)h * D,
        .out_stride = A,
    };
    for (int first = 0; first < T; first += ATTENTION_QUERIES)
        job->kernels->attention_forward(&tile, first, fewer(ATTENTION_QUERIES, T - first));
}

static void backward_head(const struct job *job, float *scratch, int b, int h)
{
    const struct attention_backward *a = job->backward;
    const struct kernels *kernels = job->kernels;
    int T = job->T, D = job->D;
    size_t A = (size_t)job->H * D, wide = 3 * A, first = (size_t)b * T * A + (size_t)h * D;
    float *qkv = (float *)a->qkv; /* only read through here */
    struct places at;
    place(job, &at, scratch);
    pack_scaled(job, at.keys_t, part_at(qkv, job, 1, b, h), 1, wide, D, T);
    pack_scaled(job, at.keys, part_at(qkv, job, 1, b, h), wide, 1, T, D);
    pack_scaled(job, at.q_packed, part_at(qkv, job, 0, b, h), wide, 1, T, D);
    kernels->pack(at.dout_packed, a->dout + first, A, 1, T, D);
    kernels->pack(at.values_t, part_at(qkv, job, 2, b, h), 1, wide, D, T);
    for (int t = 0; t < T; t++) /* sum_u p_u dp_u = dout . out */
        at.delta[t] = kernels->dot(a->dout + first + t * A, a->out + first + t * A, (size_t)D);
    const struct attention_tile tile = {
        .T = T,
        .D = D,
        .stride = strip_stride(job),
        .q = part_at(qkv, job, 0, b, h),
        .q_stride = wide,
        .keys_t = at.keys_t,
        .p = at.p,
        .lse = (float *)a->lse + ((size_t)b * job->H + h) * T,
        .out_stride = A,
        .dout = a->dout + first,
        .delta = at.delta,
        .values_t = at.values_t,
        .keys = at.keys,
        .dp = at.dp,
        .q_packed = at.q_packed,
        .dout_packed = at.dout_packed,
        .dq = part_at(a->dqkv, job, 0, b, h),
        .dk = at.dk,
        .dv = at.dv,
    };
    for (int key = 0; key < T; key += ATTENTION_KEYS) {
        int count = fewer(ATTENTION_KEYS, T - key);
        size_t bytes = (size_t)count * D * sizeof *at.dk;
        memset(at.dk, 0, bytes);
        memset(at.dv, 0, bytes);
        for (int t = key / ATTENTION_QUERIES * ATTENTION_QUERIES; t < T; t += ATTENTION_QUERIES)
            kernels->attention_backward(&tile, t, fewer(ATTENTION_QUERIES, T - t), key, count);
        kernels->copy_rows(part_at(a->dqkv, job, 1, b, h) + key * wide, wide, at.dk, (size_t)D, count, D);
        kernels->copy_rows(part_at(a->dqkv, job, 2, b, h) + key * wide, wide, at.dv, (size_t)D, count, D);
    }
    for (int part = 0; part < 2 && job->rope; part++)
        rotate_head(job, part_at(a->dqkv, job, part, b, h), wide, -1);
}

static void share_heads(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    float *scratch = job->scratch + (size_t)thread * job->stride;
    size_t begin, end;
    parallel_share((size_t)job->B * job->H, 1, thread, threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        (job->backward ? backward_head : forward_head)(job, scratch, (int)i / job->H, (int)i % job->H);
}

static void run(struct backend *be, struct job *job, struct rope rope)
{
    struct places unused;
    job->kernels = be->kernels;
    job->rope = cpu_rope(be, job->T, job->D, rope);
    job->stride = place(job, &unused, NULL);
    job->scratch = cpu_scratch(be, (size_t)be->threads * job->stride);
    parallel_run(be->threads, share_heads, job);
}

void cpu_attention_forward(struct backend *be, const struct attention_forward *a)
{
    struct job job = {.forward = a, .B = a->B, .T = a->T, .H = a->H, .D = a->D};
    run(be, &job, a->rope);
}

void cpu_attention_backward(struct backend *be, const struct attention_backward *a)
{
    struct job job = {.backward = a, .B = a->B, .T = a->T, .H = a->H, .D = a->D};
    run(be, &job, a->rope);
}
