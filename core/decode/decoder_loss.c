#include "core/decode/decoder_loss.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"

/* -log softmax(logits)[target]. */
static double cross_entropy(const float *logits, int vocab, int target)
{
    float most = logits[0];
    double sum = 0;
    for (int v = 1; v < vocab; v++)
        most = fmaxf(most, logits[v]);
    for (int v = 0; v < vocab; v++)
        sum += exp((double)(logits[v] - most));
    return log(sum) - (double)(logits[target] - most);
}

/* `windows` windows from token `first` on, in step; targets from `end` on do not count. */
static int read_windows(struct decoder *d, const struct tokens *tokens, int64_t first, int64_t end, int windows,
                        const struct config *cfg, int vocab, double *sum, struct error *err)
{
    int32_t *ids = memory_alloc((size_t)windows, sizeof *ids);
    int status = STATUS_OK;
    for (int b = 0; b < windows; b++)
        decoder_rewind(d, b, 0);
    for (int64_t t = 0; t < cfg->context && first + t < end && !status; t++) {
        for (int b = 0; b < windows; b++) {
            const int64_t at = first + b * cfg->context + t;
            ids[b] = at < end ? (int32_t)tokens_get(tokens, (uint64_t)at) : 0;
        }
        status = decoder_step(d, ids, windows, err);
        for (int b = 0; b < windows && !status; b++) {
            const int64_t at = first + b * cfg->context + t;
            if (at < end)
                *sum += cross_entropy(decoder_logits(d, b), vocab, (int)tokens_get(tokens, (uint64_t)at + 1));
        }
    }
    free(ids);
    return status;
}

int decoder_loss(const struct model *m, const struct decoder_options *options, const struct tokens *tokens,
                 int64_t most, int vocab, struct decoder_loss *out, struct error *err)
{
    const struct config *cfg = &m->cfg;
    struct decoder_options o = *options;
    struct decoder *d = NULL;
    int64_t end = (int64_t)tokens->count - 1;
    double sum = 0;
    if (most > 0 && most < end)
        end = most;
    o.context = (int)cfg->context;
    int status = decoder_create(&d, m, &o, err);
    for (int64_t first = 0; first < end && !status; first += o.batch * cfg->context) {
        const int64_t left = (end - first + cfg->context - 1) / cfg->context;
        status = read_windows(d, tokens, first, end, left < o.batch ? (int)left : o.batch, cfg,
                              vocab > 0 ? vocab : (int)cfg->vocab, &sum, err);
    }
    decoder_destroy(d);
    *out = (struct decoder_loss){.loss = sum / (double)end, .tokens = end};
    return status;
}
