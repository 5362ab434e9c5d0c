#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

struct job {
    const struct kernels *kernels;
    float *out;
    const float *in, *delta;
    size_t count;
};

static void add_share(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end;
    parallel_share(job->count, 64, thread, threads, &begin, &end);
    if (job->out != job->in)
        memcpy(job->out + begin, job->in + begin, (end - begin) * sizeof *job->out);
    job->kernels->add_scaled(job->out + begin, 1, job->delta + begin, end - begin);
}

void cpu_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count)
{
    struct job job = {.kernels = be->kernels, .out = out, .in = in, .delta = delta, .count = count};
    parallel_run(be->threads, add_share, &job);
}
