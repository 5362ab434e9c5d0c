#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/base/parallel.h"

/* Threads split tokens; a thread goes through its tokens in blocks whose activations stay in the second cache between
 * the product and the activation, all alike in size. A product is the BLAS's, which packs the weight matrix for every
 * block (so a block is not small), or where a side of the matrix is small our own, over a weight matrix packed once by
 * all threads. Where nothing follows the product, one block is best. */
static int block_rows(size_t count, int width, bool follows)
{
    enum { FLOATS = 192 << 10, LEAST = 480, MOST = 1200 };
    size_t most = (size_t)(FLOATS / (width > 0 ? width : 1));
    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    size_t blocks = follows ? (count + most / 2) / most : 1;
    return (int)(blocks > 1 ? (count + blocks - 1) / blocks : count);
}

/* So few tokens that threads do better to split the outputs: decoding. */
enum { FEW_ROWS = 8 };

struct forward_job {
    const struct linear_forward *a;
    const struct kernels *kernels;
    float *packed; /* weight^T in panels, or NULL */
};

static void pack_weight(void *arg, int thread, int threads)
{
    const struct forward_job *job = arg;
    const struct linear_forward *a = job->a;
    gemm_pack_share(job->kernels, job->packed, a->weight, 1, (size_t)a->I, a->I, a->O, thread, threads);
}

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
    size_t begin, end, O = (size_t)a->O, I = (size_t)a->I;
    parallel_share((size_t)a->N, 4, thread, threads, &begin, &end);
    int most = block_rows(end - begin, 2 * a->O, a->act != ACT_NONE || a->bias);
    for (size_t n = begin; n < end;) {
        int rows = end - n < (size_t)most ? (int)(end - n) : most;
        float *pre = a->pre + n * O;
        if (job->packed)
            job->kernels->multiply(rows, a->O, a->I, a->in + n * I, I, 1, job->packed, false, pre, O);
        else
            gemm_nt(rows, a->O, a->I, a->in + n * I, a->I, a->weight, a->I, 0, pre, a->O);
        for (size_t r = 0; a->bias && r < (size_t)rows; r++)
            job->kernels->add_scaled(pre + r * O, 1, a->bias, O);
        activate(a, job->kernels, n, rows);
        n += (size_t)rows;
    }
}

static void forward_outputs(void *arg, int thread, int threads)
{
    const struct forward_job *job = arg;
    const struct linear_forward *a = job->a;
    size_t begin, end, I = (size_t)a->I;
    parallel_share((size_t)a->O, 4, thread, threads, &begin, &end);
    for (size_t o = begin; o < end; o++)
        for (size_t n = 0; n < (size_t)a->N; n++)
            a->pre[n * a->O + o] = job->kernels->dot(a->in + n * I, a->weight + o * I, I) + (a->bias ? a->bias[o] : 0);
}

void cpu_linear_forward(struct backend *be, const struct linear_forward *a)
{
    struct forward_job job = {a, be->kernels, NULL};
    if (a->N <= FEW_ROWS) {
        parallel_run(be->threads, forward_outputs, &job);
        activate(a, be->kernels, 0, a->N);
        return;
    }
    if (gemm_packs(be->kernels, a->N, a->O, a->I)) {
        job.packed = cpu_scratch(be, be->kernels->packed_size(a->I, a->O));
        parallel_run(be->threads, pack_weight, &job);
    }
    parallel_run(be->threads, forward_rows, &job);
}

struct backward_job {
    const struct linear_backward *a;
    const struct kernels *kernels;
    float *weight; /* the weight matrix in panels, or NULL */
    float *in;     /* in, in panels, or NULL */
    float *blocks; /* [threads][rows, I], for SwiGLU */
    size_t stride;
    int rows;
};

static void pack_operands(void *arg, int thread, int threads)
{
    const struct backward_job *job = arg;
    const struct linear_backward *a = job->a;
    if (job->weight)
        gemm_pack_share(job->kernels, job->weight, a->weight, (size_t)a->I, 1, a->O, a->I, thread, threads);
    if (job->in)
        gemm_pack_share(job->kernels, job->in, a->in, (size_t)a->I, 1, a->N, a->I, thread, threads);
}

/* din of this thread's tokens, through the activation's derivative while the block is in cache. */
static void input_gradient(const struct backward_job *job, int thread, size_t begin, size_t end)
{
    const struct linear_backward *a = job->a;
    const struct kernels *kernels = job->kernels;
    size_t I = (size_t)a->I, O = (size_t)a->O;
    bool wide = a->in_act == ACT_SWIGLU;
    for (size_t n = begin; n < end;) {
        int rows = end - n < (size_t)job->rows ? (int)(end - n) : job->rows;
        float *d = wide ? job->blocks + (size_t)thread * job->stride : a->din + n * I;
        if (job->weight)
            kernels->multiply(rows, a->I, a->O, a->dout + n * O, O, 1, job->weight, false, d, I);
        else
            gemm_nn(rows, a->I, a->O, a->dout + n * O, a->O, a->weight, a->I, 0, d, a->I);
        for (size_t r = 0; wide && r < (size_t)rows; r++) {
            const float *gate = a->in_pre + (n + r) * 2 * I;
            float *to = a->din + (n + r) * 2 * I;
            kernels->swiglu_back(to, to + I, d + r * I, gate, gate + I, I);
        }
        if (!wide && a->in_act != ACT_NONE)
            kernels->act_back(a->in_act, d, a->in_pre + n * I, (size_t)rows * I);
        n += (size_t)rows;
    }
}

/* dweight: threads split its longer side, so nothing has to be added up between them. */
static void weight_gradient(const struct backward_job *job, int thread, int threads)
{
    const struct linear_backward *a = job->a;
    size_t begin, end;
    bool by_rows = a->O >= a->I || job->in;
    parallel_share((size_t)(by_rows ? a->O : a->I), by_rows ? 12 : 16, thread, threads, &begin, &end);
    int count = (int)(end - begin);
    if (count == 0)
        return;
    if (job->in)
        job->kernels->multiply(count, a->I, a->N, a->dout + begin, 1, (size_t)a->O, job->in, true,
                               a->dweight + begin * a->I, (size_t)a->I);
    else if (by_rows)
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
        parallel_share((size_t)a->N, 4, thread, threads, &begin, &end);
        input_gradient(job, thread, begin, end);
    }
    weight_gradient(job, thread, threads);
    if (a->dbias) {
        parallel_share((size_t)a->O, 16, thread, threads, &begin, &end);
        job->kernels->column_sums(a->dbias + begin, a->dout + begin, (size_t)a->O, a->N, (int)(end - begin));
    }
}

void cpu_linear_backward(struct backend *be, const struct linear_backward *a)
{
    const struct kernels *kernels = be->kernels;
    struct backward_job job = {.a = a, .kernels = kernels};
    bool pack_weights = a->din && gemm_packs(kernels, a->N, a->I, a->O);
    bool pack_in = a->I <= 64 && a->N >= 96 && gemm_packs(kernels, a->N, a->I, a->O); /* wider, the BLAS is faster */
    job.rows = block_rows((size_t)(a->N / be->threads + 4), 2 * a->I, a->in_act != ACT_NONE);
    job.stride = a->in_act == ACT_SWIGLU ? cpu_padded((size_t)job.rows * a->I) : 0;
    size_t weight = pack_weights ? kernels->packed_size(a->O, a->I) : 0;
    size_t in = pack_in ? kernels->packed_size(a->N, a->I) : 0;
    float *scratch = cpu_scratch(be, (size_t)be->threads * job.stride + weight + in);
    job.blocks = scratch;
    job.weight = pack_weights ? scratch + (size_t)be->threads * job.stride : NULL;
    job.in = pack_in ? scratch + (size_t)be->threads * job.stride + weight : NULL;
    if (pack_weights || pack_in)
        parallel_run(be->threads, pack_operands, &job);
    parallel_run(be->threads, backward_share, &job);
}
