#include "core/cpu/kernels.h"

#include "core/cpu/kernels_levels.h"

const struct kernels *kernels_level(int i)
{
#if defined(__x86_64__)
    if (i == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        return &kernels_avx512;
    if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return i == 2 ? &kernels_base : NULL;
}

const struct kernels *kernels_best(void)
{
    for (int i = 0; i < KERNEL_LEVELS; i++)
        if (kernels_level(i))
            return kernels_level(i);
    return &kernels_base;
}

size_t attention_stride(int keys)
{
    enum { MOST_PAST = 32, LINE = 16 }; /* a panel's or a group's excess, and a vector's */
    size_t floats = ((size_t)keys + MOST_PAST + LINE - 1) / LINE * LINE;
    return floats % 256 == 0 ? floats + LINE : floats;
}
