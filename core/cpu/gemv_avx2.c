/* Decoding kernels for processors with AVX2; nothing here may be called on others. */
#include <math.h>
#include <string.h>

#include "core/cpu/gemv_levels.h"

#if defined(__x86_64__)
#define GEMV_KERNELS gemv_avx2
#define GEMV_NAME    "avx2"
#define GEMV_ROWS    4
#define GEMV_SUMS    1
#define GEMV_VECTOR  32
#define GEMV_BLOCKS  4
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#include "core/cpu/gemv.inc"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#include "core/cpu/gemv.inc"
#pragma GCC pop_options
#endif
#endif
