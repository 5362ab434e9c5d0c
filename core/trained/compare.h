/* Do two models give the same logits? Both are run with their sites as they stand. */
#ifndef TAPER_CORE_TRAINED_COMPARE_H
#define TAPER_CORE_TRAINED_COMPARE_H

#include "core/model/model.h"

struct logits_difference {
    double error;   /* ||second - first|| / ||first|| over all tokens looked at */
    double largest; /* the largest single difference over the RMS of the first's logits */
    int64_t tokens; /* looked at */
};

/* Run both (of one vocabulary, on one backend) over `count` windows of T tokens, at most the context of either.
 * windows [count][T] host memory. Errors: out of memory. A difference may come out as NaN. */
int compare_logits(const struct model *const both[2], const int32_t *windows, int count, int T,
                   struct logits_difference *out, struct error *err);

/* Any tokens show whether two models agree: random ones of a vocabulary, the same every time. windows [count][T]. */
void compare_random_windows(int64_t vocab, int count, int T, int32_t *windows);

/* The largest root mean square of the residual stream over the tokens of one window of T, at any norm of the model (or
 * where one stood); NaN when it is not finite. Errors: out of memory. */
int compare_stream_rms(const struct model *m, const int32_t *window, int T, double *rms, struct error *err);

#endif
