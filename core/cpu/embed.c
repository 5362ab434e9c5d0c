#include <string.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"

struct job {
    const struct kernels *kernels;
    float *out, *dtok, *dpos;
    const float *tok, *pos, *dout;
    const int32_t *tokens;
    int B, T, C;
};

static void forward_rows(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end, C = (size_t)job->C;
    parallel_share((size_t)job->B * job->T, 1, thread, threads, &begin, &end);
    for (size_t n = begin; n < end; n++) {
        const float *row = job->tok + job->tokens[n] * C, *pos = job->pos ? job->pos + n % job->T * C : NULL;
        float *out = job->out + n * C;
        memcpy(out, row, C * sizeof *out);
        if (pos)
            job->kernels->add_scaled(out, 1, pos, C);
    }
}

void cpu_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C)
{
    struct job job = {
        .kernels = be->kernels, .out = out, .tok = tok, .pos = pos, .tokens = tokens, .B = B, .T = T, .C = C};
    parallel_run(be->threads, forward_rows, &job);
}

/* Threads split columns: two of them never write the same element, and sums go in the order of tokens. */
static void backward_columns(void *arg, int thread, int threads)
{
    const struct job *job = arg;
    size_t begin, end, C = (size_t)job->C, N = (size_t)job->B * job->T;
    parallel_share(C, 16, thread, threads, &begin, &end);
    for (size_t n = 0; n < N && begin < end; n++) {
        const float *dout = job->dout + n * C + begin;
        job->kernels->add_scaled(job->dtok + job->tokens[n] * C + begin, 1, dout, end - begin);
        if (job->dpos)
            job->kernels->add_scaled(job->dpos + n % job->T * C + begin, 1, dout, end - begin);
    }
}

void cpu_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V)
{
    (void)V;
    struct job job = {
        .kernels = be->kernels, .dtok = dtok, .dpos = dpos, .dout = dout, .tokens = tokens, .B = B, .T = T, .C = C};
    parallel_run(be->threads, backward_columns, &job);
}
