/* What removing normalization is worth at inference: the same model timed in three variants, in one process, in turns.
 *
 *   baseline  every tapered site is a norm that is computed          y = x/s(x) * gamma (+ beta)
 *   unfused   it is an explicit scaling                              y = c * x * gamma_tilde (+ beta_tilde)
 *   fused     it is not there: the projections behind it hold it     y = h
 *
 * All three run on one model: the same weights in the same buffers through the same kernels. The weights are the folded
 * ones where the model folds, and gamma, gamma_tilde and c are 1, so that unfused and fused compute the very same. */
#ifndef TAPER_CORE_DECODE_BENCH_DECODE_H
#define TAPER_CORE_DECODE_BENCH_DECODE_H

#include "core/decode/decoder.h"

enum bench_kind { BENCH_DECODE, BENCH_LAST_TOKEN };
enum bench_variant { BENCH_BASELINE, BENCH_UNFUSED, BENCH_FUSED, BENCH_VARIANTS };

struct bench_options {
    int threads;                  /* decode: as decoder_options'; last-token: those of the model's backend */
    enum decoder_weights weights; /* decode on the CPU only */
    enum decoder_kind decoder;
    int repeats, warmups; /* of each variant; repeats at least 1 */
    int tokens;           /* decode: tokens timed in a repeat */
};

struct bench_time {
    double median, low, high; /* milliseconds; low and high are the quartiles */
};

struct bench_result {
    /* decode: of one token of every sequence. last-token: of one forward of all windows. */
    struct bench_time ms[BENCH_VARIANTS];
    double tokens_per_s[BENCH_VARIANTS]; /* decode: drawn, last-token: read; of all sequences, from the median */
    int repeats;
    struct decoder_traffic traffic; /* decode, of one sequence half way through the timed tokens */
    char device[96];
};

/* A copy of a model fit to be timed: sites `sites` (internal or all) tapered, vectors of ones. Weights are shared with
 * nobody. The caller destroys it. */
int bench_model_create(struct model *out, const struct model *from, enum taper_sites sites, struct error *err);

/* Decoding: `batch` sequences hold context - tokens tokens, and `tokens` more are decoded. 2 * tokens <= context. */
int bench_decode(struct model *m, const struct bench_options *o, int batch, int context, struct bench_result *out,
                 struct error *err);

/* The forward of `batch` windows of `context` tokens and the logits of their last tokens, over the model's ops. */
int bench_last_token(struct model *m, const struct bench_options *o, int batch, int context, struct bench_result *out,
                     struct error *err);

const char *bench_kind_name(enum bench_kind kind);
const char *bench_variant_name(enum bench_variant variant);

/* Median and quartiles of count times, which are sorted in place. */
struct bench_time bench_summarize(double *ms, int count);

#endif
