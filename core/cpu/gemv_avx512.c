/* Decoding kernels for processors with AVX512; nothing here may be called on others. */
#include <math.h>
#include <string.h>

#include "core/cpu/gemv_levels.h"

#if defined(__x86_64__)
#define GEMV_KERNELS gemv_avx512
#define GEMV_NAME    "avx512"
#define GEMV_ROWS    8
#define GEMV_SUMS    2
#define GEMV_VECTOR  64
#define GEMV_BLOCKS  4
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))),                   \
                             apply_to = function)
#include "core/cpu/gemv.inc"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
#include "core/cpu/gemv.inc"
#pragma GCC pop_options
#endif
#endif
