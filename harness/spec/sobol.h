/* A scrambled Sobol sequence: points that fill a cube evenly, and go on filling it however many are taken.
 *
 * Directions of Joe and Kuo ("Constructing Sobol sequences with better two-dimensional projections", 2008), nested
 * uniform scrambling by a hash (Owen 1995; Burley 2020). Every first 2^k points have one in each of 2^k equal parts of
 * every dimension. */
#ifndef TAPER_HARNESS_SPEC_SOBOL_H
#define TAPER_HARNESS_SPEC_SOBOL_H

#include <stdint.h>

enum { SOBOL_DIMENSIONS = 16 };

/* Coordinate `dimension` (0 to SOBOL_DIMENSIONS - 1) of point `index`, in [0, 1). Another `scramble` is another
 * arrangement of equal evenness. */
double sobol_value(int dimension, uint32_t index, uint32_t scramble);

#endif
