/* What libtaper_gpu.so exports. */
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "core/ops/gpu_load.h"
#include "gpu/backend.h"
#include "gpu/device_cuda.h"

#define TEXT(x)    TEXT_OF(x)
#define TEXT_OF(x) #x

static void free_memory(struct backend *be, size_t *free_bytes, size_t *total_bytes)
{
    device_memory(be->device, free_bytes, total_bytes);
}

__attribute__((visibility("default"))) gpu_library_function taper_gpu_library;

const struct gpu_library *taper_gpu_library(void)
{
    static struct gpu_library library = {
        .abi = GPU_ABI,
        .library_bytes = sizeof library,
        .ops_bytes = sizeof(struct ops),
        .build = "CUDA runtime " TEXT(CUDART_VERSION) ", cuDNN " TEXT(CUDNN_MAJOR) "." TEXT(CUDNN_MINOR),
        .devices = gpu_list_devices,
        .memory = free_memory,
    };
    library.ops = gpu_ops_table();
    return &library;
}
