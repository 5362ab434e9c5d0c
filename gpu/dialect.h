/* What every .cu file includes first: CUDA under nvcc, its imitation on the CPU under a plain C++ compiler (tests).
 *
 * A kernel is started with LAUNCH(kernel, grid, block, shared bytes, stream, arguments...) and gets dynamic shared
 * memory with SHARED_MEMORY(type, name); static __shared__ variables are not used, the imitation does not have them. */
#ifndef TAPER_GPU_DIALECT_H
#define TAPER_GPU_DIALECT_H

#ifdef __CUDACC__
#include <cuda_bf16.h>

#define LAUNCH(kernel, grid, block, shared, stream, ...)                                                               \
    kernel<<<grid, block, shared, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#define SHARED_MEMORY(type, name)                                                                                      \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                                    \
    type *name = (type *)dynamic_shared
#else
#include "tests/gpu/cpu_dialect.h"
#endif

#endif
