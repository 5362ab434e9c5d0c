/* Small models with random parameters, for the tests of what runs trained ones. */
#ifndef TAPER_TESTS_SUPPORT_TINY_MODEL_H
#define TAPER_TESTS_SUPPORT_TINY_MODEL_H

#include "core/model/model.h"

struct tiny_model {
    struct model m;
    struct backend *be;
};

/* A finished configuration: width 24, 2 layers, 3 heads, context 20, vocabulary 301, gate 0 from step 2 of 4; then
 * the pairs ("model.norm=layernorm"), NULL-terminated. Fails the test when a pair does not fit. */
struct config tiny_model_config(const char *const *pairs);

/* Every parameter random, gains around 1, shifts around 0, c around 0.8: nothing is left that a fault could hide in. */
void tiny_model_open(struct tiny_model *t, const struct config *cfg, const struct ops *ops, uint64_t seed);
void tiny_model_close(struct tiny_model *t);

/* Architectures that differ in what folding and decoding do; names[i] with pairs[i]. */
enum { TINY_MODEL_KINDS = 9 };
extern const char *const tiny_model_names[TINY_MODEL_KINDS];
extern const char *const *const tiny_model_pairs[TINY_MODEL_KINDS];

/* ||x - y|| / ||y|| over count numbers. */
double tiny_model_difference(const float *x, const float *y, size_t count);

#endif
