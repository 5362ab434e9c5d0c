/* Kernels for any processor: what the compiler makes of them without further instruction sets. */
#include <math.h>
#include <string.h>

#include "core/cpu/kernels_levels.h"

#define KERNELS kernels_base
#define KERNELS_NAME "base"
#define VECTOR 4
#define MICRO_ROWS 4
#include "core/cpu/kernels.inc"
