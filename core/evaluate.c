#include "core/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/schedule.h"
#include "core/transformer.h"

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

/* The head's bias, which the ops do not know: a folded final LayerNorm leaves one. Memory is NULL without it. */
struct biased_head {
    float *device_logits; /* [N,V], backend */
    float *logits, *bias; /* [N,V], [V], host */
};

static int biased_open(struct biased_head *b, const struct model *m, int N, struct error *err)
{
    size_t V = (size_t)m->cfg.vocab;
    *b = (struct biased_head){0};
    if (m->table.head_bias == NO_PARAM)
        return STATUS_OK;
    b->device_logits = m->ops->alloc(m->be, (size_t)N * V * sizeof *b->device_logits, err);
    if (!b->device_logits)
        return error_wrap(err, "logits of %d tokens", N);
    b->logits = memory_alloc((size_t)N * V, sizeof *b->logits);
    b->bias = memory_alloc(V, sizeof *b->bias);
    m->ops->download(m->be, b->bias, model_row(m, m->params, m->table.head_bias), V * sizeof *b->bias);
    return STATUS_OK;
}

static void biased_close(struct biased_head *b, const struct model *m)
{
    if (b->device_logits)
        m->ops->release(m->be, b->device_logits);
    free(b->logits);
    free(b->bias);
}

/* ce = logsumexp(z + bias) - (z + bias)_target, over the rows that have a target. */
static void biased_losses(const struct biased_head *b, const struct model *m, const int32_t *targets, float *ce, int N)
{
    size_t V = (size_t)m->cfg.vocab;
    m->ops->download(m->be, b->logits, b->device_logits, (size_t)N * V * sizeof *b->logits);
    for (int n = 0; n < N; n++) {
        const float *z = b->logits + (size_t)n * V;
        double most = -INFINITY, sum = 0;
        ce[n] = 0;
        if (targets[n] < 0)
            continue;
        for (size_t v = 0; v < V; v++)
            most = fmax(most, (double)z[v] + (double)b->bias[v]);
        for (size_t v = 0; v < V; v++)
            sum += exp((double)z[v] + (double)b->bias[v] - most);
        ce[n] = (float)(most + log(sum) - (double)z[targets[n]] - (double)b->bias[targets[n]]);
    }
}

int evaluate(struct model *m, const struct tokens *tokens, double gate, int batch, int64_t most,
             const volatile sig_atomic_t *stop, struct evaluation *out, struct error *err)
{
    struct activations a;
    int64_t end = (int64_t)tokens->count - 1;
    if (most > 0 && most < end)
        end = most;
    int status = activations_create(&a, m, batch, (int)m->cfg.context, false, err);
    if (status)
        return error_wrap(err, "evaluation");
    struct biased_head head;
    status = biased_open(&head, m, a.N, err);
    if (status) {
        activations_destroy(&a, m);
        return error_wrap(err, "evaluation");
    }
    struct step_scalars scalars = {.gate = (float)gate};
    struct pass pass = {.phase = schedule_phase(gate), .grad_scale = 1, .logits = head.device_logits};
    int32_t *inputs = memory_alloc((size_t)a.N, sizeof *inputs), *targets = memory_alloc((size_t)a.N, sizeof *targets);
    float *ce = memory_alloc((size_t)a.N, sizeof *ce);
    double sum = 0;
    model_set_scalars(m, &scalars);
    for (int64_t first = 0; first < end && !(stop && *stop); first += a.N) {
        fill(tokens, &a, first, end, inputs, targets);
        m->ops->upload(m->be, a.tokens, inputs, (size_t)a.N * sizeof *inputs);
        m->ops->upload(m->be, a.targets, targets, (size_t)a.N * sizeof *targets);
        transformer_pass(m, &a, &pass);
        if (head.bias)
            biased_losses(&head, m, targets, ce, a.N);
        else
            m->ops->download(m->be, ce, a.ce, (size_t)a.N * sizeof *ce);
        for (int i = 0; i < a.N; i++)
            sum += (double)ce[i];
    }
    status = m->ops->sync(m->be, err);
    if (!status && stop && *stop)
        status = error_set(err, STATUS_STOPPED, "stopped while evaluating");
    *out = (struct evaluation){.loss = sum / (double)end, .tokens = end};
    free(inputs);
    free(targets);
    free(ce);
    biased_close(&head, m);
    activations_destroy(&a, m);
    return status;
}
