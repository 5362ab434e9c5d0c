/* Rotary positions: how fast each pair of a head's dimensions turns. Host and device code use this one function. */
#ifndef TAPER_CORE_OPS_ROPE_H
#define TAPER_CORE_OPS_ROPE_H

#include <math.h>

/* Angles of a longer context than the model was first trained on are slowed down by `factor`: all of them (original 0,
 * "linear"), or those whose wavelength is long against the first context (Llama 3): slower than `low` turns over
 * `original` tokens in full, faster than `high` turns not at all, between them in part. */
struct rope {
    float theta;     /* base of the frequencies; 0: no rotary positions */
    float factor;    /* 0 or 1: as they are */
    float low, high; /* turns over `original` tokens, low < high */
    float original;  /* tokens; 0: all pairs alike */
};

#ifdef __CUDACC__
#define ROPE_FUNCTION static __host__ __device__ inline
#else
#define ROPE_FUNCTION static inline
#endif

/* Radians a token of pair i of `half`: i and i + half turn together. */
ROPE_FUNCTION double rope_frequency(struct rope r, int i, int half)
{
    const double plain = pow((double)r.theta, -(double)i / half);
    if (r.factor <= 1)
        return plain;
    if (r.original <= 0)
        return plain / (double)r.factor;
    const double turns = (double)r.original * plain / 6.283185307179586;
    const double kept = (turns - (double)r.low) / ((double)r.high - (double)r.low);
    const double part = kept < 0 ? 0 : kept > 1 ? 1 : kept;
    return part * plain + (1 - part) * plain / (double)r.factor;
}

#endif
