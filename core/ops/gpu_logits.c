#include "core/ops/gpu_logits.h"

/* CACHED: what stays in the second-level cache with its gradient. TILE: what matrix products like to have a multiple
 * of. */
enum { CACHED = 32 << 20, LARGE = 256 << 20, TILE = 128 };

/* A block of logits that stays in the cache saves some 18 bytes of traffic an element (written, read twice, their
 * gradient written and read twice); but each block reads and writes the weight's gradient, 8 bytes an element of it.
 * With fewer rows than about C/2 that costs more than the cache saves. A model of the traffic, not measured. */
size_t gpu_logit_rows(size_t N, size_t C, size_t stride)
{
    size_t rows = CACHED / (stride * sizeof(float));
    if (2 * rows < C)
        rows = LARGE / (stride * sizeof(float));
    if (rows > TILE)
        rows -= rows % TILE;
    return rows < 1 ? 1 : rows < N ? rows : N;
}
