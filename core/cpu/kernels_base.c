/* Kernels for any processor: what the compiler makes of them without further instruction sets. */
#include <math.h>
#include <string.h>

#include "core/cpu/kernels_levels.h"

#define KERNELS      kernels_base
#define KERNELS_NAME "base"
#define VECTOR       4
#define MICRO_ROWS   4
#ifdef __clang__ /* leaves the loops that look for a maximum as they are, and would say so */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
#include "core/cpu/kernels.inc"
