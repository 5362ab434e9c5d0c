#include "core/cpu/gemv.h"

#include <string.h>

#include "core/cpu/gemv_levels.h"

const struct gemv_kernels *gemv_level(int i)
{
#if defined(__x86_64__)
    if (i == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        return &gemv_avx512;
    if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &gemv_avx2;
#endif
    return i == 2 ? &gemv_base : NULL;
}

const struct gemv_kernels *gemv_best(void)
{
    for (int i = 0; i < GEMV_LEVELS; i++)
        if (gemv_level(i))
            return gemv_level(i);
    return &gemv_base;
}

uint16_t gemv_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN stays one, whatever its low bits */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void gemv_pack_fp32(float *to, const float *weight, size_t stride, const int *order, int rows, int I)
{
    for (int r = 0; r < rows; r++) {
        const float *from = order[r] < 0 ? NULL : weight + (size_t)order[r] * stride;
        float *at = to + (size_t)(r / GEMV_LANES) * I * GEMV_LANES + r % GEMV_LANES;
        for (int i = 0; i < I; i++)
            at[(size_t)i * GEMV_LANES] = from ? from[i] : 0;
    }
}

void gemv_pack_bf16(uint32_t *to, const float *weight, size_t stride, const int *order, int rows, int I)
{
    int pairs = (I + 1) / 2;
    for (int r = 0; r < rows; r++) {
        const float *from = order[r] < 0 ? NULL : weight + (size_t)order[r] * stride;
        uint32_t *at = to + (size_t)(r / GEMV_LANES) * pairs * GEMV_LANES + r % GEMV_LANES;
        for (int i = 0; i < pairs; i++) {
            uint32_t low = from ? gemv_bf16(from[2 * i]) : 0;
            uint32_t high = from && 2 * i + 1 < I ? gemv_bf16(from[2 * i + 1]) : 0;
            at[(size_t)i * GEMV_LANES] = high << 16 | low;
        }
    }
}
