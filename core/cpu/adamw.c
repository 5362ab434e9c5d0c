#include <math.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

/* Every thread takes its share of every segment: a segment is one tensor, and the large ones decide. */
enum { GRAIN = 4096 };

struct sum_job {
    const struct kernels *kernels;
    const float *x;
    const struct param_segment *segments;
    int count;
    const int32_t *adam_step;
    double (*sums)[8]; /* [threads], a cache line each */
};

static void sum_share(void *arg, int thread, int threads)
{
    const struct sum_job *job = arg;
    double sum = 0;
    for (int s = 0; s < job->count; s++) {
        const struct param_segment *segment = &job->segments[s];
        size_t begin, end;
        parallel_share(segment->size, GRAIN, thread, threads, &begin, &end);
        if (job->adam_step[segment->counter] > 0)
            sum += job->kernels->sum_squares(job->x + segment->offset + begin, end - begin);
    }
    job->sums[thread][0] = sum;
}

void cpu_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step)
{
    struct sum_job job = {be->kernels, x,         segments,
                          count,       adam_step, (double(*)[8])(void *)cpu_scratch(be, (size_t)be->threads * 16)};
    parallel_run(be->threads, sum_share, &job);
    double sum = 0;
    for (int t = 0; t < be->threads; t++)
        sum += job.sums[t][0];
    out[0] = sum;
}

struct update_job {
    const struct kernels *kernels;
    const struct adamw *a;
    float factor;
};

/* p = p*keep - step * m / (sqrt(v*fix2) + eps), with keep = 1 - lr*decay, step = lr/(1 - beta1^t), fix2 = 1/(1 -
 * beta2^t). */
static void segment_constants(float to[ADAMW_CONSTANTS], const struct update_job *job,
                              const struct param_segment *segment)
{
    const struct adamw *a = job->a;
    int32_t t = a->adam_step[segment->counter] - (a->missed ? a->missed[segment->counter] : 0);
    double lr = a->scalars->lr;
    to[ADAMW_FACTOR] = job->factor;
    to[ADAMW_BETA1] = a->beta1;
    to[ADAMW_BETA2] = a->beta2;
    to[ADAMW_NEW1] = (float)(1.0 - a->beta1);
    to[ADAMW_NEW2] = (float)(1.0 - a->beta2);
    to[ADAMW_KEEP] = segment->decay ? (float)(1 - lr * a->weight_decay) : 1;
    to[ADAMW_STEP] = (float)(lr / (1 - pow(a->beta1, t)));
    to[ADAMW_FIX2] = (float)(1 / (1 - pow(a->beta2, t)));
    to[ADAMW_EPS] = a->eps;
}

static void update_share(void *arg, int thread, int threads)
{
    const struct update_job *job = arg;
    const struct adamw *a = job->a;
    for (int s = 0; s < a->segment_count; s++) {
        const struct param_segment *segment = &a->segments[s];
        size_t begin, end;
        parallel_share(segment->size, GRAIN, thread, threads, &begin, &end);
        if (a->adam_step[segment->counter] <= 0 || begin == end)
            continue;
        float constants[ADAMW_CONSTANTS];
        segment_constants(constants, job, segment);
        size_t at = segment->offset + begin;
        job->kernels->adamw(a->params + at, a->m + at, a->v + at, a->grads + at, end - begin, constants);
    }
}

void cpu_adamw(struct backend *be, const struct adamw *a)
{
    if (a->outcome && a->outcome->skip)
        return;
    double norm = sqrt(a->norm_sq[0]);
    double factor = a->clip == 0 || norm <= a->clip ? 1 : a->clip / norm; /* a norm that is NaN stays NaN */
    struct update_job job = {be->kernels, a, (float)factor};
    parallel_run(be->threads, update_share, &job);
}
