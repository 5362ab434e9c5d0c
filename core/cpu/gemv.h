/* Kernels of decoding: products of a packed matrix with a few rows, and the attention of one query.
 *
 * Packing: GEMV_LANES rows of W stand side by side, so that a step along the row is one vector and no sum across lanes
 * is ever needed: fp32 [blocks][I][16], bf16 [blocks][(I+1)/2][16] words of two neighbours of a row (the first one
 * low), int8 [blocks][1+(I+3)/4][16]: the rows' scales as floats, then words of four neighbours (the first one lowest).
 * Rows past O and odd neighbours are zero. A token's weights are then read once, front to back. Buffers are 64-byte
 * aligned, and their rows padded with zeros to a multiple of 16 floats.
 *
 * int8: w = scale * q, q an integer from -127 to 127, scale = max |w| / 127 over the row's I columns. */
#ifndef TAPER_CORE_CPU_GEMV_H
#define TAPER_CORE_CPU_GEMV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMV_LANES = 16 };
enum gemv_weights { GEMV_FP32, GEMV_BF16, GEMV_INT8, GEMV_WEIGHTS };

/* y[n] = W x[n] + bias, or y[n] += that with `add`. Every row's result is the same, bit for bit, whatever N is. */
struct gemv {
    const void *weights; /* packed */
    const float *bias;   /* [blocks * 16] */
    const float *x; /* N rows of I floats, x_stride apart; those behind I up to a whole word are read, and finite */
    float *y;       /* N rows of blocks * 16 floats, y_stride apart */
    size_t x_stride, y_stride;
    int I, blocks, N;
    bool add;
};

/* softmax(q k_u * factor) v_u over `count` positions of one head's cache. D is the head's width, P that padded to 16.
 */
struct gemv_attend {
    const float *q;      /* [D] */
    const float *keys;   /* [(count+15)/16][D][16]: 16 positions side by side */
    const float *values; /* [count][P] */
    float *scores;       /* [count padded to 16] scratch; what lies in keys behind count does not matter */
    float *out;          /* [D] set */
    float factor;
    int count, D;
};

struct gemv_kernels {
    const char *name;
    void (*product[GEMV_WEIGHTS])(const struct gemv *a);
    void (*attend)(const struct gemv_attend *a);
    /* y[i] = h[i] * (scaled[i] / s + plain[i]) + shift[i] around the row's mean when `centred`; scaled NULL: no s is
     * computed; s = sqrt(mean (h - mean)^2 + eps). plain and shift may be NULL. */
    void (*norm)(float *y, const float *h, const float *scaled, const float *plain, const float *shift, bool centred,
                 float eps, int C);
    /* The sum of count floats, to measure how fast they can be read; count a multiple of 64. */
    float (*read)(const float *x, size_t count);
};

/* As kernels_level: best first, NULL for what this processor lacks. */
enum { GEMV_LEVELS = 3 };
const struct gemv_kernels *gemv_level(int i);
const struct gemv_kernels *gemv_best(void);

/* Vectors of 64 bytes that a packed block of 16 rows of I columns takes. */
static inline size_t gemv_vectors(enum gemv_weights weights, int I)
{
    const size_t columns = (size_t)I;
    return weights == GEMV_FP32 ? columns : weights == GEMV_BF16 ? (columns + 1) / 2 : 1 + (columns + 3) / 4;
}

/* Pack I columns of a matrix whose rows are `stride` floats apart. Row r of the packing is row order[r], zeros where
 * that is negative. `rows` is a multiple of 16. As int8 a row that is not finite everywhere is NaN. */
void gemv_pack(void *to, enum gemv_weights weights, const float *weight, size_t stride, const int *order, int rows,
               int I);

/* Nearest bf16 (ties to even) as its 16 bits. */
uint16_t gemv_bf16(float x);

#endif
