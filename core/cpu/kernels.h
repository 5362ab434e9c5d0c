/* The inner loops of the CPU ops, compiled once for each instruction set and chosen at run time.
 *
 * The source is the same for every level (kernels_*.inc, plain C whose loops the compiler turns into vectors), so a
 * level differs from another by the order of sums and by fused multiply-adds: a few units in the last place.
 * All work on rows of floats and hold no state; none needs alignment. */
#ifndef TAPER_CORE_CPU_KERNELS_H
#define TAPER_CORE_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ops/ops.h"

/* What one pass over a row of logits yields. */
struct row_stats {
    float max;              /* over the row; NaN is left out, it shows in the sums */
    float other;            /* max over v != target; -inf when there is none */
    float sum, sum_sq, min; /* only with statistics */
};

/* One head for the attention kernels: T positions of width D. Packed operands are as `pack` leaves them. p and dp hold
 * scores, later probabilities and their gradient, `stride` floats a row: forward all keys that a tile of queries sees,
 * backward a block of keys. */
enum { ATTENTION_QUERIES = 48, ATTENTION_KEYS = 64 };
struct attention_tile {
    int T, D;
    size_t stride;
    const float *q, *keys_t; /* [T,D], rows q_stride apart; k^T / sqrt(D), packed */
    size_t q_stride;
    float *p;
    float *lse;
    /* forward */
    const float *values; /* v, packed */
    float *out;          /* [T,D], rows out_stride apart, as those of dout */
    size_t out_stride;
    /* backward */
    const float *dout, *delta;           /* [T,D]; [T]: out . dout */
    const float *values_t, *keys;        /* v^T, k / sqrt(D); packed */
    const float *q_packed, *dout_packed; /* q / sqrt(D), dout */
    float *dp;
    float *dq, *dk, *dv; /* dq as q; dk and dv [ATTENTION_KEYS, D]: of the block of keys */
};

/* `stride` for so many keys: with room for what the kernels write past the last, and not a power of two, so that
 * columns do not share cache sets. */
size_t attention_stride(int keys);

struct kernels {
    const char *name; /* "avx512", "avx2", "base" */

    /* Products c [m,n] = (or, with `add`, +=) a b, where element (i,p) of a is a[i*ai + p*ak] and element (p,j) of b is
     * b[p*bk + j*bn], so either may be a transpose. b is first packed into panels of `panel` columns: packed_size
     * floats in all; panel j/panel starts at float j*k. */
    int panel;
    size_t (*packed_size)(int k, int n);
    void (*pack)(float *to, const float *b, size_t bk, size_t bn, int k, int n);
    void (*multiply)(int m, int n, int k, const float *a, size_t ai, size_t ak, const float *packed, bool add, float *c,
                     size_t ldc);
    /* The same with the first k of the packed_k rows that were packed. */
    void (*multiply_part)(int m, int n, int k, int packed_k, const float *a, size_t ai, size_t ak, const float *packed,
                          bool add, float *c, size_t ldc);

    /* exp: within 2 ulp; below -86.6 it is 0, above 88.72 infinite. y may be x. */
    void (*exp)(float *y, const float *x, size_t count);
    /* out = act(pre) for ACT_GELU (within 4 ulp) and ACT_GELU_TANH (8 ulp above -6, absolute 1e-9 below). */
    void (*act)(enum op_act act, float *out, const float *pre, size_t count);
    /* d *= act'(pre): within 6e-7 of max(1, |act'|). */
    void (*act_back)(enum op_act act, float *d, const float *pre, size_t count);
    void (*swiglu)(float *out, const float *gate, const float *up, size_t count);
    void (*swiglu_back)(float *dgate, float *dup, const float *d, const float *gate, const float *up, size_t count);
    /* to[j] += sum over rows of x[row * stride + j], j < count. */
    void (*column_sums)(float *to, const float *x, size_t stride, int rows, int count);
    /* y += a * x. */
    void (*add_scaled)(float *y, float a, const float *x, size_t count);
    /* y *= a. */
    void (*scale)(float *y, float a, size_t count);
    /* to[r * to_stride + i] = from[r * from_stride + i]. */
    void (*copy_rows)(float *to, size_t to_stride, const float *from, size_t from_stride, int rows, int count);
    float (*dot)(const float *x, const float *y, size_t count);

    /* Rows begin..end-1 of the op; sums [3] gathers calibration and scale_sum. */
    void (*norm_forward)(const struct norm_forward *a, int begin, int end, double sums[3]);
    /* The same of the backward; partial [3,C] gathers sums over the rows of dy*x/s (unless FOLDED), dy (LayerNorm) and
     * dy*x (unless NORMED). */
    void (*norm_backward)(const struct norm_backward *a, int begin, int end, float *partial);

    /* First pass over logits z [V]: the maximum, and with `stats` the rest. target < 0: `other` is the maximum. */
    void (*logit_stats)(struct row_stats *to, const float *z, int V, int target, bool stats);
    /* z = exp(z - max) in place; returns the sum; *weighted, unless NULL, is the sum of exp(z - max) * (z - max). */
    float (*softmax)(float *z, int V, float max, float *weighted);
    /* sum over the row of (z - mean)^2. */
    float (*spread)(const float *z, int V, float mean);

    /* Causal attention of queries first..first+rows-1, rows <= ATTENTION_QUERIES: sets their out and lse. */
    void (*attention_forward)(const struct attention_tile *tile, int first, int rows);
    /* What these queries and keys key..key+count-1 (key a multiple of ATTENTION_KEYS, count <= ATTENTION_KEYS, fewer
     * only at the end) give to each other's gradients: sets dq where key is 0, else adds to it; adds to dk and dv. */
    void (*attention_backward)(const struct attention_tile *tile, int first, int rows, int key, int count);

    /* count parameters of one segment; factor is the clipping's, step size and decay as in struct adamw. */
    void (*adamw)(float *p, float *m, float *v, const float *g, size_t count, const float *constants);
    /* Sum of squares in double. */
    double (*sum_squares)(const float *x, size_t count);
    void (*aux_loss)(const struct aux_loss *a, int begin, int end, double *sum);
    void (*radial_probe)(const struct radial_probe *a, int begin, int end);
};

/* Of `constants` in adamw: what the loop reads. */
enum {
    ADAMW_FACTOR,
    ADAMW_BETA1,
    ADAMW_BETA2,
    ADAMW_KEEP,
    ADAMW_STEP,
    ADAMW_FIX2,
    ADAMW_EPS,
    ADAMW_NEW1,
    ADAMW_NEW2,
    ADAMW_CONSTANTS
};

/* Levels best first; NULL past the last and for a level this processor lacks. kernels_best is the first of them. */
enum { KERNEL_LEVELS = 3 };
const struct kernels *kernels_level(int i);
const struct kernels *kernels_best(void);

#endif
