/* The compiled levels of kernels.h; only kernels.c chooses among them. */
#ifndef TAPER_CORE_CPU_KERNELS_LEVELS_H
#define TAPER_CORE_CPU_KERNELS_LEVELS_H

#include "core/cpu/kernels.h"

extern const struct kernels kernels_base;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

#endif
