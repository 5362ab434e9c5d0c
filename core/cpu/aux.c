#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

struct aux_job {
    const struct kernels *kernels;
    const struct aux_loss *a;
    double (*sums)[8]; /* [threads], a cache line each */
};

static void aux_rows(void *arg, int thread, int threads)
{
    const struct aux_job *job = arg;
    size_t begin, end;
    double sum = 0;
    parallel_share((size_t)job->a->N, 1, thread, threads, &begin, &end);
    job->kernels->aux_loss(job->a, (int)begin, (int)end, &sum);
    job->sums[thread][0] = sum;
}

void cpu_aux_loss(struct backend *be, const struct aux_loss *a)
{
    struct aux_job job = {be->kernels, a, (double(*)[8])(void *)cpu_scratch(be, (size_t)be->threads * 16)};
    parallel_run(be->threads, aux_rows, &job);
    for (int t = 0; t < be->threads; t++)
        a->sum[0] += job.sums[t][0];
}

struct probe_job {
    const struct kernels *kernels;
    const struct radial_probe *a;
};

static void probe_rows(void *arg, int thread, int threads)
{
    const struct probe_job *job = arg;
    size_t begin, end;
    parallel_share((size_t)job->a->N, 1, thread, threads, &begin, &end);
    job->kernels->radial_probe(job->a, (int)begin, (int)end);
}

void cpu_radial_probe(struct backend *be, const struct radial_probe *a)
{
    struct probe_job job = {be->kernels, a};
    parallel_run(be->threads, probe_rows, &job);
}
