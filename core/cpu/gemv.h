/* Kernels of decoding: products of a packed matrix with a few rows, and the attention of one query.
 *
 * Packing: GEMV_LANES rows of W stand side by side, so that a step along the row is one vector and no sum across lanes
 * is ever needed: fp32 [blocks][I][16], bf16 [blocks][(I+1)/2][16] words of two neighbours of a row (the first one
 * low). Rows past O and the odd neighbour are zero. A token's weights are then read once, front to back. Buffers are
 * 64-byte aligned, and their rows padded with zeros to a multiple of 16 floats. */
#ifndef TAPER_CORE_CPU_GEMV_H
#define TAPER_CORE_CPU_GEMV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMV_LANES = 16 };

/* y[n] = W x[n] + bias, or y[n] += that with `add`. Every row's result is the same, bit for bit, whatever N is. */
struct gemv {
    const void *weights; /* packed */
    const float *bias;   /* [blocks * 16] */
    const float *x;      /* N rows of I floats, x_stride apart; for bf16 the one behind an odd I is read, and finite */
    float *y;            /* N rows of blocks * 16 floats, y_stride apart */
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
    void (*fp32)(const struct gemv *a);
    void (*bf16)(const struct gemv *a);
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

/* Pack I columns of a matrix whose rows are `stride` floats apart. Row r of the packing is row order[r], zeros where
 * that is negative. `rows` is a multiple of 16. */
void gemv_pack_fp32(float *to, const float *weight, size_t stride, const int *order, int rows, int I);
void gemv_pack_bf16(uint32_t *to, const float *weight, size_t stride, const int *order, int rows, int I);

/* Nearest bf16 (ties to even) as its 16 bits. */
uint16_t gemv_bf16(float x);

#endif
