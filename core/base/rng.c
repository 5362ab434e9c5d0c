#include "core/base/rng.h"

#include <math.h>

/* The key is the seed; the counter is (index, use, second). The high half of a 64-bit index is folded into the
 * word of `use`, which needs only its low byte. */
static void philox(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * a, p1 = (uint64_t)0xCD9E8D57u * c;
        uint32_t na = (uint32_t)(p1 >> 32) ^ b ^ k0, nc = (uint32_t)(p0 >> 32) ^ d ^ k1;
        b = (uint32_t)p1;
        d = (uint32_t)p0;
        a = na;
        c = nc;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

static void block_at(const struct rng_stream *s, uint64_t index, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)index, (s->use & 0xff) | (uint32_t)(index >> 32) << 8, (uint32_t)s->second,
                                 (uint32_t)(s->second >> 32)};
    philox(s->seed, counter, out);
}

void rng_block(const struct rng_stream *stream, uint32_t index, uint32_t out[4])
{
    block_at(stream, index, out);
}

uint64_t rng_u64(const struct rng_stream *stream, uint64_t index)
{
    uint32_t words[4];
    block_at(stream, index >> 1, words);
    return index & 1 ? (uint64_t)words[3] << 32 | words[2] : (uint64_t)words[1] << 32 | words[0];
}

uint64_t rng_below(const struct rng_stream *stream, uint64_t index, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)rng_u64(stream, index) * bound) >> 64);
}

double rng_uniform(const struct rng_stream *stream, uint64_t index)
{
    return (double)(rng_u64(stream, index) >> 11) * 0x1p-53;
}

void rng_normal_fill(const struct rng_stream *stream, float *out, uint64_t count, double std)
{
    for (uint64_t i = 0; i < count; i += 2) {
        double u = 1.0 - rng_uniform(stream, i), v = rng_uniform(stream, i + 1); /* u in (0, 1] */
        double radius = std * sqrt(-2.0 * log(u)), angle = 2.0 * M_PI * v;
        out[i] = (float)(radius * cos(angle));
        if (i + 1 < count)
            out[i + 1] = (float)(radius * sin(angle));
    }
}
