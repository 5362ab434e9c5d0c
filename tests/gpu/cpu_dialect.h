/* The CUDA dialect of gpu/NAME.cu on a CPU, for tests: every thread of a block is a fiber on one OS thread.
 *
 * A launch is enqueued on a simulated stream (sim_device.h) with its arguments copied, as on a device. What is found
 * while a kernel runs ends the program with a message: a barrier that not all threads of a block reach, a shuffle whose
 * lanes name different masks or read a lane outside. A missing barrier shows as a wrong result under another order of
 * the fibers; shared memory starts as NaN in every block; reads out of bounds are for the address sanitizer, vector
 * accesses off their alignment for the undefined behaviour sanitizer. Not modelled: races between blocks, warps of
 * other than 32 lanes, cooperative launches. One OS thread at a time. */
#ifndef TAPER_TESTS_GPU_CPU_DIALECT_H
#define TAPER_TESTS_GPU_CPU_DIALECT_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/gpu/sim_device.h"

#ifdef __SANITIZE_THREAD__
#error "fibers and the thread sanitizer do not mix"
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct alignas(8) uint2 {
    unsigned x, y;
};

using std::isfinite;
using std::isinf;
using std::isnan;

namespace dialect
{
extern dim3 thread_index, block_index, block_size, grid_size;

void barrier();
/* The value that lane `source` of the own warp gave; every lane of mask must call. */
uint64_t exchange(unsigned mask, uint64_t value, unsigned source);
unsigned lane();
void *shared_memory();
/* Run every block of a grid, one after the other. */
void run(dim3 grid, dim3 block, size_t shared, const std::function<void()> &thread);

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, void *stream, A... args)
{
    sim_enqueue(stream, [=] { run(grid, block, shared, [=] { kernel(args...); }); });
}

template <class T> T shuffle(unsigned mask, T value, unsigned source)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = exchange(mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}
} // namespace dialect

#define threadIdx dialect::thread_index
#define blockIdx  dialect::block_index
#define blockDim  dialect::block_size
#define gridDim   dialect::grid_size

#define LAUNCH(kernel, grid, block, shared, stream, ...)                                                               \
    dialect::launch(kernel, dim3(grid), dim3(block), shared, stream, __VA_ARGS__)
#define SHARED_MEMORY(type, name) type *name = (type *)dialect::shared_memory()

static inline void __syncthreads()
{
    dialect::barrier();
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits)
{
    return dialect::shuffle(mask, value, dialect::lane() ^ (unsigned)bits);
}

/* Fibers of a block never run at once, so that these are atomic as they stand. */
template <class T> static inline T atomicAdd(T *p, T value)
{
    T old = *p;
    *p = old + value;
    return old;
}

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
