/* Kernels for processors with AVX512; nothing here may be called on others. */
#include <math.h>
#include <string.h>

#include "core/cpu/kernels_levels.h"

#if defined(__x86_64__)
#define KERNELS      kernels_avx512
#define KERNELS_NAME "avx512"
#define VECTOR       16
#define MICRO_ROWS   12
#ifdef __clang__ /* leaves the loops that look for a maximum as they are, and would say so */
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))),                   \
                             apply_to = function)
#include "core/cpu/kernels.inc"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
#include "core/cpu/kernels.inc"
#pragma GCC pop_options
#endif
#endif
