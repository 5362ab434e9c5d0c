#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/parallel.h"

/* Threads split tokens; a thread goes through its tokens in blocks whose activations stay in the second cache between
 * the product and the activation. The product packs the weight matrix for each block, so a block is not small. */
static int block_rows(int width)
{
    enum { FLOATS = 192 << 10, LEAST = 128, MOST = 1024 };
    int rows = FLOATS / (width > 0 ? width : 1);
    return rows < LEAST ? LEAST : rows > MOST ? MOST : rows / 16 * 16;
}

struct forward_job {
    const struct linear_forward *a;
    const struct kernels *kernels;
};

static void activate(const struct linear_forward *a, const struct kernels *kernels, size_t n, int rows)
{
    size_t O = (size_t)a->O;
    const float *pre = a->pre + n * O;
    if (a->act == ACT_SWIGLU)
        for (size_t r = 0; r < (size_t)rows; r++)
            kernels->swiglu(a->out + (n + r) * (O / 2), pre + r * O, pre + r * O + O / 2, O / 2);
    else if (a->act != ACT_NONE)
        kernels->act(a->act, a->out + n * O, pre, (size_t)rows * O);
}

static void forward_rows(void *arg, int thread, int threads)
{
    const struct forward_job *job = arg;
    const struct linear_forward *a = job->a;
    size_t begin, end, O = (size_t)a->O;
    parallel_share((size_t)a->N, 16, thread, threads, &begin, &end);
    int most = block_rows(a->act == ACT_NONE ? a->O : 2 * a->O);
    for (size_t n = begin; n < end;) {
        int rows = end - n < (size_t)most ? (int)(end - n) : most;
        float *pre = a->pre + n * O;
        gemm_nt(rows, a->O, a->I, a->in + n * a->I, a->I, a->weight, a->I, 0, pre, a->O);
        for (size_t r = 0; a->bias && r < (size_t)rows; r++)
            job->kernels->add_scaled(pre + r * O, 1, a->bias, O);
        activate(a, job->kernels, n, rows);
        n += (size_t)rows;
    }
}

void cpu_linear_forward(struct backend *be, const struct linear_forward *a)
{
    struct forward_job job = {a, be->kernels};
    parallel_run(be->threads, forward_rows, &job);
}

struct backward_job {
    const struct linear_backward *a;
    const struct kernels *kernels;
    float *scratch; /* [threads][rows, I], for SwiGLU */
    size_t stride;
    int rows;
};

/* din of this thread's tokens, through the activation's derivative while the block is in cache. */
static void input_gradient(const struct backward_job *job, int thread, size_t begin, size_t end)
{
    const struct linear_backward *a = job->a;
    size_t I = (size_t)a->I;
    for (size_t n = begin; n < end;) {
        int rows = end - n < (size_t)job->rows ? (int)(end - n) : job->rows;
        bool wide = a->in_act == ACT_SWIGLU;
        float *d = wide ? job->scratch + (size_t)thread * job->stride : a->din + n * I;
        gemm_nn(rows, a->I, a->O, a->dout + n * a->O, a->O, a->weight, a->I, 0, d, a->I);
        for (size_t r = 0; wide && r < (size_t)rows; r++) {
            const float *gate = a->in_pre + (n + r) * 2 * I;
            float *to = a->din + (n + r) * 2 * I;
            job->kernels->swiglu_back(to, to + I, d + r * I, gate, gate + I, I);
        }
        if (!wide && a->in_act != ACT_NONE)
            job->kernels->act_back(a->in_act, d, a->in_pre + n * I, (size_t)rows * I);
        n += (size_t)rows;
    }
}

/* dweight: threads split its longer side, so nothing has to be added up between them. */
static void weight_gradient(const struct linear_backward *a, int thread, int threads)
{
    size_t begin, end;
    bool by_rows = a->O >= a->I;
    parallel_share((size_t)(by_rows ? a->O : a->I), 16, thread, threads, &begin, &end);
    int count = (int)(end - begin);
    if (count == 0)
        return;
    if (by_rows)
        gemm_tn(count, a->I, a->N, a->dout + begin, a->O, a->in, a->I, 1, a->dweight + begin * a->I, a->I);
    else
        gemm_tn(a->O, count, a->N, a->dout, a->O, a->in + begin, a->I, 1, a->dweight + begin, a->I);
}

static void backward_share(void *arg, int thread, int threads)
{
    const struct backward_job *job = arg;
    const struct linear_backward *a = job->a;
    size_t begin, end;
    if (a->din) {
        parallel_share((size_t)a->N, 16, thread, threads, &begin, &end);
        input_gradient(job, thread, begin, end);
    }
    weight_gradient(a, thread, threads);
    if (a->dbias) {
        parallel_share((size_t)a->O, 16, thread, threads, &begin, &end);
        job->kernels->column_sums(a->dbias + begin, a->dout + begin, (size_t)a->O, a->N, (int)(end - begin));
    }
}

void cpu_linear_backward(struct backend *be, const struct linear_backward *a)
{
    struct backward_job job = {a, be->kernels, NULL, 0, block_rows(a->in_act == ACT_NONE ? a->I : 2 * a->I)};
    if (a->in_act == ACT_SWIGLU) {
        job.stride = cpu_padded((size_t)job.rows * a->I);
        job.scratch = cpu_scratch(be, (size_t)be->threads * job.stride);
    }
    parallel_run(be->threads, backward_share, &job);
}
