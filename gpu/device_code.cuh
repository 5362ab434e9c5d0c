/* Device functions that the kernels share. For .cu files only, hence bodies in a header. */
#ifndef TAPER_GPU_DEVICE_CODE_CUH
#define TAPER_GPU_DEVICE_CODE_CUH

#include "gpu/dialect.h"
#include "gpu/kernels.h"

enum { WARP = 32 };

static const unsigned EVERY_LANE = 0xffffffffu;

/* ------------------------------------------------------------------------------------------- numbers */

static __device__ __forceinline__ float half_to_float(uint16_t x)
{
    return __uint_as_float((unsigned)x << 16);
}

/* Round to nearest, ties to even; NaN stays NaN. */
static __device__ __forceinline__ uint16_t float_to_half(float x)
{
#ifdef __CUDACC__
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
#endif
}

/* The larger one; NaN when either is. */
static __device__ __forceinline__ float larger(float a, float b)
{
    return isnan(a) || a > b ? a : b;
}

/* -------------------------------------------------------------------------------------- vector access */

/* W numbers side by side: 4 where width and address allow, else 1. */
template <int W> struct pack {
    float v[W];
};

static __device__ __forceinline__ pack<1> load_full(const float *p, pack<1> *)
{
    pack<1> r;
    r.v[0] = p[0];
    return r;
}

static __device__ __forceinline__ pack<4> load_full(const float *p, pack<4> *)
{
    float4 q = *(const float4 *)p;
    pack<4> r;
    r.v[0] = q.x;
    r.v[1] = q.y;
    r.v[2] = q.z;
    r.v[3] = q.w;
    return r;
}

static __device__ __forceinline__ pack<1> load_half(const uint16_t *p, pack<1> *)
{
    pack<1> r;
    r.v[0] = half_to_float(p[0]);
    return r;
}

static __device__ __forceinline__ pack<4> load_half(const uint16_t *p, pack<4> *)
{
    uint2 q = *(const uint2 *)p;
    pack<4> r;
    r.v[0] = __uint_as_float(q.x << 16);
    r.v[1] = __uint_as_float(q.x & 0xffff0000u);
    r.v[2] = __uint_as_float(q.y << 16);
    r.v[3] = __uint_as_float(q.y & 0xffff0000u);
    return r;
}

template <int W> static __device__ __forceinline__ pack<W> load(const float *p, size_t i)
{
    return load_full(p + i, (pack<W> *)0);
}

template <int W> static __device__ __forceinline__ pack<W> load(struct view x, size_t i)
{
    return x.half ? load_half((const uint16_t *)x.at + i, (pack<W> *)0)
                  : load_full((const float *)x.at + i, (pack<W> *)0);
}

static __device__ __forceinline__ void store_full(float *p, pack<1> x)
{
    p[0] = x.v[0];
}

static __device__ __forceinline__ void store_full(float *p, pack<4> x)
{
    float4 q;
    q.x = x.v[0];
    q.y = x.v[1];
    q.z = x.v[2];
    q.w = x.v[3];
    *(float4 *)p = q;
}

static __device__ __forceinline__ void store_half(uint16_t *p, pack<1> x)
{
    p[0] = float_to_half(x.v[0]);
}

static __device__ __forceinline__ void store_half(uint16_t *p, pack<4> x)
{
    uint2 q;
    q.x = float_to_half(x.v[0]) | (unsigned)float_to_half(x.v[1]) << 16;
    q.y = float_to_half(x.v[2]) | (unsigned)float_to_half(x.v[3]) << 16;
    *(uint2 *)p = q;
}

template <int W> static __device__ __forceinline__ void store(struct sink to, size_t i, pack<W> x)
{
    if (to.full)
        store_full(to.full + i, x);
    if (to.half)
        store_half(to.half + i, x);
}

/* ---------------------------------------------------------------------------------------- reductions */

/* Every lane of the warp gets the sum. */
template <class T> static __device__ __forceinline__ T warp_sum(T x)
{
    for (int bits = WARP / 2; bits; bits >>= 1)
        x += __shfl_xor_sync(EVERY_LANE, x, bits);
    return x;
}

static __device__ __forceinline__ float warp_larger(float x)
{
    for (int bits = WARP / 2; bits; bits >>= 1)
        x = larger(x, __shfl_xor_sync(EVERY_LANE, x, bits));
    return x;
}

/* Every thread of the block gets the sum, of the warps' in their order. part: 32 T of shared memory. The block is whole
 * warps. */
template <class T> static __device__ __forceinline__ T block_sum(T x, T *part)
{
    int warps = blockDim.x / WARP;
    x = warp_sum(x);
    __syncthreads(); /* the last use of part is over */
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = x;
    __syncthreads();
    T sum = part[0];
    for (int w = 1; w < warps; w++)
        sum += part[w];
    return sum;
}

static __device__ __forceinline__ float block_larger(float x, float *part)
{
    int warps = blockDim.x / WARP;
    x = warp_larger(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = x;
    __syncthreads();
    float most = part[0];
    for (int w = 1; w < warps; w++)
        most = larger(most, part[w]);
    return most;
}

/* --------------------------------------------------------------------------------------------- hosts */

static inline int divide_up(size_t a, size_t b)
{
    return (int)((a + b - 1) / b);
}

/* May a row-wise kernel move 4 numbers at once? All rows start where the pointers do, modulo the width. */
static inline bool wide(int width, const void *a, const void *b, const void *c, const void *d, const void *e)
{
    uintptr_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | (uintptr_t)e;
    return width % 4 == 0 && bits % 16 == 0;
}

static inline bool wide_half(const void *a)
{
    return (uintptr_t)a % 8 == 0;
}

static inline bool wide_view(struct view x)
{
    return (uintptr_t)x.at % (x.half ? 8 : 16) == 0;
}

static inline bool wide_sink(struct sink x)
{
    return (uintptr_t)x.full % 16 == 0 && (uintptr_t)x.half % 8 == 0;
}

#endif
