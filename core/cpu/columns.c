#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

/* Whole rows of both halves, from or to where they stand side by side. */
struct job {
    float *joined, *a, *b;
    int N, A, B;
    bool join;
};

static void copy(bool forth, float *to, float *from, int count)
{
    memcpy(forth ? to : from, forth ? from : to, (size_t)count * sizeof *to);
}

static void copy_rows(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    const size_t A = (size_t)job->A, B = (size_t)job->B;
    size_t begin, end;
    parallel_share((size_t)job->N, 1, thread, threads, &begin, &end);
    for (size_t n = begin; n < end; n++) {
        float *row = job->joined + n * (A + B);
        copy(job->join, row, job->a + n * A, job->A);
        copy(job->join, row + A, job->b + n * B, job->B);
    }
}

void cpu_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B)
{
    parallel_run(be->threads, copy_rows, &(struct job){out, (float *)a, (float *)b, N, A, B, true});
}

void cpu_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B)
{
    parallel_run(be->threads, copy_rows, &(struct job){(float *)in, a, b, N, A, B, false});
}
