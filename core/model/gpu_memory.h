/* How much memory a run takes on a GPU, worked out before it starts. */
#ifndef TAPER_CORE_MODEL_GPU_MEMORY_H
#define TAPER_CORE_MODEL_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/base/error.h"

/* Bytes. */
struct gpu_memory {
    size_t parameters;  /* parameters, gradients, moments, bf16 copies */
    size_t activations; /* of a training step, and its batches */
    size_t evaluation;  /* of an evaluation, which comes while the step's are kept */
    size_t scratch;     /* the backend's own: logits, attention, libraries */
    size_t total;
};

/* A finished configuration in training; half: in bf16. An upper estimate: a run takes this or somewhat less. */
struct gpu_memory gpu_memory_need(const struct config *cfg, bool half);

/* "out of memory: ", with the numbers, when the need exceeds what is free: STATUS_MEMORY, since another time
 * or another device may do. */
int gpu_memory_check(const struct config *cfg, bool half, size_t free_bytes, size_t total_bytes, struct error *err);

#endif
