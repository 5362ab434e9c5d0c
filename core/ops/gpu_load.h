/* The CUDA backend, loaded when it is first asked for: libtaper_gpu.so, found beside the program or named by the
 * environment variable TAPER_GPU_LIB. The program itself never links CUDA. Not thread-safe. */
#ifndef TAPER_CORE_OPS_GPU_LOAD_H
#define TAPER_CORE_OPS_GPU_LOAD_H

#include "core/ops/ops.h"

enum { GPU_ABI = 3, GPU_DEVICES_MOST = 64 };

struct gpu_device {
    char name[128], uuid[48]; /* "NVIDIA H200", "GPU-..." */
    int major, minor;         /* compute capability */
    int multiprocessors;
    size_t total_bytes, free_bytes;
};

/* What the library exports, as the function taper_gpu_library. */
struct gpu_library {
    uint32_t abi, library_bytes, ops_bytes; /* GPU_ABI, sizeof(struct gpu_library), sizeof(struct ops) */
    const char *build;                      /* versions of CUDA and cuDNN it was built with */
    const struct ops *ops;

    /* The visible devices, at most `room`. STATUS_FAILED says why there are none. */
    int (*devices)(struct gpu_device *out, int room, int *count, struct error *err);
    /* Memory of a backend's device. */
    void (*memory)(struct backend *be, size_t *free_bytes, size_t *total_bytes);
};

typedef const struct gpu_library *gpu_library_function(void);

/* The library, loaded at the first call. STATUS_FAILED: this build has none. STATUS_BAD_INPUT: it is not where
 * TAPER_GPU_LIB says, or does not fit this program. The text says what is missing. */
int gpu_load(const struct gpu_library **out, struct error *err);

/* Load a given file, never the one already loaded; what gpu_load does underneath. */
int gpu_load_from(const char *path, const struct gpu_library **out, struct error *err);

/* The visible GPUs, for listing; at most `room`. A failure's text says what is missing. */
int gpu_describe(struct gpu_device *out, int room, int *count, struct error *err);

#endif
