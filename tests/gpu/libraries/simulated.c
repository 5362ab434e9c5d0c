/* A GPU library over the simulated device of the program that loads it, whose table the program gives. */
#include "core/ops/gpu_load.h"
#include "gpu/backend.h"
#include "tests/gpu/libraries/simulated.h"

gpu_library_function taper_gpu_library;

static int devices(struct gpu_device *out, int room, int *count, struct error *err)
{
    (void)out;
    (void)room;
    *count = 0;
    return error_set(err, STATUS_FAILED, "simulated");
}

static void memory(struct backend *be, size_t *free_bytes, size_t *total_bytes)
{
    device_memory(be->device, free_bytes, total_bytes);
}

const struct gpu_library *taper_gpu_library(void)
{
    static struct gpu_library library = {.abi = GPU_ABI,
                                         .library_bytes = sizeof library,
                                         .ops_bytes = sizeof(struct ops),
                                         .build = "simulated",
                                         .devices = devices,
                                         .memory = memory};
    library.ops = simulated_ops();
    return &library;
}
