/* Runs an attention graph (gpu/attention_graph.h) node by node on the CPU, in fp32: what cuDNN is asked for, done
 * plainly. Tensors of type bf16 are rounded as they are written, virtual ones too. */
#ifndef TAPER_TESTS_GPU_INTERPRET_H
#define TAPER_TESTS_GPU_INTERPRET_H

#include "gpu/attention_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* memory: by enum attention_tensor, bf16 or fp32 as the graph's table says. NULL when all went well, else what is wrong
 * with the graph. */
const char *interpret(const struct attention_graph *g, void *const memory[ATTENTION_TENSORS]);

#ifdef __cplusplus
}
#endif

#endif
