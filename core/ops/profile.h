/* Where a step's time goes: an ops table that times every call of another one. */
#ifndef TAPER_CORE_OPS_PROFILE_H
#define TAPER_CORE_OPS_PROFILE_H

#include <stdint.h>
#include <stdio.h>

#include "core/ops/ops.h"

/* A table that calls `inner` and counts. One a thread, which must be the one that calls the
 * ops. Its times mean something where ops run when called: on the CPU. */
const struct ops *profile_ops(const struct ops *inner);

/* Count from here on, or not: what is between steps (evaluation, checkpoints) uses the same ops. Starts not counting.
 */
void profile_count(bool on);

/* A table of parts by time: calls, milliseconds a step, share of `total_ms`, and the rest as "other". */
void profile_print(FILE *out, int64_t steps, double total_ms);

#endif
