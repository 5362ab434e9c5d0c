/* Decoding with a cache of keys and values: a token at a time for up to `batch` sequences, each at its own position.
 *
 * Two implementations behind one interface. The CPU's keeps its own packed copy of the weights (fp32, bf16, or int8
 * with a scale a row; sums in fp32) and a standing team of threads, allocates nothing a token and needs no ops. The
 * other one runs over the ops table of the model's backend, whatever that is. Both give what transformer_forward gives,
 * but for rounding.
 *
 * A decoder borrows its model, whose parameters must not change while it lives. Not thread-safe. */
#ifndef TAPER_CORE_DECODE_DECODER_H
#define TAPER_CORE_DECODE_DECODER_H

#include "core/model/model.h"

enum decoder_weights { WEIGHTS_FP32, WEIGHTS_BF16, WEIGHTS_INT8, WEIGHTS_KINDS };
const char *decoder_weights_name(enum decoder_weights weights); /* "fp32", "bf16", "int8" */
enum decoder_kind { DECODER_AUTO, DECODER_CPU, DECODER_OPS };   /* AUTO: CPU where parameters lie in host memory */

struct decoder_options {
    int batch;                    /* sequences, at least 1 */
    int context;                  /* positions of the cache; 0: the model's context, which it may not exceed */
    int threads;                  /* CPU only; 0: as many as decoder_threads finds */
    enum decoder_weights weights; /* other than fp32: CPU only */
    enum decoder_kind kind;
};

struct decoder;

/* STATUS_MEMORY when memory is out, STATUS_FAILED when threads are, STATUS_BAD_INPUT when the options do not fit;
 * nothing is left then. */
int decoder_create(struct decoder **out, const struct model *m, const struct decoder_options *options,
                   struct error *err);
void decoder_destroy(struct decoder *d); /* NULL is fine */

/* Take the norms as the model has its sites now, or with the tapered ones left out (`bare`), as in a folded model. A
 * new decoder has them as they stood when it was made. */
void decoder_set_norms(struct decoder *d, bool bare);

/* Threads of the CPU decoder, 1 to `processors`, by which a step of `options` should take least: a small model is read
 * sooner than many threads meet. The model's shape alone decides, so a command repeats itself to the bit. */
int decoder_threads(const struct config *cfg, const struct decoder_options *options, int processors);

/* Tokens of a sequence in the cache; set it lower to take tokens back (0: start anew). */
int decoder_position(const struct decoder *d, int sequence);
void decoder_rewind(struct decoder *d, int sequence, int position);

/* Append tokens to one sequence without asking for logits. The cache must have room for them. */
int decoder_feed(struct decoder *d, int sequence, const int32_t *tokens, int count, struct error *err);

/* Append tokens[b] to sequence b, b < n, and make the logits that follow each. */
int decoder_step(struct decoder *d, const int32_t *tokens, int n, struct error *err);

/* The logits [V] of sequence b after a step, host memory of the decoder, until its next call. */
const float *decoder_logits(const struct decoder *d, int b);

/* What a step of one sequence reads at least: bytes of weights, and of the cache at `position` tokens. */
struct decoder_traffic {
    size_t weights, cache;
};
struct decoder_traffic decoder_traffic(const struct decoder *d, int position);

/* "cpu avx512, 2 threads" into to, which is returned. */
char *decoder_describe(const struct decoder *d, char *to, size_t room);

#endif
