/* The state of the CPU decoder, shared by decoder_cpu.c (the forward) and decoder_pack.c (its memory). */
#ifndef TAPER_CORE_DECODE_DECODER_CPU_H
#define TAPER_CORE_DECODE_DECODER_CPU_H

#include "core/cpu/gemv.h"
#include "core/cpu/kernels.h"
#include "core/decode/decoder_internal.h"

/* What one part of a stage reads of a projection: some blocks of its output, or some columns of all of them. */
struct packed_part {
    void *weights;
    int first, blocks; /* of the output */
    int begin, I;      /* columns */
};

/* The order of a projection's rows: as they are; q, k and v of a group of heads on end; blocks of gate and up in turns.
 */
enum packed_order { ORDER_PLAIN, ORDER_HEADS, ORDER_TURNS };

/* A packed projection. Its output has blocks * 16 numbers, of which the last may be padding. */
struct packed {
    const struct param *weight; /* of the model */
    enum packed_order order;
    float *bias; /* zeros where the model has none */
    int blocks;
    bool columns;              /* parts are columns: their outputs add up */
    struct packed_part *parts; /* [threads] */
};

/* y = (h - mean) * (scaled / s + plain) + shift, as struct gemv_kernels' norm; absent: y is h. */
struct decoder_norm {
    const float *scaled, *plain, *shift;
    bool absent;
};

/* N rows: of one sequence at growing positions (`sequence` >= 0), or row b of sequence b. */
struct decoder_rows {
    int N, sequence, first; /* first: position of row 0 of one sequence */
    bool logits;
    bool backward; /* through the head */
};

struct cpu_decoder;

/* A step of a pass that falls into parts, one a thread; layer: of the model, or their number for what follows them. */
struct decoder_stage {
    void (*work)(struct cpu_decoder *d, int layer, int part);
    int layer;
};
enum { LAYER_STAGES = 7, HEAD_STAGES = 2 }; /* at most */

struct cpu_decoder {
    struct decoder base;
    const struct gemv_kernels *gemv;
    const struct kernels *kernels;
    int rows;                /* most rows of a pass */
    int C, A, H, D, F, V, S; /* A: all heads together; S: positions, a multiple of 16 */
    int Cp, Dp, Ap, Pp;      /* padded: stream, head, MLP activation, MLP pre-activation; in floats */
    int Qp, Wp, Vp;          /* padded: q k v, all heads together, logits */
    bool by_head;            /* a thread's heads are whole blocks: it needs nobody else's q, k and v */
    int groups;              /* of heads whose q, k and v lie on end: a thread's with by_head, else one */

    struct packed *qkv, *out, *in, *mlp_out; /* [layers] */
    struct packed head;
    struct packed_part *parts; /* of all of them */
    void *weights;             /* the one block behind all packed weights, a thread's on end as it reads them */
    size_t weight_bytes;
    const float *tok, *pos; /* the model's tables */

    float *vectors;             /* [sites][3][Cp] scaled, plain, shift of the norms at the present gate */
    struct decoder_norm *norms; /* [sites] */

    float *state; /* the one block behind everything below */
    float *biases, *rope;
    float *h, *y;         /* [rows][Cp] */
    float *own_y, *own_h; /* [threads][OWN_ROWS][Cp]: of few rows every part keeps the stream for itself */
    float *sums;          /* [2][threads][OWN_ROWS][Cp]: a part's share of a branch: attention, MLP */
    float *no_bias;       /* [Cp] zeros */
    float *q;             /* [rows][Qp]: q, k and v of each group */
    float *att;           /* [rows][Wp] */
    float *pre, *act;     /* [rows][Pp], [rows][Ap] */
    float *logits;        /* [batch][Vp] */
    float *scores;        /* [threads][S] */
    float *keys;          /* [layers][batch][H][S/16][D][16] */
    float *values;        /* [layers][batch][H][S][Dp] */

    struct decoder_rows pass; /* what goes on, and its stages */
    struct decoder_stage *stages;
    int stage_count;
};

enum { OWN_ROWS = 4 };

static inline enum gemv_weights decoder_gemv_weights(enum decoder_weights weights)
{
    return weights == WEIGHTS_INT8 ? GEMV_INT8 : weights == WEIGHTS_BF16 ? GEMV_BF16 : GEMV_FP32;
}

/* A thread's heads are whole blocks of a projection's output: it needs nobody else's q, k and v. */
bool decoder_by_head(const struct config *cfg, int threads);

/* Memory and packed weights of a decoder whose base is filled in. On failure what is there is released by
 * decoder_pack_release. */
int decoder_pack(struct cpu_decoder *d, struct error *err);
void decoder_pack_release(struct cpu_decoder *d);

#endif
