/* Which GPUs a list of words means: what CUDA_VISIBLE_DEVICES leaves to this process, and what `--slots gpu:LIST`
 * names.
 *
 * A word is the number of a GPU in the driver's order, the id of one (GPU-...) or of a part (MIG-...), or the start of
 * an id that only one has. A GPU that is split stands for the first of its parts, as it does for CUDA. */
#ifndef TAPER_HARNESS_QUEUE_GPU_CHOICE_H
#define TAPER_HARNESS_QUEUE_GPU_CHOICE_H

#include "harness/queue/nvml.h"

/* CUDA's own rule. NULL: all are visible. Else those that are listed, up to the first word that means none (so "" and
 * "-1" hide all); a list that names one twice hides all. chosen: `count` flags. */
void gpu_choice_visible(const char *list, const struct nvml_device *devices, int count, bool *chosen);

/* Numbers may be ranges here ("0-3,6"). STATUS_BAD_INPUT names a word that means none of these, or one that is hidden
 * (visible: flags, as above). Only visible ones are chosen. */
int gpu_choice_listed(const char *list, const struct nvml_device *devices, int count, const bool *visible, bool *chosen,
                      struct error *err);

#endif
