#include "tests/gpu/faulty.h"

#include "tests/gpu/cpu_dialect.h"

enum { THREADS = 256 };

__global__ static void reverse(enum faulty_kernel kernel, float *to, const float *from)
{
    SHARED_MEMORY(float, shared);
    int i = threadIdx.x;
    if (kernel == FAULTY_EARLY_RETURN && i >= 128)
        return;
    if (kernel != FAULTY_UNSET_SHARED || i != THREADS - 1)
        shared[kernel == FAULTY_SHARED_OVERRUN ? i + 64 : i] = from[i];
    if (kernel == FAULTY_DIVERGENT_BARRIER && i >= 128)
        to[i] = 0;
    else if (kernel != FAULTY_MISSING_BARRIER)
        __syncthreads();
    to[i] = shared[THREADS - 1 - i];
}

__global__ static void shuffle(enum faulty_kernel kernel, float *to, const float *from)
{
    int i = threadIdx.x;
    if (kernel == FAULTY_OWN_LANE)
        to[i] = __shfl_xor_sync(0xfffffffeu, from[i], 2);
    else if (i % 32 < 16)
        to[i] = __shfl_xor_sync(0xffffffffu, from[i], 1);
    else if (kernel == FAULTY_WAITS)
        __syncthreads();
}

extern "C" void faulty_run(enum faulty_kernel kernel, float *to, const float *from)
{
    bool shuffles = kernel == FAULTY_ABSENT_LANES || kernel == FAULTY_OWN_LANE || kernel == FAULTY_WAITS;
    dialect::run(dim3(1), dim3(THREADS), THREADS * sizeof(float), [=] {
        if (shuffles)
            shuffle(kernel, to, from);
        else
            reverse(kernel, to, from);
    });
}
