/* An attention graph as a cuDNN execution plan, by cuDNN's C backend interface.
 *
 * The descriptors are made from the graph's own table. A plan is built for the device of a handle, or, without one, for
 * a device described by properties (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR): that needs no GPU, and the tests do it. */
#ifndef TAPER_GPU_PLAN_CUDA_H
#define TAPER_GPU_PLAN_CUDA_H

#include <cudnn.h>

#include "core/base/error.h"
#include "gpu/attention_graph.h"

struct cudnn_plan;

/* handle or properties, the other one NULL. deterministic: engines that say they are not are passed over. */
int cudnn_plan_create(struct cudnn_plan **out, const struct attention_graph *g, cudnnHandle_t handle,
                      cudnnBackendDescriptor_t properties, bool deterministic, struct error *err);
void cudnn_plan_destroy(struct cudnn_plan *p); /* NULL is fine */

size_t cudnn_plan_workspace(const struct cudnn_plan *p); /* bytes */

/* Does the graph have this tensor in memory? */
bool cudnn_plan_names(const struct cudnn_plan *p, enum attention_tensor tensor);

/* Enqueue on the handle's stream. memory: by enum attention_tensor. */
int cudnn_plan_run(struct cudnn_plan *p, cudnnHandle_t handle, void *const memory[ATTENTION_TENSORS], void *workspace,
                   struct error *err);

#endif
