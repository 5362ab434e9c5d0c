/* Decoding kernels for any processor: what the compiler makes of them without further instruction sets. */
#include <math.h>
#include <string.h>

#include "core/cpu/gemv_levels.h"

#define GEMV_KERNELS gemv_base
#define GEMV_NAME    "base"
#define GEMV_ROWS    4
#define GEMV_SUMS    1
#define GEMV_VECTOR  16
#define GEMV_BLOCKS  2
#include "core/cpu/gemv.inc"
