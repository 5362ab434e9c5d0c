/* The compiled levels of gemv.h; only gemv.c chooses among them. */
#ifndef TAPER_CORE_CPU_GEMV_LEVELS_H
#define TAPER_CORE_CPU_GEMV_LEVELS_H

#include "core/cpu/gemv.h"

extern const struct gemv_kernels gemv_base;
#if defined(__x86_64__)
extern const struct gemv_kernels gemv_avx2, gemv_avx512;
#endif

#endif
