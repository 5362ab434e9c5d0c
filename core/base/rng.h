/* Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
 *
 * A value is a function of (seed, stream, index) and of nothing else: no state to save, the same on every machine
 * and thread count, so a resumed run draws what the uninterrupted one would have. Streams keep uses apart. */
#ifndef TAPER_CORE_BASE_RNG_H
#define TAPER_CORE_BASE_RNG_H

#include <stdint.h>

/* The first word of a stream id; the second (step, tensor, story ...) is the user's. */
enum rng_use {
    RNG_INIT = 1,   /* second: index in the parameter table */
    RNG_BATCH = 2,  /* second: step */
    RNG_SAMPLE = 3, /* second: position */
    RNG_CORPUS = 4, /* second: story */
    RNG_SEARCH = 5, /* second: a hash of the key's name */
    RNG_TEST = 99,
};

struct rng_stream {
    uint64_t seed;
    uint32_t use;    /* enum rng_use */
    uint64_t second; /* the low 32 bits and the high 32 bits both count */
};

/* Four 32-bit words at an index of a stream. */
void rng_block(const struct rng_stream *stream, uint32_t index, uint32_t out[4]);

/* Uniform on 0 .. 2^64-1; the index counts 64-bit words. */
uint64_t rng_u64(const struct rng_stream *stream, uint64_t index);

/* Uniform on 0 .. bound-1 without bias beyond 2^-64 (multiply-shift); bound >= 1. */
uint64_t rng_below(const struct rng_stream *stream, uint64_t index, uint64_t bound);

/* Uniform on [0, 1) with 53 bits. */
double rng_uniform(const struct rng_stream *stream, uint64_t index);

/* out[i] ~ N(0, std^2) for i in 0..count-1 (Box-Muller, in double, rounded to float). */
void rng_normal_fill(const struct rng_stream *stream, float *out, uint64_t count, double std);

#endif
