/* Drawing a token, a block a row, without sorting: candidates are ordered by a 64-bit key (most likely first, the lower
 * token among equals), and the key at which a running sum of weights reaches a bound is found digit by digit: that is
 * where top_k and top_p cut. Weights are 38-bit fixed-point probabilities, so that sums are exact and do not depend on
 * the order of the threads. */
#include "gpu/device_code.cuh"

enum { THREADS = 256, BINS = 256, DIGIT_BITS = 8, KEY_BITS = 64, WEIGHT_BITS = 38 };

typedef unsigned long long word;

static const word EVERY_KEY = ~0ull;

/* Philox4x32-10, as in core/base/rng.c: the first 64-bit word at an index of the RNG_SAMPLE stream. */
static __device__ double draw_uniform(uint64_t seed, uint64_t position, uint64_t index)
{
    const uint32_t RNG_USE = 3;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint64_t block = index >> 1;
    uint32_t a = (uint32_t)block, b = RNG_USE | (uint32_t)(block >> 32) << 8, c = (uint32_t)position,
             d = (uint32_t)(position >> 32);
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
    uint64_t bits = index & 1 ? (uint64_t)d << 32 | c : (uint64_t)b << 32 | a;
    return (double)(bits >> 11) * 0x1p-53;
}

/* A logit that is no number is never preferred; -0 equals 0. */
static __device__ __forceinline__ float usable(float z)
{
    return isnan(z) ? -INFINITY : z + 0.0f;
}

/* Smaller keys are drawn first. */
static __device__ __forceinline__ word key_of(float z, int token)
{
    uint32_t bits = __float_as_uint(usable(z));
    bits = bits >> 31 ? ~bits : bits | 0x80000000u; /* ascending with the number */
    return (word)~bits << 32 | (uint32_t)token;
}

/* What the row's candidates weigh. */
struct row {
    const float *z;
    int V;
    double most, temperature; /* temperature 0: every candidate weighs 1 */
};

static __device__ __forceinline__ word weight_of(const struct row &r, int v)
{
    if (r.temperature == 0)
        return 1;
    return (word)(exp(((double)usable(r.z[v]) - r.most) / r.temperature) * (double)(1ull << WEIGHT_BITS));
}

struct shared_bins {
    word sums[BINS];
    word found, before;
};

/* The smallest key at which the weights of candidates up to it reach `bound` (at least 1); the last one's if none. */
static __device__ word select_key(const struct row &r, word bound, struct shared_bins *s)
{
    word prefix = 0, before = 0;
    for (int shift = KEY_BITS - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        for (int i = threadIdx.x; i < BINS; i += THREADS)
            s->sums[i] = 0;
        __syncthreads();
        for (int v = threadIdx.x; v < r.V; v += THREADS) {
            word key = key_of(r.z[v], v);
            if (shift + DIGIT_BITS == KEY_BITS || key >> (shift + DIGIT_BITS) == prefix >> (shift + DIGIT_BITS))
                atomicAdd(&s->sums[key >> shift & (BINS - 1)], weight_of(r, v));
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int bin = 0;
            while (bin < BINS - 1 && before + s->sums[bin] < bound)
                before += s->sums[bin++];
            s->found = prefix | (word)bin << shift;
            s->before = before;
        }
        __syncthreads();
        prefix = s->found;
        before = s->before;
    }
    return prefix;
}

/* The weights of candidates up to a key. */
static __device__ word weigh(const struct row &r, word last, word *part)
{
    word sum = 0;
    for (int v = threadIdx.x; v < r.V; v += THREADS)
        if (key_of(r.z[v], v) <= last)
            sum += weight_of(r, v);
    return block_sum(sum, part);
}

/* Among the candidates up to `last`, in the order of the vocabulary: the first at which the weights reach `bound`,
 * which is at least 1 and at most their sum. Each thread has a stretch of the vocabulary. */
static __device__ int draw_token(const struct row &r, word last, word bound, word *part, struct shared_bins *s)
{
    int stretch = (r.V + THREADS - 1) / THREADS, first = threadIdx.x * stretch, end = first + stretch;
    word mine = 0, before = 0;
    end = end < r.V ? end : r.V;
    for (int v = first; v < end; v++)
        if (key_of(r.z[v], v) <= last)
            mine += weight_of(r, v);
    __syncthreads(); /* every thread has read its last sum from part */
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int i = 0; i < (int)threadIdx.x; i++)
        before += part[i];
    for (int v = first; v < end && before < bound && before + mine >= bound; v++) {
        word weight = key_of(r.z[v], v) <= last ? weight_of(r, v) : 0;
        if (weight >= bound - before) {
            s->found = (word)v;
            break;
        }
        before += weight;
        mine -= weight;
    }
    __syncthreads();
    return (int)s->found;
}

static __device__ word smallest_key(const struct row &r, word *part)
{
    word key = EVERY_KEY;
    for (int v = threadIdx.x; v < r.V; v += THREADS) {
        word other = key_of(r.z[v], v);
        key = other < key ? other : key;
    }
    part[threadIdx.x] = key;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if ((int)threadIdx.x < half && part[threadIdx.x + half] < part[threadIdx.x])
            part[threadIdx.x] = part[threadIdx.x + half];
        __syncthreads();
    }
    key = part[0];
    __syncthreads();
    return key;
}

__global__ void __launch_bounds__(THREADS) sample(struct sample_tokens a)
{
    SHARED_MEMORY(word, part); /* [THREADS], then the bins */
    struct shared_bins *bins = (struct shared_bins *)(part + THREADS);
    struct row r = {a.logits + (size_t)blockIdx.x * a.V, a.V, 0, 0};
    word first = smallest_key(r, part), last = EVERY_KEY;
    r.most = usable(r.z[(uint32_t)first]);
    if (a.temperature > 0 && !isinf(r.most)) {
        if (a.top_k > 0 && a.top_k < a.V)
            last = select_key(r, (word)a.top_k, bins);
        r.temperature = a.temperature;
        word total = weigh(r, last, part);
        if (a.top_p < 1) { /* the fewest that reach top_p, at least one */
            word bound = (word)ceil((double)a.top_p * (double)total);
            word cut = select_key(r, bound > 1 ? bound : 1, bins);
            last = cut < last ? cut : last;
            total = weigh(r, last, part);
        }
        word bound = (word)(draw_uniform(a.seed, a.position, blockIdx.x) * (double)total) + 1;
        first = (word)draw_token(r, last, bound < total ? bound : total, part, bins);
    }
    if (threadIdx.x == 0)
        a.tokens[blockIdx.x] = (int32_t)(uint32_t)first;
}

extern "C" void kernel_sample(void *stream, const struct sample_tokens *a)
{
    LAUNCH(sample, a->B, THREADS, THREADS * sizeof(word) + sizeof(struct shared_bins), stream, *a);
}
