#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

/* A row's work is too little to share; a thread takes a run of rows and its own sums, added in order of threads. */

struct forward_job {
    const struct norm_forward *a;
    const struct kernels *kernels;
    double (*sums)[8]; /* [threads]: calibration, scale_sum; a cache line each */
};

static void forward_rows(void *arg, int thread, int threads)
{
    struct forward_job *job = arg;
    size_t begin, end;
    parallel_share((size_t)job->a->N, 1, thread, threads, &begin, &end);
    double sums[3] = {0};
    job->kernels->norm_forward(job->a, (int)begin, (int)end, sums);
    memcpy(job->sums[thread], sums, sizeof sums);
}

void cpu_norm_forward(struct backend *be, const struct norm_forward *a)
{
    struct forward_job job = {a, be->kernels, (double(*)[8])(void *)cpu_scratch(be, (size_t)be->threads * 16)};
    parallel_run(be->threads, forward_rows, &job);
    for (int t = 0; t < be->threads; t++) {
        if (a->calibration) {
            a->calibration[0] += job.sums[t][0];
            a->calibration[1] += job.sums[t][1];
        }
        if (a->scale_sum)
            a->scale_sum[0] += job.sums[t][2];
    }
}

enum { PARTIALS = 3, ROWS = 64 }; /* rows whose sums are gathered before they join the thread's */

struct backward_job {
    const struct norm_backward *a;
    const struct kernels *kernels;
    float *partials; /* [threads][2]: a few rows', the thread's; each [PARTIALS, C] padded */
    size_t stride;
};

static void backward_rows(void *arg, int thread, int threads)
{
    struct backward_job *job = arg;
    size_t begin, end, count = (size_t)PARTIALS * job->a->C;
    parallel_share((size_t)job->a->N, 1, thread, threads, &begin, &end);
    float *few = job->partials + 2 * (size_t)thread * job->stride, *all = few + job->stride;
    memset(all, 0, count * sizeof *all);
    for (size_t n = begin; n < end; n += ROWS) {
        memset(few, 0, count * sizeof *few);
        job->kernels->norm_backward(job->a, (int)n, (int)(n + ROWS < end ? n + ROWS : end), few);
        job->kernels->add_scaled(all, 1, few, count);
    }
}

static void add(const struct backward_job *job, int threads, float *to, int which, float factor)
{
    for (int t = 0; t < threads && to; t++)
        job->kernels->add_scaled(to, factor,
                                 job->partials + (2 * (size_t)t + 1) * job->stride + which * (size_t)job->a->C,
                                 (size_t)job->a->C);
}

void cpu_norm_backward(struct backend *be, const struct norm_backward *a)
{
    size_t stride = cpu_padded((size_t)PARTIALS * a->C);
    struct backward_job job = {a, be->kernels, cpu_scratch(be, 2 * (size_t)be->threads * stride), stride};
    parallel_run(be->threads, backward_rows, &job);
    float gate = a->site.phase == PHASE_NORMED ? 1 : a->site.phase == PHASE_FOLDED ? 0 : a->site.gate[0];
    if (a->site.phase != PHASE_FOLDED) {
        add(&job, be->threads, a->dgamma, 0, gate);
        add(&job, be->threads, a->site.kind == NORM_LAYER ? a->dbeta : NULL, 1, gate);
    }
    if (a->site.phase != PHASE_NORMED) {
        add(&job, be->threads, a->dgamma_tilde, 2, (1 - gate) * a->site.c[0]);
        add(&job, be->threads, a->site.kind == NORM_LAYER ? a->dbeta_tilde : NULL, 1, 1 - gate);
    }
}
