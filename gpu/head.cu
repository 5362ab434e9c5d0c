/* Softmax cross-entropy of rows of logits with their statistics and gradient, a block a row. */
#include "gpu/device_code.cuh"

enum { THREADS = 256 };

struct row_sums {
    float most, other, largest, sum, squares;
};

/* What one pass over the row gives before its logsumexp is known. */
template <int W>
static __device__ __forceinline__ struct row_sums first_pass(const float *z, int V, int target, float *part)
{
    struct row_sums r = {-INFINITY, -INFINITY, 0, 0, 0};
    for (int i = threadIdx.x * W; i < V; i += THREADS * W) {
        pack<W> x = load<W>(z, i);
        for (int k = 0; k < W && i + k < V; k++) {
            r.most = larger(r.most, x.v[k]);
            r.largest = larger(r.largest, fabsf(x.v[k]));
            r.sum += x.v[k];
            r.squares += x.v[k] * x.v[k];
            if (i + k != target)
                r.other = larger(r.other, x.v[k]);
        }
    }
    r.most = block_larger(r.most, part);
    r.other = block_larger(r.other, part);
    r.largest = block_larger(r.largest, part);
    r.sum = block_sum(r.sum, part);
    r.squares = block_sum(r.squares, part);
    return r;
}

/* Only the maximum, when no statistics are wanted. */
template <int W> static __device__ __forceinline__ float row_maximum(const float *z, int V, float *part)
{
    float most = -INFINITY;
    for (int i = threadIdx.x * W; i < V; i += THREADS * W) {
        pack<W> x = load<W>(z, i);
        for (int k = 0; k < W && i + k < V; k++)
            most = larger(most, x.v[k]);
    }
    return block_larger(most, part);
}

/* With e = exp(z - most): sum e, and with statistics sum e (most - z) and sum (z - mean)^2. */
template <int W>
static __device__ __forceinline__ float second_pass(const float *z, int V, float most, float mean, bool statistics,
                                                    float *weighted, float *spread, float *part)
{
    float sum = 0, off = 0, squares = 0;
    for (int i = threadIdx.x * W; i < V; i += THREADS * W) {
        pack<W> x = load<W>(z, i);
        for (int k = 0; k < W && i + k < V; k++) {
            float e = expf(x.v[k] - most);
            sum += e;
            off += e * (most - x.v[k]);
            squares += (x.v[k] - mean) * (x.v[k] - mean);
        }
    }
    if (statistics) {
        *weighted = block_sum(off, part);
        *spread = block_sum(squares, part);
    }
    return block_sum(sum, part);
}

static __device__ __forceinline__ void set_stats(const struct logit_stats &to, int n, float sum_sq, float max_abs,
                                                 float std, float margin, float p_correct, float entropy)
{
    if (threadIdx.x > 0)
        return;
    to.sum_sq[n] = sum_sq;
    to.max_abs[n] = max_abs;
    to.std[n] = std;
    to.margin[n] = margin;
    to.p_correct[n] = p_correct;
    to.entropy[n] = entropy;
}

/* dz_v = grad_scale (softmax(z)_v - [v = target]), 0 in the padding. */
template <int W>
static __device__ __forceinline__ void write_gradient(struct sink dz, const float *z, size_t at, int stride, int V,
                                                      int target, float lse, float grad_scale)
{
    for (int i = threadIdx.x * W; i < stride; i += THREADS * W) {
        pack<W> x = load<W>(z, i);
        for (int k = 0; k < W; k++) {
            float p = i + k < V && target >= 0 ? expf(x.v[k] - lse) - (i + k == target ? 1.0f : 0.0f) : 0.0f;
            x.v[k] = grad_scale * p;
        }
        store(dz, at + i, x);
    }
}

template <int W>
__global__ void __launch_bounds__(THREADS)
    cross_entropy(const float *logits, int stride, const int32_t *targets, float *ce, struct logit_stats stats,
                  struct sink dz, float *copy, float grad_scale, int V)
{
    SHARED_MEMORY(float, part);
    int n = blockIdx.x, target = targets[n];
    size_t at = (size_t)n * stride;
    const float *z = logits + at;
    struct row_sums r = {0, 0, 0, 0, 0};
    float weighted = 0, spread = 0;
    bool statistics = stats.sum_sq != 0;
    for (int i = threadIdx.x; copy && i < V; i += THREADS)
        copy[(size_t)n * V + i] = z[i];
    if (statistics)
        r = first_pass<W>(z, V, target, part);
    else
        r.most = row_maximum<W>(z, V, part);
    float sum = second_pass<W>(z, V, r.most, r.sum / V, statistics, &weighted, &spread, part);
    float lse = r.most + logf(sum), z_target = target >= 0 ? z[target] : 0.0f;
    __syncthreads(); /* z may be overwritten from here on, and every thread has its z_target */
    if (threadIdx.x == 0)
        ce[n] = target >= 0 ? lse - z_target : 0.0f;
    if (statistics && target >= 0)
        set_stats(stats, n, r.squares, r.largest, sqrtf(spread / V), z_target - r.other, expf(z_target - lse),
                  logf(sum) + weighted / sum);
    else if (statistics)
        set_stats(stats, n, 0, 0, 0, 0, 0, 0);
    if (dz.full || dz.half)
        write_gradient<W>(dz, z, at, stride, V, target, lse, grad_scale);
}

extern "C" void kernel_cross_entropy(void *stream, const float *z, int stride, const int32_t *targets, float *ce,
                                     struct logit_stats stats, struct sink dz, float *logits, float grad_scale,
                                     int rows, int V)
{
    if (wide(stride, z, dz.full, 0, 0, 0) && wide_sink(dz))
        LAUNCH(cross_entropy<4>, rows, THREADS, 32 * sizeof(float), stream, z, stride, targets, ce, stats, dz, logits,
               grad_scale, V);
    else
        LAUNCH(cross_entropy<1>, rows, THREADS, 32 * sizeof(float), stream, z, stride, targets, ce, stats, dz, logits,
               grad_scale, V);
}
