/* Training batches: random windows of a token file, a function of (seed, step) alone. */
#ifndef TAPER_CORE_DATA_BATCH_H
#define TAPER_CORE_DATA_BATCH_H

#include "core/data/tokens.h"

/* out[count][T+1]: `count` windows of T+1 consecutive tokens for step `step`, their starts uniform over the file
 * (RNG_BATCH stream, index = window). tokens->count must be above T. Windows may cross document ends, as is usual in
 * pre-training; the end-of-text token marks them. */
void batch_windows(const struct tokens *tokens, uint64_t seed, int64_t step, int64_t count, int64_t T, int32_t *out);

#endif
