/* Attention on the device: plans by shape, made when first asked for. */
#include <stdlib.h>

#include "core/base/memory.h"
#include "gpu/device_cuda.h"
#include "gpu/plan_cuda.h"

struct attention_plan {
    struct attention_shape shape;
    bool backward;
    struct cudnn_plan *plan;
};

struct plan_cache {
    struct attention_plan **at; /* each stays where it is: callers hold them */
    int count;
};

/* cuDNN takes a while to load, and a run in fp32 does without. */
static bool open_cudnn(struct device *d)
{
    if (d->dnn)
        return true;
    cudnnStatus_t status = cudnnCreate(&d->dnn);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnSetStream(d->dnn, d->stream);
    if (status != CUDNN_STATUS_SUCCESS)
        device_fail(d, "cudnnCreate: %s", cudnnGetErrorString(status));
    return status == CUDNN_STATUS_SUCCESS;
}

static struct attention_plan *make_plan(struct device *d, const struct attention_shape *shape, bool backward)
{
    struct attention_graph graph;
    struct error err = {0};
    struct attention_plan *p = memory_alloc(1, sizeof *p);
    *p = (struct attention_plan){.shape = *shape, .backward = backward};
    if (backward)
        attention_graph_backward(&graph, shape, d->deterministic);
    else
        attention_graph_forward(&graph, shape);
    if (cudnn_plan_create(&p->plan, &graph, d->dnn, NULL, d->deterministic, &err)) {
        device_fail(d, "%s (B %d, T %d, H %d, D %d)", err.text, shape->B, shape->T, shape->H, shape->D);
        free(p);
        return NULL;
    }
    return p;
}

struct attention_plan *device_attention_plan(struct device *d, const struct attention_shape *shape, bool backward)
{
    if (device_failed(d))
        return NULL;
    if (!d->plans)
        d->plans = memory_alloc(1, sizeof *d->plans);
    struct plan_cache *c = d->plans;
    for (int i = 0; i < c->count; i++) {
        const struct attention_shape *s = &c->at[i]->shape;
        if (c->at[i]->backward == backward && s->B == shape->B && s->T == shape->T && s->H == shape->H &&
            s->D == shape->D)
            return c->at[i];
    }
    if (d->capturing) {
        device_fail(d, "an attention plan made while recording");
        return NULL;
    }
    struct attention_plan *p = open_cudnn(d) ? make_plan(d, shape, backward) : NULL;
    if (p) {
        c->at = memory_resize(c->at, (size_t)c->count + 1, sizeof *c->at);
        c->at[c->count++] = p;
    }
    return p;
}

size_t device_attention_workspace(const struct attention_plan *p)
{
    return cudnn_plan_workspace(p->plan);
}

void device_attention_run(struct device *d, struct attention_plan *p, void *const memory[ATTENTION_TENSORS],
                          void *workspace)
{
    const struct attention_shape *s = &p->shape;
    struct error err = {0};
    if (device_failed(d))
        return;
    if (cudnn_plan_names(p->plan, ATTENTION_DQ_SUM))
        device_zero(d, memory[ATTENTION_DQ_SUM],
                    (size_t)s->B * (size_t)s->H * (size_t)s->T * (size_t)s->D * sizeof(float));
    if (cudnn_plan_run(p->plan, d->dnn, memory, workspace, &err))
        device_fail(d, "%s", err.text);
}

void plans_free(struct device *d)
{
    for (int i = 0; d->plans && i < d->plans->count; i++) {
        cudnn_plan_destroy(d->plans->at[i]->plan);
        free(d->plans->at[i]);
    }
    if (d->plans)
        free(d->plans->at);
    free(d->plans);
    d->plans = NULL;
    if (d->dnn)
        cudnnDestroy(d->dnn);
    d->dnn = NULL;
}
