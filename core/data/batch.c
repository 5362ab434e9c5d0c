#include "core/data/batch.h"

#include "core/base/rng.h"

void batch_windows(const struct tokens *tokens, uint64_t seed, int64_t step, int64_t count, int64_t T, int32_t *out)
{
    const struct rng_stream stream = {.seed = seed, .use = RNG_BATCH, .second = (uint64_t)step};
    uint64_t starts = tokens->count - (uint64_t)T; /* a window's last token is the last target */
    for (int64_t i = 0; i < count; i++) {
        uint64_t start = rng_below(&stream, (uint64_t)i, starts);
        tokens_read(tokens, start, (uint64_t)T + 1, out + i * (T + 1));
    }
}
