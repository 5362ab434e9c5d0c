/* Loss over a token file in non-overlapping windows: every token but the first is a target once. */
#ifndef TAPER_CORE_TRAIN_EVALUATE_H
#define TAPER_CORE_TRAIN_EVALUATE_H

#include <stdatomic.h>

#include "core/data/tokens.h"
#include "core/model/model.h"

struct evaluation {
    double loss;    /* mean cross-entropy, nats a token */
    int64_t tokens; /* targets counted */
};

/* Evaluate the model as its sites stand, `batch` windows of cfg.context tokens at a time, the first `most` targets (0:
 * all). The last window is padded, and its padding not counted. The aux loss is never included. tokens->count must be
 * above 1. STATUS_STOPPED, without a loss, once *stop is not zero (looked at between batches; NULL: never). */
int evaluate(struct model *m, const struct tokens *tokens, int batch, int64_t most, const atomic_int *stop,
             struct evaluation *out, struct error *err);

#endif
