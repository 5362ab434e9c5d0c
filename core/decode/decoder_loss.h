/* The loss a decoder has over a token file: what rounded weights cost, where it matters. */
#ifndef TAPER_CORE_DECODE_DECODER_LOSS_H
#define TAPER_CORE_DECODE_DECODER_LOSS_H

#include "core/data/tokens.h"
#include "core/decode/decoder.h"

struct decoder_loss {
    double loss;    /* mean cross-entropy, nats a token */
    int64_t tokens; /* targets counted */
};

/* Over the windows that evaluate() (core/train/evaluate.h) reads, cfg.context tokens each, `batch` of them side by
 * side, the first `most` targets (0: all); a token at a time, as in use, so many times slower than evaluate(). Of
 * logits only the first `vocab` count (0: the model's). tokens->count must be above 1. Errors as decoder_create's. */
int decoder_loss(const struct model *m, const struct decoder_options *options, const struct tokens *tokens,
                 int64_t most, int vocab, struct decoder_loss *out, struct error *err);

#endif
