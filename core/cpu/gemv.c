#include "core/cpu/gemv.h"

#include <math.h>
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

/* A row's words lie GEMV_LANES apart; from NULL: zeros, which are there already. */
static void pack_fp32(uint32_t *to, const float *from, int I)
{
    for (int i = 0; i < I; i++)
        memcpy(&to[(size_t)i * GEMV_LANES], &from[i], sizeof *from);
}

static void pack_bf16(uint32_t *to, const float *from, int I)
{
    for (int i = 0; i < I; i++)
        to[(size_t)(i / 2) * GEMV_LANES] |= (uint32_t)gemv_bf16(from[i]) << i % 2 * 16;
}

static float int8_scale(const float *from, int I)
{
    float most = 0;
    for (int i = 0; i < I; i++) {
        if (!isfinite(from[i]))
            return NAN;
        most = fmaxf(most, fabsf(from[i]));
    }
    return most / 127;
}

static void pack_int8(uint32_t *to, const float *from, int I)
{
    const float scale = int8_scale(from, I);
    memcpy(to, &scale, sizeof scale);
    for (int i = 0; scale > 0 && i < I; i++) {
        const uint32_t byte = (uint32_t)lrintf(from[i] / scale) & 0xff;
        to[(size_t)(1 + i / 4) * GEMV_LANES] |= byte << i % 4 * 8;
    }
}

void gemv_pack(void *to, enum gemv_weights weights, const float *weight, size_t stride, const int *order, int rows,
               int I)
{
    static void (*const pack[GEMV_WEIGHTS])(uint32_t * to, const float *from, int I) = {pack_fp32, pack_bf16,
                                                                                        pack_int8};
    const size_t vectors = gemv_vectors(weights, I);
    memset(to, 0, (size_t)rows * vectors * sizeof(uint32_t));
    for (int r = 0; r < rows; r++)
        if (order[r] >= 0)
            pack[weights]((uint32_t *)to + (size_t)(r / GEMV_LANES) * vectors * GEMV_LANES + r % GEMV_LANES,
                          weight + (size_t)order[r] * stride, I);
}
