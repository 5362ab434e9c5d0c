/* Drawing a token from a row of logits on the host, as struct sample_tokens (ops.h) says, without sorting more of the
 * vocabulary than the draw needs and without allocating a token. */
#ifndef TAPER_CORE_DECODE_SAMPLER_H
#define TAPER_CORE_DECODE_SAMPLER_H

#include <stdint.h>

struct sampler_options {
    double temperature; /* 0: the most likely token, the lowest among equals */
    double top_p;       /* 1: off */
    int top_k;          /* 0: off */
    uint64_t seed;
};

struct sampler;

struct sampler *sampler_create(const struct sampler_options *options, int V);
void sampler_destroy(struct sampler *s); /* NULL is fine */

/* The token drawn from logits [V]; the random number is that of (seed, position, row). */
int32_t sampler_draw(struct sampler *s, const float *logits, uint64_t position, uint64_t row);

#endif
