/* A GPU library whose dependency is not there, as CUDA's are not on most machines. */
#include "core/ops/gpu_load.h"

extern int cudaNothingOfThisName(void);
gpu_library_function taper_gpu_library;

const struct gpu_library *taper_gpu_library(void)
{
    static struct gpu_library library;
    library.abi = (unsigned)cudaNothingOfThisName();
    return &library;
}
