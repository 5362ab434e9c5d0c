/* Numbers of 16 bits, rounded to the nearest and to even. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/cpu/gemv.h"
#include "core/trained/interop_internal.h"

static uint16_t to_half(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t size = bits & 0x7fffffff;
    if (size >= 0x477ff000) /* from 65520 on it is infinite */
        return (uint16_t)(sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00));
    if (size < 0x38800000) /* subnormal: whole numbers of 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(fabsf(x) * 0x1p24f));
    return (uint16_t)(sign | (uint16_t)((size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13));
}

const struct interop_number *interop_number(enum interop_dtype dtype)
{
    static const struct interop_number numbers[] = {
        [INTEROP_FLOAT32] = {"float32", TENSOR_F32, 1e6, 10, 1e-3, 0x1.fffffep127},
        [INTEROP_BFLOAT16] = {"bfloat16", TENSOR_BF16, 0x1p20, 2, 1e-1, 0x1.fep127},
        [INTEROP_FLOAT16] = {"float16", TENSOR_F16, 0x1p10, 2, 1e-2, 65504},
    };
    return &numbers[dtype];
}

void *interop_narrow(enum interop_dtype dtype, float *from, size_t count, size_t *lost)
{
    *lost = count;
    if (dtype == INTEROP_FLOAT32)
        return from;
    uint16_t *to = memory_alloc(count, sizeof *to);
    const double most = interop_number(dtype)->most;
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)from[i]) > most && *lost == count)
            *lost = i;
        to[i] = dtype == INTEROP_FLOAT16 ? to_half(from[i]) : gemv_bf16(from[i]);
    }
    return to;
}
