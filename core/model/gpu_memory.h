/* How much memory a run takes on a GPU, worked out before it starts. */
#ifndef TAPER_CORE_MODEL_GPU_MEMORY_H
#define TAPER_CORE_MODEL_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/base/error.h"

/* Of a process, whatever its runs: what is there before anything is allocated, and kernels that are loaded when they
 * are first used. Guesses on the safe side, not measured. */
enum { GPU_MEMORY_CONTEXT = 512 << 20, GPU_MEMORY_KERNELS = 256 << 20 };

/* Bytes of a run. */
struct gpu_memory {
    size_t parameters;  /* parameters, gradients, moments, bf16 copies */
    size_t activations; /* of a training step, and its batches */
    size_t evaluation;  /* of an evaluation, or of the sample, which come while the step's are kept */
    size_t scratch;     /* the backend's own: pieces of scratch, workspaces */
    size_t total;
};

/* A finished configuration in training; half: in bf16. An upper estimate: a run takes this or somewhat less, and its
 * process GPU_MEMORY_CONTEXT and GPU_MEMORY_KERNELS besides. */
struct gpu_memory gpu_memory_need(const struct config *cfg, bool half);

/* Whether a run can start in a process that has its context: its need and the kernels against what is free. "out of
 * memory: ", with the numbers: STATUS_MEMORY, since another time or another device may do. */
int gpu_memory_check(const struct config *cfg, bool half, size_t free_bytes, size_t total_bytes, struct error *err);

/* Whether a run, alone in its process, can ever be on a device of so many bytes: STATUS_BAD_INPUT with the numbers. */
int gpu_memory_fits(const struct config *cfg, bool half, size_t largest, struct error *err);

#endif
