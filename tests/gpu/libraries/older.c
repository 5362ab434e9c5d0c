/* A GPU library of another version. */
#include "core/ops/gpu_load.h"

gpu_library_function taper_gpu_library;

const struct gpu_library *taper_gpu_library(void)
{
    static const struct gpu_library library = {
        .abi = 42, .library_bytes = sizeof library, .ops_bytes = sizeof(struct ops)};
    return &library;
}
