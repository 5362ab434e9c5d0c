/* The transformer, written once over the ops table: forward, loss, backward of one micro-batch.
 *
 * Pre-norm blocks: h += out(attention(norm(h))), h += mlp(norm(h)); a final norm; the head. The residual stream is kept
 * at every norm (the backward needs it), the branch outputs only until the next norm adds them. */
#ifndef TAPER_CORE_MODEL_TRANSFORMER_H
#define TAPER_CORE_MODEL_TRANSFORMER_H

#include "core/model/model.h"

/* What one layer keeps from forward to backward; without gradients all layers share one. Backend memory. */
struct layer_activations {
    float *h_attn, *y_attn;    /* [N,C] stream at the attention norm, and its output */
    float *y_value;            /* [N,C] what V reads where it has a site of its own */
    float *qkv, *att, *lse;    /* [N,3C], [N,C], [B,H,T] */
    float *h_mlp, *y_mlp;      /* [N,C] */
    float *pre, *act;          /* [N,O], [N,F] */
    float *scale[2], *mean[2]; /* [N]: attention norm, MLP norm */
};

struct activations {
    int B, T, N;
    bool gradients;
    float *block; /* the one allocation behind everything below */
    size_t bytes;
    int32_t *tokens, *targets;        /* [N] */
    struct layer_activations *layers; /* [layers], host memory */
    float *delta;                     /* [N,C] */
    float *qk, *value;                /* [N,2C], [N,C]: q and k, and v, while they are apart; NULL where none may be */
    float *h, *y;                     /* [N,C] hidden state before the final norm, and after it */
    float *scale, *mean;              /* [N] of the final norm */
    float *dh, *dy, *dqkv, *dpre;     /* [N,C], [N,max(C,A)], [N,3A], [N,O]; only with gradients */
    float *ce;                        /* [N] */
    struct logit_stats stats;
    float *radial, *tangential, *aux_radial; /* [N] */
    double *site_sums; /* [site_count][3] added to by every pass: sum ||x gamma||^2/s, sum ||x gamma||^2, sum s */
    double *aux_sum;   /* [1] added to by every pass */
};

enum { SUM_NUM, SUM_DEN, SUM_SCALE, SITE_SUMS };

/* What a pass is to do; the sites are taken as the model has them. */
struct pass {
    bool calibrate;   /* add the calibration sums of tapered sites, and the final scale; FakeLN: the scales of all */
    bool statistics;  /* logit statistics, radial probe, the scale of every site */
    bool aux;         /* aux loss and its gradient */
    float *grads;     /* add gradients here (layout of the parameters); NULL: forward only */
    float grad_scale; /* of each token's loss: 1 / (tokens of the whole step) */
    float *logits;    /* [N,vocab]; NULL: not wanted; else the loss is over all entries too */
    bool bare;        /* leave the tapered sites out, as in a folded model: for benchmarks; forward only */
};

/* Room for B windows of T <= context tokens. bytes says how much it takes. */
int activations_create(struct activations *a, const struct model *m, int B, int T, bool gradients, struct error *err);
/* The bytes activations_create would take; of the model only cfg and table are looked at. */
size_t activations_measure(const struct model *m, int B, int T, bool gradients);
void activations_destroy(struct activations *a, const struct model *m); /* fine on a zeroed one */

/* Forward, loss and (with grads) backward over a->tokens and a->targets. Enqueues only; no host synchronisation. The
 * bias that a folded final LayerNorm gives the head is not added: neither the loss nor the logits hold it. */
void transformer_pass(const struct model *m, struct activations *a, const struct pass *pass);

/* The forward alone. Returns what the head reads, [N,C]: the final norm's output, or the stream where there is none. */
const float *transformer_forward(const struct model *m, struct activations *a, const struct pass *pass);

#endif
