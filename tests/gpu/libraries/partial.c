/* A GPU library whose table has a gap. */
#include "core/ops/gpu_load.h"

gpu_library_function taper_gpu_library;

const struct gpu_library *taper_gpu_library(void)
{
    static const struct ops ops = {.name = "partial"};
    static const struct gpu_library library = {
        .abi = GPU_ABI, .library_bytes = sizeof library, .ops_bytes = sizeof(struct ops), .ops = &ops};
    return &library;
}
