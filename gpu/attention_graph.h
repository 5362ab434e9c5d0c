/* Causal attention as a table of elementary nodes: what cuDNN compiles into one kernel, and what the tests' interpreter
 * runs on the CPU. Tensors are 4-D [B,H,rows,columns]; q, k and v lie in one packed bf16 tensor [B,T,3,H,D]. */
#ifndef TAPER_GPU_ATTENTION_GRAPH_H
#define TAPER_GPU_ATTENTION_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* Tensors in memory; numbers of virtual ones follow. */
enum attention_tensor {
    ATTENTION_NONE,
    ATTENTION_Q, /* in the packed tensor: base, base + C, base + 2C */
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_OUT,    /* [B,T,H,D] bf16 */
    ATTENTION_LSE,    /* [B,H,T] fp32 */
    ATTENTION_SCALE,  /* 1/sqrt(D), by value */
    ATTENTION_MASKED, /* -infinity, by value */
    ATTENTION_ONE,    /* 1, by value */
    ATTENTION_DOUT,   /* as OUT */
    ATTENTION_DQ,     /* as Q, K, V */
    ATTENTION_DK,
    ATTENTION_DV,
    ATTENTION_SUM,    /* [B,H,T] fp32, scratch: sum dout out */
    ATTENTION_DQ_SUM, /* [B,H,T,D] fp32, zeroed scratch; only where dq is accumulated */
    ATTENTION_TENSORS,
    ATTENTION_VIRTUAL = 100
};

enum graph_type { GRAPH_BF16, GRAPH_F32, GRAPH_I32, GRAPH_BOOL };

enum graph_op {
    GRAPH_MATMUL,    /* y = x b */
    GRAPH_MAX,       /* y = max over columns of x */
    GRAPH_SUM,       /* y = sum over columns of x */
    GRAPH_TRANSPOSE, /* the same elements as x, read through y's strides */
    GRAPH_MUL,
    GRAPH_ADD,
    GRAPH_SUB,
    GRAPH_DIV,
    GRAPH_EXP,
    GRAPH_LOG,
    GRAPH_IDENTITY,
    GRAPH_INDEX,    /* y = the index along an axis */
    GRAPH_AT_LEAST, /* y = x >= b */
    GRAPH_SELECT    /* y = t ? x : b */
};

struct graph_tensor {
    int64_t id; /* enum attention_tensor, or ATTENTION_VIRTUAL + n */
    enum graph_type type;
    int64_t dim[4], stride[4]; /* in elements */
    bool by_value;
};

struct graph_node {
    enum graph_op op;
    int axis;       /* GRAPH_INDEX */
    int x, b, t, y; /* rows of the tensor table, -1: none */
};

enum { GRAPH_TENSORS = 48, GRAPH_NODES = 32 };

struct attention_graph {
    struct graph_tensor tensors[GRAPH_TENSORS];
    struct graph_node nodes[GRAPH_NODES];
    int tensor_count, node_count;
};

struct attention_shape {
    int B, T, H, D;
};

/* Head widths cuDNN has kernels for: multiples of 8 up to 128. */
bool attention_graph_supports(int D);

/* out and lse from q, k, v. */
void attention_graph_forward(struct attention_graph *g, const struct attention_shape *s);

/* dq, dk, dv from q, k, v, out, lse, dout. Deterministic: dq is written by a matrix product (workspace of B*H*T*T*2
 * bytes), else it is accumulated in ATTENTION_DQ_SUM, in an order that changes from run to run. */
void attention_graph_backward(struct attention_graph *g, const struct attention_shape *s, bool deterministic);

#endif
