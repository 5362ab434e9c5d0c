#include "tests/gpu/interpret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

/* A tensor of the table at work. */
struct value {
    const struct graph_tensor *t;
    void *memory; /* bf16 or fp32 */
    bool own;     /* a virtual one: ours */
};

static size_t extent(const struct graph_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    return (size_t)last + 1;
}

/* Axes of size 1 are spread over whatever the other tensor has. */
static size_t place(const struct graph_tensor *t, const int64_t at[4])
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += t->dim[i] == 1 ? 0 : at[i] * t->stride[i];
    return (size_t)sum;
}

static float read(const struct value *v, const int64_t at[4])
{
    size_t i = place(v->t, at);
    if (v->t->type != GRAPH_BF16)
        return ((const float *)v->memory)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)v->memory)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void write(const struct value *v, const int64_t at[4], float x)
{
    size_t i = place(v->t, at);
    uint32_t bits;
    if (v->t->type != GRAPH_BF16) {
        ((float *)v->memory)[i] = x;
        return;
    }
    memcpy(&bits, &x, sizeof bits);
    ((uint16_t *)v->memory)[i] = isnan(x) ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float matmul(const struct value *x, const struct value *b, const int64_t at[4])
{
    double sum = 0;
    for (int64_t k = 0; k < x->t->dim[3]; k++)
        sum += (double)read(x, (int64_t[]){at[0], at[1], at[2], k}) * read(b, (int64_t[]){at[0], at[1], k, at[3]});
    return (float)sum;
}

static float reduce(enum graph_op op, const struct value *x, const int64_t at[4])
{
    double result = op == GRAPH_MAX ? -INFINITY : 0;
    for (int64_t k = 0; k < x->t->dim[3]; k++) {
        double v = read(x, (int64_t[]){at[0], at[1], at[2], k});
        result = op == GRAPH_SUM ? result + v : isnan(v) || v > result ? v : result;
    }
    return (float)result;
}

static float element(const struct graph_node *n, const struct value *x, const struct value *b, const struct value *t,
                     const int64_t at[4])
{
    switch (n->op) {
    case GRAPH_MATMUL:
        return matmul(x, b, at);
    case GRAPH_MAX:
    case GRAPH_SUM:
        return reduce(n->op, x, at);
    case GRAPH_TRANSPOSE:
        return read(x, (int64_t[]){at[0], at[1], at[3], at[2]});
    case GRAPH_MUL:
        return read(x, at) * read(b, at);
    case GRAPH_ADD:
        return read(x, at) + read(b, at);
    case GRAPH_SUB:
        return read(x, at) - read(b, at);
    case GRAPH_DIV:
        return read(x, at) / read(b, at);
    case GRAPH_EXP:
        return expf(read(x, at));
    case GRAPH_LOG:
        return logf(read(x, at));
    case GRAPH_IDENTITY:
        return read(x, at);
    case GRAPH_INDEX:
        return (float)at[n->axis];
    case GRAPH_AT_LEAST:
        return read(x, at) >= read(b, at);
    case GRAPH_SELECT:
        return read(t, at) != 0 ? read(x, at) : read(b, at);
    }
    return NAN;
}

/* Do the shapes fit? Elementwise operands are as large as y, or 1 along an axis. */
static bool fits(const struct graph_node *n, const struct value *v)
{
    const int64_t *x = v[n->x].t->dim, *y = v[n->y].t->dim, *b = n->b < 0 ? NULL : v[n->b].t->dim;
    if (n->op == GRAPH_MATMUL)
        return x[3] == b[2] && y[2] == x[2] && y[3] == b[3];
    if (n->op == GRAPH_MAX || n->op == GRAPH_SUM)
        return y[2] == x[2] && y[3] == 1;
    if (n->op == GRAPH_TRANSPOSE)
        return y[2] == x[3] && y[3] == x[2];
    for (int i = 0; i < 4; i++)
        if ((x[i] != 1 && x[i] != y[i]) || (b && b[i] != 1 && b[i] != y[i]))
            return false;
    return n->op != GRAPH_INDEX || (n->axis >= 0 && n->axis < 4);
}

static void run_node(const struct graph_node *n, const struct value *v)
{
    const struct value *x = &v[n->x], *b = n->b < 0 ? NULL : &v[n->b], *t = n->t < 0 ? NULL : &v[n->t], *y = &v[n->y];
    const int64_t *dim = y->t->dim;
    int64_t at[4];
    for (at[0] = 0; at[0] < dim[0]; at[0]++)
        for (at[1] = 0; at[1] < dim[1]; at[1]++)
            for (at[2] = 0; at[2] < dim[2]; at[2]++)
                for (at[3] = 0; at[3] < dim[3]; at[3]++)
                    write(y, at, element(n, x, b, t, at));
}

const char *interpret(const struct attention_graph *g, void *const memory[ATTENTION_TENSORS])
{
    struct value values[GRAPH_TENSORS];
    const int64_t D = g->tensors[0].dim[3]; /* q comes first */
    float scale = (float)(1 / sqrt((double)D)), masked = -INFINITY, one = 1;
    const char *fault = NULL;
    for (int i = 0; i < g->tensor_count; i++) {
        const struct graph_tensor *t = &g->tensors[i];
        values[i] = (struct value){.t = t, .own = t->id >= ATTENTION_VIRTUAL};
        if (values[i].own)
            values[i].memory = memory_alloc(extent(t), sizeof(float));
        else if (t->by_value)
            values[i].memory = t->id == ATTENTION_SCALE ? &scale : t->id == ATTENTION_MASKED ? &masked : &one;
        else
            values[i].memory = memory[t->id];
        if (!values[i].memory)
            fault = "a tensor without memory";
    }
    for (int i = 0; i < g->node_count && !fault; i++)
        if (fits(&g->nodes[i], values))
            run_node(&g->nodes[i], values);
        else
            fault = "a node whose shapes do not fit";
    for (int i = 0; i < g->tensor_count; i++)
        if (values[i].own)
            free(values[i].memory);
    return fault;
}
