#include "core/train/evaluate.h"

#include <stdlib.h>

#include "core/base/memory.h"
#include "core/model/transformer.h"

/* Windows from `first` on, into tokens and targets [B][T]; targets past `end` are -1 and do not count. */
static void fill(const struct tokens *tokens, const struct activations *a, int64_t first, int64_t end, int32_t *inputs,
                 int32_t *targets)
{
    for (int i = 0; i < a->N; i++) {
        int64_t at = first + i; /* non-overlapping windows lie one after the other */
        bool counts = at < end;
        inputs[i] = counts ? (int32_t)tokens_get(tokens, (uint64_t)at) : 0;
        targets[i] = counts ? (int32_t)tokens_get(tokens, (uint64_t)at + 1) : -1;
    }
}

int evaluate(struct model *m, const struct tokens *tokens, int batch, int64_t most, const atomic_int *stop,
             struct evaluation *out, struct error *err)
{
    struct activations a;
    int64_t end = (int64_t)tokens->count - 1;
    if (most > 0 && most < end)
        end = most;
    int status = activations_create(&a, m, batch, (int)m->cfg.context, false, err);
    if (status)
        return error_wrap(err, "evaluation");
    struct pass pass = {.grad_scale = 1};
    int32_t *inputs = memory_alloc((size_t)a.N, sizeof *inputs), *targets = memory_alloc((size_t)a.N, sizeof *targets);
    float *ce = memory_alloc((size_t)a.N, sizeof *ce);
    double sum = 0;
    for (int64_t first = 0; first < end && !(stop && atomic_load(stop)); first += a.N) {
        fill(tokens, &a, first, end, inputs, targets);
        m->ops->upload(m->be, a.tokens, inputs, (size_t)a.N * sizeof *inputs);
        m->ops->upload(m->be, a.targets, targets, (size_t)a.N * sizeof *targets);
        transformer_pass(m, &a, &pass);
        m->ops->download(m->be, ce, a.ce, (size_t)a.N * sizeof *ce);
        for (int i = 0; i < a.N; i++)
            sum += (double)ce[i];
    }
    status = m->ops->sync(m->be, err);
    if (!status && stop && atomic_load(stop))
        status = error_set(err, STATUS_STOPPED, "stopped while evaluating");
    *out = (struct evaluation){.loss = sum / (double)end, .tokens = end};
    free(inputs);
    free(targets);
    free(ce);
    activations_destroy(&a, m);
    return status;
}
