#include <math.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

struct job {
    const struct decode_attention *a;
    const struct kernels *kernels;
    const float *rope;
    float *scores; /* [threads][S] padded */
    size_t stride;
};

/* Write k and v of one head to the cache, then softmax(q . k_u / sqrt(D)) v_u over positions 0..t. */
static void decode_head(const struct job *job, float *scores, int b, int h)
{
    const struct decode_attention *a = job->a;
    const struct kernels *kernels = job->kernels;
    int D = a->D, t = a->pos[b];
    size_t at = ((size_t)b * a->H + h) * a->S * D;
    float *q = a->qkv + ((size_t)b * 3 * a->H + h) * D, *k = q + (size_t)a->H * D, *v = k + (size_t)a->H * D;
    float *keys = a->k_cache + at, *values = a->v_cache + at, *out = a->out + ((size_t)b * a->H + h) * D;
    if (job->rope) {
        cpu_rotate(q, job->rope + (size_t)t * D, D, 1);
        cpu_rotate(k, job->rope + (size_t)t * D, D, 1);
    }
    memcpy(keys + (size_t)t * D, k, (size_t)D * sizeof *k);
    memcpy(values + (size_t)t * D, v, (size_t)D * sizeof *v);
    float factor = 1 / sqrtf((float)D);
    for (int u = 0; u <= t; u++)
        scores[u] = factor * kernels->dot(q, keys + (size_t)u * D, (size_t)D);
    struct row_stats stats;
    kernels->logit_stats(&stats, scores, t + 1, -1, false);
    float sum = kernels->softmax(scores, t + 1, stats.max, NULL);
    memset(out, 0, (size_t)D * sizeof *out);
    for (int u = 0; u <= t; u++)
        kernels->add_scaled(out, scores[u], values + (size_t)u * D, (size_t)D);
    kernels->scale(out, 1 / sum, (size_t)D);
}

static void decode_share(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end;
    parallel_share((size_t)job->a->B * job->a->H, 1, thread, threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        decode_head(job, job->scores + (size_t)thread * job->stride, (int)i / job->a->H, (int)i % job->a->H);
}

void cpu_decode_attention(struct backend *be, const struct decode_attention *a)
{
    struct job job = {.a = a, .kernels = be->kernels, .stride = cpu_padded((size_t)a->S)};
    job.rope = cpu_rope(be, a->S, a->D, a->rope);
    job.scores = cpu_scratch(be, (size_t)be->threads * job.stride);
    parallel_run(be->threads, decode_share, &job);
}
