#include "gpu/plan_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { DESCRIPTORS = 160, ENGINES_MOST = 32, NOTES_MOST = 16 };

struct cudnn_plan {
    cudnnBackendDescriptor_t plan;
    int64_t workspace, ids[GRAPH_TENSORS]; /* ids of the tensors in memory and by value */
    int count;
    float scale, masked, one;
};

/* Descriptors under construction: all are destroyed in the end, the first failure stops the rest. */
struct builder {
    cudnnBackendDescriptor_t all[DESCRIPTORS];
    int count;
    struct error *err;
    int status;
};

static void keep(struct builder *b, const char *what, cudnnStatus_t result)
{
    char text[400] = "";
    if (result == CUDNN_STATUS_SUCCESS || b->status)
        return;
    cudnnGetLastErrorString(text, sizeof text);
    b->status = error_set(b->err, STATUS_FAILED, "cuDNN: %s: %s%s%s", what, cudnnGetErrorString(result),
                          *text ? ": " : "", text);
}

static cudnnBackendDescriptor_t make(struct builder *b, const char *what, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    if (b->count == DESCRIPTORS)
        b->status = error_set(b->err, STATUS_FAILED, "cuDNN: a graph of more than %d parts", DESCRIPTORS);
    if (!b->status)
        keep(b, what, cudnnBackendCreateDescriptor(type, &d));
    if (d)
        b->all[b->count++] = d;
    return d;
}

static void set(struct builder *b, const char *what, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *value)
{
    if (!b->status)
        keep(b, what, cudnnBackendSetAttribute(d, name, type, count, value));
}

static void finalize(struct builder *b, const char *what, cudnnBackendDescriptor_t d)
{
    if (!b->status)
        keep(b, what, cudnnBackendFinalize(d));
}

static void set_part(struct builder *b, const char *what, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnBackendDescriptor_t value)
{
    set(b, what, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

/* -------------------------------------------------------------------------------------- descriptors */

static cudnnDataType_t type_of(enum graph_type type)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, CUDNN_DATA_INT32,
                                            CUDNN_DATA_BOOLEAN};
    return types[type];
}

static cudnnBackendDescriptor_t tensor(struct builder *b, const struct graph_tensor *t)
{
    const char *what = "tensor";
    const cudnnDataType_t type = type_of(t->type);
    const int64_t alignment = 16;
    const bool yes = true;
    cudnnBackendDescriptor_t d = make(b, what, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(b, what, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &t->id);
    set(b, what, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(b, what, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    set(b, what, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->dim);
    set(b, what, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->stride);
    if (t->id >= ATTENTION_VIRTUAL)
        set(b, what, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (t->by_value)
        set(b, what, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
    finalize(b, what, d);
    return d;
}

static cudnnBackendDescriptor_t matmul(struct builder *b, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                                       cudnnBackendDescriptor_t z)
{
    const char *what = "matrix product";
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t m = make(b, what, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(b, what, m, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finalize(b, what, m);
    cudnnBackendDescriptor_t d = make(b, what, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, x);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, y);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, z);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, m);
    finalize(b, what, d);
    return d;
}

static cudnnBackendDescriptor_t reduction(struct builder *b, enum graph_op op, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t y)
{
    const char *what = "reduction";
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const cudnnReduceTensorOp_t how = op == GRAPH_MAX ? CUDNN_REDUCE_TENSOR_MAX : CUDNN_REDUCE_TENSOR_ADD;
    cudnnBackendDescriptor_t r = make(b, what, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(b, what, r, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    set(b, what, r, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finalize(b, what, r);
    cudnnBackendDescriptor_t d = make(b, what, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, r);
    finalize(b, what, d);
    return d;
}

static cudnnBackendDescriptor_t transpose(struct builder *b, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y)
{
    const char *what = "transpose";
    cudnnBackendDescriptor_t d = make(b, what, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finalize(b, what, d);
    return d;
}

static cudnnPointwiseMode_t mode_of(enum graph_op op)
{
    switch (op) {
    case GRAPH_MUL:
        return CUDNN_POINTWISE_MUL;
    case GRAPH_ADD:
        return CUDNN_POINTWISE_ADD;
    case GRAPH_SUB:
        return CUDNN_POINTWISE_SUB;
    case GRAPH_DIV:
        return CUDNN_POINTWISE_DIV;
    case GRAPH_EXP:
        return CUDNN_POINTWISE_EXP;
    case GRAPH_LOG:
        return CUDNN_POINTWISE_LOG;
    case GRAPH_INDEX:
        return CUDNN_POINTWISE_GEN_INDEX;
    case GRAPH_AT_LEAST:
        return CUDNN_POINTWISE_CMP_GE;
    case GRAPH_SELECT:
        return CUDNN_POINTWISE_BINARY_SELECT;
    default:
        return CUDNN_POINTWISE_IDENTITY;
    }
}

static cudnnBackendDescriptor_t pointwise(struct builder *b, const struct graph_node *n,
                                          const cudnnBackendDescriptor_t *t)
{
    const char *what = "elementwise operation";
    const cudnnPointwiseMode_t mode = mode_of(n->op);
    const cudnnDataType_t type = n->op == GRAPH_AT_LEAST ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT;
    const int64_t axis = n->axis;
    cudnnBackendDescriptor_t p = make(b, what, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(b, what, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(b, what, p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    if (axis >= 0)
        set(b, what, p, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    finalize(b, what, p);
    cudnnBackendDescriptor_t d = make(b, what, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, t[n->x]);
    if (n->b >= 0)
        set_part(b, what, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, t[n->b]);
    if (n->t >= 0)
        set_part(b, what, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t[n->t]);
    set_part(b, what, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, t[n->y]);
    finalize(b, what, d);
    return d;
}

static cudnnBackendDescriptor_t graph_of(struct builder *b, const struct attention_graph *g, cudnnHandle_t handle)
{
    cudnnBackendDescriptor_t tensors[GRAPH_TENSORS], nodes[GRAPH_NODES];
    for (int i = 0; i < g->tensor_count; i++)
        tensors[i] = tensor(b, &g->tensors[i]);
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (n->op == GRAPH_MATMUL)
            nodes[i] = matmul(b, tensors[n->x], tensors[n->b], tensors[n->y]);
        else if (n->op == GRAPH_MAX || n->op == GRAPH_SUM)
            nodes[i] = reduction(b, n->op, tensors[n->x], tensors[n->y]);
        else if (n->op == GRAPH_TRANSPOSE)
            nodes[i] = transpose(b, tensors[n->x], tensors[n->y]);
        else
            nodes[i] = pointwise(b, n, tensors);
    }
    cudnnBackendDescriptor_t d = make(b, "graph", CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(b, "graph", d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->node_count, nodes);
    if (handle)
        set(b, "graph", d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    finalize(b, "graph", d);
    return d;
}

/* -------------------------------------------------------------------------------------------- plans */

/* Does the engine of a configuration say that its results may differ from run to run? */
static bool wanders(struct builder *b, cudnnBackendDescriptor_t configuration)
{
    cudnnBackendNumericalNote_t notes[NOTES_MOST];
    cudnnBackendDescriptor_t engine = make(b, "engine", CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count = 0;
    if (b->status || cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                              1, &count, &engine) != CUDNN_STATUS_SUCCESS)
        return false;
    if (cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, NOTES_MOST,
                                 &count, notes) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < count && i < NOTES_MOST; i++)
        if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
            return true;
    return false;
}

/* The plan of a configuration, NULL when it does not come about; the reason stays in `why`. */
static cudnnBackendDescriptor_t plan_of(cudnnBackendDescriptor_t configuration, cudnnHandle_t handle,
                                        cudnnBackendDescriptor_t properties, struct error *why)
{
    struct builder b = {.err = why};
    cudnnBackendDescriptor_t plan = make(&b, "plan", CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set_part(&b, "plan", plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (handle)
        set(&b, "plan", plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    else
        set_part(&b, "plan", plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    finalize(&b, "plan", plan);
    if (b.status && plan) {
        cudnnBackendDestroyDescriptor(plan);
        plan = NULL;
    }
    return plan;
}

/* The first of the suggested engines whose plan comes about. */
static cudnnBackendDescriptor_t choose(struct builder *b, cudnnBackendDescriptor_t graph, cudnnHandle_t handle,
                                       cudnnBackendDescriptor_t properties, bool deterministic)
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t found[ENGINES_MOST], plan = NULL;
    cudnnBackendDescriptor_t h = make(b, "heuristics", CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    struct error why = {.text = "no engine was suggested"};
    int64_t count = 0;
    set_part(b, "heuristics", h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set(b, "heuristics", h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!handle)
        set_part(b, "heuristics", h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, properties);
    finalize(b, "heuristics", h);
    for (int i = 0; i < ENGINES_MOST; i++)
        found[i] = make(b, "engine configuration", CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!b->status)
        keep(b, "heuristics",
             cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, ENGINES_MOST,
                                      &count, found));
    for (int64_t i = 0; i < count && i < ENGINES_MOST && !plan && !b->status; i++)
        if (!deterministic || !wanders(b, found[i]))
            plan = plan_of(found[i], handle, properties, &why);
    if (!plan && !b->status)
        b->status = error_set(b->err, STATUS_FAILED, "cuDNN: none of %d engines takes the attention graph: %s",
                              (int)count, why.text);
    return plan;
}

int cudnn_plan_create(struct cudnn_plan **out, const struct attention_graph *g, cudnnHandle_t handle,
                      cudnnBackendDescriptor_t properties, bool deterministic, struct error *err)
{
    struct builder b = {.err = err};
    cudnnBackendDescriptor_t graph = graph_of(&b, g, handle), plan = NULL;
    if (!b.status)
        plan = choose(&b, graph, handle, properties, deterministic);
    if (plan) {
        struct cudnn_plan *p = memory_alloc(1, sizeof *p);
        int64_t count;
        *p = (struct cudnn_plan){.plan = plan, .masked = -INFINITY, .one = 1};
        p->scale = (float)(1 / sqrt((double)g->tensors[0].dim[3])); /* q comes first */
        for (int i = 0; i < g->tensor_count; i++)
            if (g->tensors[i].id < ATTENTION_VIRTUAL)
                p->ids[p->count++] = g->tensors[i].id;
        keep(&b, "plan",
             cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                      &p->workspace));
        *out = p;
        if (b.status)
            cudnn_plan_destroy(p);
    }
    while (b.count > 0)
        cudnnBackendDestroyDescriptor(b.all[--b.count]);
    return b.status;
}

void cudnn_plan_destroy(struct cudnn_plan *p)
{
    if (p)
        cudnnBackendDestroyDescriptor(p->plan);
    free(p);
}

size_t cudnn_plan_workspace(const struct cudnn_plan *p)
{
    return p->workspace > 0 ? (size_t)p->workspace : 0;
}

bool cudnn_plan_names(const struct cudnn_plan *p, enum attention_tensor tensor)
{
    for (int i = 0; i < p->count; i++)
        if (p->ids[i] == (int64_t)tensor)
            return true;
    return false;
}

int cudnn_plan_run(struct cudnn_plan *p, cudnnHandle_t handle, void *const memory[ATTENTION_TENSORS], void *workspace,
                   struct error *err)
{
    struct builder b = {.err = err};
    void *pointers[GRAPH_TENSORS];
    for (int i = 0; i < p->count; i++)
        pointers[i] = p->ids[i] == ATTENTION_SCALE    ? &p->scale
                      : p->ids[i] == ATTENTION_MASKED ? &p->masked
                      : p->ids[i] == ATTENTION_ONE    ? &p->one
                                                      : memory[p->ids[i]];
    cudnnBackendDescriptor_t pack = make(&b, "variant pack", CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&b, "variant pack", pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, p->count, pointers);
    set(&b, "variant pack", pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, p->count, p->ids);
    set(&b, "variant pack", pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    finalize(&b, "variant pack", pack);
    if (!b.status)
        keep(&b, "cudnnBackendExecute", cudnnBackendExecute(handle, p->plan, pack));
    while (b.count > 0)
        cudnnBackendDestroyDescriptor(b.all[--b.count]);
    return b.status;
}
