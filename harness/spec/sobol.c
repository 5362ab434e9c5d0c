#include "harness/spec/sobol.h"

enum { DEGREE_MOST = 6, BITS = 32 };

/* A primitive polynomial's degree and inner coefficients, and the first direction numbers. Dimension 0 is the van der
 * Corput sequence, and needs none. */
static const struct {
    uint32_t degree, inner, first[DEGREE_MOST];
} rows[SOBOL_DIMENSIONS] = {
    {0, 0, {0}},
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
};

/* Direction `bit` as a fraction of 2^32: those past the first follow from the ones before by the polynomial. */
static void directions(int dimension, uint32_t v[BITS])
{
    const uint32_t s = rows[dimension].degree;
    for (uint32_t k = 0; k < BITS; k++) {
        if (s == 0 || k < s) {
            v[k] = (s == 0 ? 1 : rows[dimension].first[k]) << (BITS - 1 - k);
            continue;
        }
        v[k] = v[k - s] ^ (v[k - s] >> s);
        for (uint32_t j = 1; j < s; j++)
            if (rows[dimension].inner >> (s - 1 - j) & 1)
                v[k] ^= v[k - j];
    }
}

static uint32_t reversed(uint32_t x)
{
    uint32_t y = 0;
    for (int i = 0; i < BITS; i++)
        y |= (x >> i & 1) << (BITS - 1 - i);
    return y;
}

/* Each bit is turned over or not as the bits above it say: here, on reversed bits, those below it, which is what
 * additions and multiplications do. */
static uint32_t scrambled(uint32_t x, uint32_t scramble)
{
    x = reversed(x);
    x ^= x * 0x3d20adeau;
    x += scramble;
    x *= (scramble >> 16) | 1;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return reversed(x);
}

double sobol_value(int dimension, uint32_t index, uint32_t scramble)
{
    uint32_t v[BITS], x = 0;
    directions(dimension, v);
    for (int bit = 0; bit < BITS && index >> bit; bit++)
        if (index >> bit & 1)
            x ^= v[bit];
    return (double)scrambled(x, scramble) / 4294967296.0;
}
