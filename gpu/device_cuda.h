/* The CUDA device's own state, shared by the files that implement gpu/device.h with CUDA. */
#ifndef TAPER_GPU_DEVICE_CUDA_H
#define TAPER_GPU_DEVICE_CUDA_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "gpu/device.h"
#include "core/ops/gpu_load.h"
#include "gpu/fault.h"

/* Uploads go through page-locked memory, so that the caller may go on at once: two halves, one filled while the other
 * is on its way. */
struct staging {
    char *memory;
    cudaEvent_t sent[2];
    bool pending[2];
    int half;
    size_t used;
};

struct matmul_cache;
struct plan_cache;

enum { EVENTS_MOST = 16 };

struct device {
    struct fault fault;
    int index;
    cudaStream_t stream, copies;
    bool capturing;
    void **memory; /* allocations */
    int memory_count, memory_room;
    cudaEvent_t events[EVENTS_MOST];
    void *host_memory[EVENTS_MOST];
    int event_count, host_count;
    struct staging staging;
    cublasLtHandle_t blas;
    void *blas_workspace;
    struct matmul_cache *products;
    cudnnHandle_t dnn; /* NULL until attention asks for it */
    struct plan_cache *plans;
    bool deterministic; /* attention backward */
    bool fuse;          /* products with epilogues of their own, where there are */
};

/* The library's list of devices. */
int gpu_list_devices(struct gpu_device *out, int room, int *count, struct error *err);

/* Keep a failed call. */
#define CUDA_TRY(d, call) device_keep(d, #call, call)
bool device_keep(struct device *d, const char *call, cudaError_t result);

void products_free(struct device *d);
void plans_free(struct device *d);

#endif
