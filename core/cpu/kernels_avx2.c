/* Kernels for processors with AVX2; nothing here may be called on others. */
#include <math.h>
#include <string.h>

#include "core/cpu/kernels_levels.h"

#if defined(__x86_64__)
#define KERNELS      kernels_avx2
#define KERNELS_NAME "avx2"
#define VECTOR       8
#define MICRO_ROWS   6
#ifdef __clang__ /* leaves the loops that look for a maximum as they are, and would say so */
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#include "core/cpu/kernels.inc"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#include "core/cpu/kernels.inc"
#pragma GCC pop_options
#endif
#endif
