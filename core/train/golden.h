/* Golden files: cases and trajectories of an independent float64 reference, for exactness (docs/formats.md).
 *
 * A case holds param/NAME, tokens [B,T+1] and its configuration; golden_step runs one forward and backward and writes
 * grad/, out/ and stat/ under the same names. A trajectory holds param/ and batches [K,B,T+1]; golden_train runs the
 * K steps and writes traj/ and final/. */
#ifndef TAPER_CORE_TRAIN_GOLDEN_H
#define TAPER_CORE_TRAIN_GOLDEN_H

#include "core/base/error.h"
#include "core/ops/ops.h"

int golden_step(const char *in, const char *out, const struct ops *ops, int threads, struct error *err);
int golden_train(const char *in, const char *out, const struct ops *ops, int threads, struct error *err);

#endif
