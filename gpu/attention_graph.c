#include "gpu/attention_graph.h"

#include <assert.h>
#include <string.h>

bool attention_graph_supports(int D)
{
    return D >= 8 && D <= 128 && D % 8 == 0;
}

/* ------------------------------------------------------------------------------------------ building */

static int add_tensor(struct attention_graph *g, int64_t id, enum graph_type type, const int64_t dim[4],
                      const int64_t stride[4])
{
    assert(g->tensor_count < GRAPH_TENSORS);
    struct graph_tensor *t = &g->tensors[g->tensor_count];
    *t = (struct graph_tensor){.id = id, .type = type};
    memcpy(t->dim, dim, sizeof t->dim);
    memcpy(t->stride, stride, sizeof t->stride);
    return g->tensor_count++;
}

static int64_t next_virtual(const struct attention_graph *g)
{
    return ATTENTION_VIRTUAL + g->tensor_count;
}

/* Dense [B,H,rows,columns]. */
static int dense(struct attention_graph *g, int64_t id, enum graph_type type, const struct attention_shape *s, int rows,
                 int columns)
{
    const int64_t dim[4] = {s->B, s->H, rows, columns};
    const int64_t stride[4] = {(int64_t)s->H * rows * columns, (int64_t)rows * columns, columns, 1};
    return add_tensor(g, id, type, dim, stride);
}

static int temporary(struct attention_graph *g, enum graph_type type, const struct attention_shape *s, int rows,
                     int columns)
{
    return dense(g, next_virtual(g), type, s, rows, columns);
}

/* A [T,T] matrix whose memory order is transposed. */
static int temporary_transposed(struct attention_graph *g, const struct attention_shape *s)
{
    const int64_t T = s->T, dim[4] = {s->B, s->H, T, T}, stride[4] = {s->H * T * T, T * T, 1, T};
    return add_tensor(g, next_virtual(g), GRAPH_BF16, dim, stride);
}

static int scalar(struct attention_graph *g, int64_t id)
{
    const int64_t ones[4] = {1, 1, 1, 1};
    int at = add_tensor(g, id, GRAPH_F32, ones, ones);
    g->tensors[at].by_value = true;
    return at;
}

/* A part of a tensor [B,T,parts,H,D], as [B,H,T,D] or, transposed, as [B,H,D,T]. */
static int part(struct attention_graph *g, int64_t id, const struct attention_shape *s, int parts, bool transposed)
{
    const int64_t row = (int64_t)parts * s->H * s->D, batch = row * s->T;
    const int64_t dim[4] = {s->B, s->H, transposed ? s->D : s->T, transposed ? s->T : s->D};
    const int64_t stride[4] = {batch, s->D, transposed ? 1 : row, transposed ? row : 1};
    return add_tensor(g, id, GRAPH_BF16, dim, stride);
}

static int add_node(struct attention_graph *g, enum graph_op op, int x, int b, int t, int y)
{
    assert(g->node_count < GRAPH_NODES);
    g->nodes[g->node_count++] = (struct graph_node){.op = op, .axis = -1, .x = x, .b = b, .t = t, .y = y};
    return y;
}

static int node(struct attention_graph *g, enum graph_op op, int x, int b, int y)
{
    return add_node(g, op, x, b, -1, y);
}

static int index_along(struct attention_graph *g, const struct attention_shape *s, int like, int axis)
{
    int y = node(g, GRAPH_INDEX, like, -1, temporary(g, GRAPH_I32, s, s->T, s->T));
    g->nodes[g->node_count - 1].axis = axis;
    return y;
}

/* scores where column <= row, else -infinity. */
static int causal(struct attention_graph *g, const struct attention_shape *s, int scores)
{
    int row = index_along(g, s, scores, 2), column = index_along(g, s, scores, 3);
    int seen = node(g, GRAPH_AT_LEAST, row, column, temporary(g, GRAPH_BOOL, s, s->T, s->T));
    return add_node(g, GRAPH_SELECT, scores, scalar(g, ATTENTION_MASKED), seen, temporary(g, GRAPH_F32, s, s->T, s->T));
}

/* ------------------------------------------------------------------------------------------- graphs */

void attention_graph_forward(struct attention_graph *g, const struct attention_shape *s)
{
    const int T = s->T;
    *g = (struct attention_graph){.tensor_count = 0};
    int q = part(g, ATTENTION_Q, s, 3, false), k = part(g, ATTENTION_K, s, 3, true),
        v = part(g, ATTENTION_V, s, 3, false);
    int product = node(g, GRAPH_MATMUL, q, k, temporary(g, GRAPH_F32, s, T, T));
    int scaled = node(g, GRAPH_MUL, product, scalar(g, ATTENTION_SCALE), temporary(g, GRAPH_F32, s, T, T));
    int scores = causal(g, s, scaled);
    int most = node(g, GRAPH_MAX, scores, -1, temporary(g, GRAPH_F32, s, T, 1));
    int shifted = node(g, GRAPH_SUB, scores, most, temporary(g, GRAPH_F32, s, T, T));
    int e = node(g, GRAPH_EXP, shifted, -1, temporary(g, GRAPH_F32, s, T, T));
    int sum = node(g, GRAPH_SUM, e, -1, temporary(g, GRAPH_F32, s, T, 1));
    int log_sum = node(g, GRAPH_LOG, sum, -1, temporary(g, GRAPH_F32, s, T, 1));
    node(g, GRAPH_ADD, most, log_sum, dense(g, ATTENTION_LSE, GRAPH_F32, s, T, 1));
    int p = node(g, GRAPH_DIV, e, sum, temporary(g, GRAPH_BF16, s, T, T));
    node(g, GRAPH_MATMUL, p, v, part(g, ATTENTION_OUT, s, 1, false));
}

/* P = exp(scores - lse). With sum = sum_d dout out: dS = P (dout v^T - sum) / sqrt(D). */
void attention_graph_backward(struct attention_graph *g, const struct attention_shape *s, bool deterministic)
{
    const int T = s->T, D = s->D;
    *g = (struct attention_graph){.tensor_count = 0};
    int q = part(g, ATTENTION_Q, s, 3, false), k = part(g, ATTENTION_K, s, 3, true),
        v = part(g, ATTENTION_V, s, 3, true);
    int out = part(g, ATTENTION_OUT, s, 1, false), dout = part(g, ATTENTION_DOUT, s, 1, false);
    int lse = dense(g, ATTENTION_LSE, GRAPH_F32, s, T, 1), scale = scalar(g, ATTENTION_SCALE);
    int along = node(g, GRAPH_MUL, dout, out, temporary(g, GRAPH_F32, s, T, D));
    int total = node(g, GRAPH_SUM, along, -1, temporary(g, GRAPH_F32, s, T, 1));
    int sum = node(g, GRAPH_MUL, total, scalar(g, ATTENTION_ONE), dense(g, ATTENTION_SUM, GRAPH_F32, s, T, 1));

    int product = node(g, GRAPH_MATMUL, q, k, temporary(g, GRAPH_F32, s, T, T));
    int scaled = node(g, GRAPH_MUL, product, scale, temporary(g, GRAPH_F32, s, T, T));
    int shifted = node(g, GRAPH_SUB, scaled, lse, temporary(g, GRAPH_F32, s, T, T));
    int p = node(g, GRAPH_EXP, causal(g, s, shifted), -1, temporary(g, GRAPH_F32, s, T, T));
    int p_transposed = node(g, GRAPH_TRANSPOSE, p, -1, temporary_transposed(g, s));
    node(g, GRAPH_MATMUL, p_transposed, dout, part(g, ATTENTION_DV, s, 3, false));

    int dp = node(g, GRAPH_MATMUL, dout, v, temporary(g, GRAPH_F32, s, T, T));
    int centred = node(g, GRAPH_SUB, dp, sum, temporary(g, GRAPH_F32, s, T, T));
    int weighted = node(g, GRAPH_MUL, centred, p, temporary(g, GRAPH_F32, s, T, T));
    int ds = node(g, GRAPH_MUL, weighted, scale, temporary(g, GRAPH_F32, s, T, T));
    int ds_transposed = node(g, GRAPH_TRANSPOSE, ds, -1, temporary_transposed(g, s));
    node(g, GRAPH_MATMUL, ds_transposed, q, part(g, ATTENTION_DK, s, 3, false));

    int k_rows = node(g, GRAPH_TRANSPOSE, k, -1, part(g, next_virtual(g), s, 3, false));
    int dq = part(g, ATTENTION_DQ, s, 3, false);
    if (deterministic) {
        node(g, GRAPH_MATMUL, ds, k_rows, dq);
    } else {
        int gathered = node(g, GRAPH_MATMUL, ds, k_rows, dense(g, ATTENTION_DQ_SUM, GRAPH_F32, s, T, D));
        node(g, GRAPH_IDENTITY, gathered, -1, dq);
    }
}
