/* How many rows of logits the GPU's head works on at a time: shared by the backend and the estimate of its memory. */
#ifndef TAPER_CORE_OPS_GPU_LOGITS_H
#define TAPER_CORE_OPS_GPU_LOGITS_H

#include <stddef.h>

/* Of N rows that are `stride` floats apart, before a weight of width C. At least 1 for any N above 0. */
size_t gpu_logit_rows(size_t N, size_t C, size_t stride);

#endif
