/* Causal attention in fp32 for any head width, and the decode step: softmax(q k^T / sqrt(D)) v per head.
 *
 * A block works out one row of scores: threads share the keys of the row, then warps share the rows to be summed. The
 * backward runs twice over the scores, by query for dq and by key for dk and dv, so that nothing is added atomically.
 */
#include "gpu/device_code.cuh"

enum { THREADS = 128, WARPS = THREADS / WARP };

/* Shared memory of a block, in floats: two rows of scores, a vector a warp, two vectors, and 32 for reductions. */
struct workspace {
    float *scores, *others, *partial, *a, *b, *part;
};

static __device__ __forceinline__ struct workspace carve(float *shared, int T, int D)
{
    struct workspace w;
    w.scores = shared;
    w.others = w.scores + T;
    w.partial = w.others + T;
    w.a = w.partial + WARPS * D;
    w.b = w.a + D;
    w.part = w.b + D;
    return w;
}

extern "C" size_t kernel_attention_shared(int T, int D)
{
    return ((size_t)2 * T + (WARPS + 2) * (size_t)D + 32) * sizeof(float);
}

static __device__ __forceinline__ float dot(const float *x, const float *y, int D)
{
    float sum = 0;
    for (int d = 0; d < D; d++)
        sum += x[d] * y[d];
    return sum;
}

/* to[d] = factor * sum over u in first..last of weights[u] rows[u * stride + d]; a barrier before it is the caller's.
 */
static __device__ __forceinline__ void add_rows(float *to, const float *weights, const float *rows, size_t stride,
                                                int first, int last, int D, float factor, float *partial)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int d = lane; d < D; d += WARP) {
        float sum = 0;
        for (int u = first + warp; u <= last; u += WARPS)
            sum += weights[u] * rows[u * stride + d];
        partial[warp * D + d] = sum;
    }
    __syncthreads();
    for (int d = threadIdx.x; d < D; d += THREADS) {
        float sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += partial[w * D + d];
        to[d] = sum * factor;
    }
    __syncthreads();
}

static __device__ __forceinline__ void copy_vector(float *to, const float *from, int D)
{
    for (int d = threadIdx.x; d < D; d += THREADS)
        to[d] = from[d];
}

/* One query w.a against keys 0..last: out [D], and the log of the sum of exponentials as the result. */
static __device__ __forceinline__ float attend(const struct workspace &w, const float *keys, const float *values,
                                               size_t stride, float *out, int last, int D)
{
    float most = -INFINITY, sum = 0, scale = 1.0f / sqrtf((float)D);
    for (int u = threadIdx.x; u <= last; u += THREADS) {
        w.scores[u] = dot(w.a, keys + u * stride, D) * scale;
        most = larger(most, w.scores[u]);
    }
    most = block_larger(most, w.part);
    for (int u = threadIdx.x; u <= last; u += THREADS) {
        w.scores[u] = expf(w.scores[u] - most);
        sum += w.scores[u];
    }
    sum = block_sum(sum, w.part);
    add_rows(out, w.scores, values, stride, 0, last, D, 1.0f / sum, w.partial);
    return most + logf(sum);
}

/* ------------------------------------------------------------------------------------------- training */

/* Where token (b, t)'s q (part 0), k (1) or v (2) of head h starts in a [B,T,3C] tensor. */
static __device__ __forceinline__ size_t part_at(int part, int b, int t, int h, int T, int H, int D)
{
    return ((((size_t)b * T + t) * 3 + part) * H + h) * D;
}

__global__ void __launch_bounds__(THREADS) attention_rows(const float *qkv, float *out, float *lse, int T, int H, int D)
{
    SHARED_MEMORY(float, shared);
    struct workspace w = carve(shared, T, D);
    int t = blockIdx.x, h = blockIdx.y, b = blockIdx.z;
    copy_vector(w.a, qkv + part_at(0, b, t, h, T, H, D), D);
    __syncthreads();
    float total = attend(w, qkv + part_at(1, b, 0, h, T, H, D), qkv + part_at(2, b, 0, h, T, H, D), (size_t)3 * H * D,
                         out + (((size_t)b * T + t) * H + h) * D, t, D);
    if (threadIdx.x == 0)
        lse[((size_t)b * H + h) * T + t] = total;
}

extern "C" void kernel_attention_forward(void *stream, const float *qkv, float *out, float *lse, int B, int T, int H,
                                         int D)
{
    LAUNCH(attention_rows, dim3(T, H, B), THREADS, kernel_attention_shared(T, D), stream, qkv, out, lse, T, H, D);
}

/* dq of one query, and dots = sum_d dout out. With P the softmax: dP = dout v^T, dS = P (dP - dots) / sqrt(D). */
__global__ void __launch_bounds__(THREADS) attention_queries(struct attention_backward a, float *dots)
{
    SHARED_MEMORY(float, shared);
    int T = a.T, H = a.H, D = a.D, t = blockIdx.x, h = blockIdx.y, b = blockIdx.z;
    struct workspace w = carve(shared, T, D);
    size_t row = (((size_t)b * T + t) * H + h) * D, stat = ((size_t)b * H + h) * T + t, stride = (size_t)3 * H * D;
    const float *keys = a.qkv + part_at(1, b, 0, h, T, H, D), *values = keys + (size_t)H * D;
    float mine = 0, scale = 1.0f / sqrtf((float)D), lse = a.lse[stat];
    copy_vector(w.a, a.qkv + part_at(0, b, t, h, T, H, D), D);
    copy_vector(w.b, a.dout + row, D);
    for (int d = threadIdx.x; d < D; d += THREADS)
        mine += a.dout[row + d] * a.out[row + d];
    float along = block_sum(mine, w.part);
    if (threadIdx.x == 0)
        dots[stat] = along;
    for (int u = threadIdx.x; u <= t; u += THREADS) {
        float p = expf(dot(w.a, keys + u * stride, D) * scale - lse);
        w.scores[u] = p * (dot(w.b, values + u * stride, D) - along);
    }
    __syncthreads();
    add_rows(a.dqkv + part_at(0, b, t, h, T, H, D), w.scores, keys, stride, 0, t, D, scale, w.partial);
}

/* dk and dv of one key, from the queries at and after it. */
__global__ void __launch_bounds__(THREADS) attention_keys(struct attention_backward a, const float *dots)
{
    SHARED_MEMORY(float, shared);
    int T = a.T, H = a.H, D = a.D, u = blockIdx.x, h = blockIdx.y, b = blockIdx.z;
    struct workspace w = carve(shared, T, D);
    size_t first = ((size_t)b * T * H + h) * D, stat = ((size_t)b * H + h) * T, stride = (size_t)3 * H * D;
    const float *queries = a.qkv + part_at(0, b, 0, h, T, H, D);
    float scale = 1.0f / sqrtf((float)D);
    copy_vector(w.a, a.qkv + part_at(1, b, u, h, T, H, D), D);
    copy_vector(w.b, a.qkv + part_at(2, b, u, h, T, H, D), D);
    __syncthreads();
    for (int t = u + threadIdx.x; t < T; t += THREADS) {
        float p = expf(dot(w.a, queries + t * stride, D) * scale - a.lse[stat + t]);
        w.others[t] = p;
        w.scores[t] = p * (dot(w.b, a.dout + first + (size_t)t * H * D, D) - dots[stat + t]);
    }
    __syncthreads();
    add_rows(a.dqkv + part_at(1, b, u, h, T, H, D), w.scores, queries, stride, u, T - 1, D, scale, w.partial);
    add_rows(a.dqkv + part_at(2, b, u, h, T, H, D), w.others, a.dout + first, (size_t)H * D, u, T - 1, D, 1.0f,
             w.partial);
}

extern "C" void kernel_attention_backward(void *stream, const struct attention_backward *a, float *dots)
{
    size_t shared = kernel_attention_shared(a->T, a->D);
    LAUNCH(attention_queries, dim3(a->T, a->H, a->B), THREADS, shared, stream, *a, dots);
    LAUNCH(attention_keys, dim3(a->T, a->H, a->B), THREADS, shared, stream, *a, dots);
}

/* --------------------------------------------------------------------------------------------- decode */

static __device__ __forceinline__ void rotate_vector(float *x, int D, int t, struct rope rope)
{
    int half = D / 2;
    for (int i = threadIdx.x; i < half; i += THREADS) {
        double s, c, u = x[i], v = x[half + i];
        sincos(t * rope_frequency(rope, i, half), &s, &c);
        x[i] = (float)(u * c - v * s);
        x[half + i] = (float)(v * c + u * s);
    }
}

/* Rotate, append to the cache and attend, one block a sequence and head. */
__global__ void __launch_bounds__(THREADS) decode(struct decode_attention a, uint16_t *half)
{
    SHARED_MEMORY(float, shared);
    int h = blockIdx.x, b = blockIdx.y, H = a.H, D = a.D, t = a.pos[b];
    struct workspace w = carve(shared, a.S, D);
    float *q = a.qkv + ((size_t)b * 3 * H + h) * D, *k = q + (size_t)H * D, *v = k + (size_t)H * D;
    size_t cache = ((size_t)b * H + h) * a.S * D;
    if (a.rope.theta > 0) {
        rotate_vector(q, D, t, a.rope);
        rotate_vector(k, D, t, a.rope);
        __syncthreads();
    }
    copy_vector(w.a, q, D);
    copy_vector(a.k_cache + cache + (size_t)t * D, k, D);
    copy_vector(a.v_cache + cache + (size_t)t * D, v, D);
    __syncthreads();
    size_t row = ((size_t)b * H + h) * D;
    attend(w, a.k_cache + cache, a.v_cache + cache, D, a.out + row, t, D);
    for (int d = threadIdx.x; half && d < D; d += THREADS) /* each thread's own d, as add_rows left it */
        half[row + d] = float_to_half(a.out[row + d]);
}

extern "C" void kernel_decode_attention(void *stream, const struct decode_attention *a, uint16_t *half)
{
    LAUNCH(decode, dim3(a->H, a->B), THREADS, kernel_attention_shared(a->S, a->D), stream, *a, half);
}
