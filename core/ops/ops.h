/* The ops table: every operation the model needs, as typed function pointers. The waist of the program.
 *
 * transformer.c, train.c and the decoder are written once, over this table. Implementations: ops_reference (core/ref:
 * plain loops, double accumulation, never optimised), ops_cpu (core/cpu: starts as a copy of the reference and
 * overrides), and the CUDA library. One test iterates the table and compares them on odd shapes.
 *
 * Conventions
 * - B windows of T tokens, N = B*T rows; C width of the residual stream, H heads of D = C/H, V vocabulary, F MLP width.
 * - Tensors are dense, row-major, fp32 unless said; pointers come from the backend's alloc (device memory on CUDA).
 * - "set" overwrites an output, "add" accumulates into it. Gradients of parameters are always added to; gradients of
 *   activations are set, except the residual stream's dh, where each op says which.
 * - Compute ops return nothing: they are enqueued in order on the backend's stream. Errors surface at sync().
 * - What changes from step to step without changing the work (gates, learning rate, target, Adam's step counts) is read
 *   from backend memory, so that a recorded graph can be replayed. What changes the work
 *   (enum gate_phase, aux on or off, statistics wanted) is an argument.
 * - Every result is deterministic: a function of the inputs and, on the CPU, of the thread count. */
#ifndef TAPER_CORE_OPS_OPS_H
#define TAPER_CORE_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/kinds.h"
#include "core/ops/rope.h"

struct backend; /* one run's stream, scratch memory and threads; each implementation has its own */

struct backend_options {
    int threads;        /* CPU: threads of every op, at least 1 */
    const char *device; /* CUDA: UUID of the GPU, NULL for the first visible one */
    int precision;      /* enum precision_kind, never PRECISION_AUTO */
};

/* Which branch of a site's taper is on the graph. It follows from the site's gate: 1, between, 0. */
enum gate_phase { PHASE_NORMED, PHASE_MIXED, PHASE_FOLDED };

/* When a parameter is on the graph. */
enum param_group {
    GROUP_ALWAYS, /* everything but the tapered sites' vectors */
    GROUP_GAMMA,  /* gamma, beta of a tapered site: while its gate is above 0 */
    GROUP_TILDE,  /* gamma_tilde, beta_tilde: while it is below 1 */
};

struct step_scalars {
    float lr;         /* learning rate of this step */
    float aux_target; /* s_tgt */
    int32_t step;
    int32_t reserved;
};

/* What has become of the steps, worked out where the work is, so that nobody waits for it. Backend memory, zeroed by
 * its owner before the first step. A step whose loss, aux loss or gradient is not finite is skipped: nothing is
 * updated. */
struct step_outcome {
    int32_t skip;     /* this step: nothing is updated */
    int32_t in_a_row; /* steps skipped up to this one */
    int32_t stopped;  /* the step at which in_a_row reached the limit, every later one is skipped too; 0: none */
    int32_t last;     /* the step skipped last (until stopped is set), and what it had summed up: */
    double ce, aux, norm_sq;
    /* Since the owner last cleared them: steps skipped, and what the owner has counted and did not happen. */
    int32_t skipped, missed_averages;
};

enum op_act { ACT_NONE, ACT_GELU, ACT_GELU_TANH, ACT_SWIGLU };

/* TaperNorm and plain norms, docs/equations.md section 1. s = r(h) (RMS) or sigma(h) (LayerNorm), x = h (RMS) or h -
 * mean(h): NORMED: y = x/s*gamma + beta      FOLDED: y = c*x*gamma_tilde + beta_tilde      MIXED: g*NORMED +
 * (1-g)*FOLDED A plain norm is PHASE_NORMED. */
struct norm_site {
    enum norm_kind kind;
    enum gate_phase phase;
    float eps;
    const float *gamma, *beta;             /* [C]; beta NULL for RMS; not read when FOLDED */
    const float *gamma_tilde, *beta_tilde; /* [C]; not read when NORMED */
    const float *c;                        /* [1] */
    const float *gate;                     /* [1]; read when MIXED */
};

struct norm_forward {
    struct norm_site site;
    const float *in;     /* [N,C] */
    const float *delta;  /* [N,C], or NULL: the branch output that joins the stream here */
    float *h;            /* [N,C] set: in + delta, may be `in` itself; not written (and may be NULL) without delta */
    float *y;            /* [N,C] set */
    float *scale;        /* [N] set: s; NULL allowed when FOLDED: no per-token statistic is then computed */
    float *mean;         /* [N] set: mean(h), LayerNorm only; NULL allowed for RMS */
    double *calibration; /* [2] add: sum_n ||x*gamma||^2/s, sum_n ||x*gamma||^2; NULL when not wanted; needs scale */
    double *scale_sum;   /* [1] add: sum_n s; NULL when not wanted; needs scale */
    int N, C;
};

struct norm_backward {
    struct norm_site site;
    const float *dy;    /* [N,C] */
    const float *h;     /* [N,C] what the forward normalised */
    const float *scale; /* [N]; NULL allowed when FOLDED */
    const float *mean;  /* [N] LayerNorm only */
    float *dh;          /* [N,C] add, or set when `fresh` */
    bool fresh;
    float *dgamma, *dbeta;             /* [C] add; left alone when FOLDED; dbeta NULL for RMS */
    float *dgamma_tilde, *dbeta_tilde; /* [C] add; left alone when NORMED */
    int N, C;
};

/* pre = in W^T + bias; out = act(pre). O counts rows of W; with ACT_SWIGLU out is [N,O/2]: silu(first half)*second. */
struct linear_forward {
    const float *in, *weight, *bias; /* [N,I], [O,I], [O] or NULL */
    float *pre;                      /* [N,O] set; with ACT_NONE the output */
    float *out;                      /* [N,O] or [N,O/2] set; NULL with ACT_NONE */
    enum op_act act;
    int N, I, O;
};

/* dweight += dout^T in; dbias += sum_n dout; din = dout W, and where `in` was act(in_pre): din = gradient at in_pre. */
struct linear_backward {
    const float *dout, *in, *weight; /* [N,O], [N,I], [O,I] */
    float *dweight, *dbias;          /* [O,I] add, [O] add or NULL */
    float *din;                      /* [N,I] set ([N,2I] with ACT_SWIGLU); NULL when not wanted */
    const float *in_pre;             /* [N,I] ([N,2I] with ACT_SWIGLU); NULL with ACT_NONE */
    enum op_act in_act;
    int N, I, O;
};

/* Causal attention, softmax(q k^T / sqrt(D)) v per head. A row of qkv holds q, k, v, each [H,D]; A = H D need not be C.
 * With rope.theta > 0 q and k are rotated first: pairs (i, i + D/2) of a head by the angle t * rope_frequency, the
 * layout of Llama. */
struct attention_forward {
    float *qkv; /* [B,T,3A]; with rope, q and k are rotated in place */
    float *out; /* [B,T,A] set */
    float *lse; /* [B,H,T] set: log of the sum of exp(scores), for the backward */
    struct rope rope;
    int B, T, H, D;
};

struct attention_backward {
    const float *qkv, *out, *lse; /* as the forward left them */
    const float *dout;            /* [B,T,A] */
    float *dqkv;                  /* [B,T,3A] set: gradient before the rotation */
    struct rope rope;
    int B, T, H, D;
};

/* Per-token statistics of the logits z of one row; each [N] set, all NULL or none. */
struct logit_stats {
    float *sum_sq;    /* sum_v z^2 */
    float *max_abs;   /* max_v |z| */
    float *std;       /* sqrt(mean (z - mean z)^2): the softmax ignores the mean */
    float *margin;    /* z_y - max_{v != y} z */
    float *p_correct; /* softmax(z)_y */
    float *entropy;   /* of the softmax, nats */
};

/* Head, softmax and cross-entropy in one pass: z = y W^T + bias, ce_n = logsumexp(z_n) - z_{n,target}. Gradients are
 * those of grad_scale * sum_n ce_n; the bias has none: only a folded model has one. A negative target is left out: ce
 * 0, no gradient, statistics 0. */
struct head_pass {
    const float *y, *weight; /* [N,C], [V,C] */
    const float *bias;       /* [V]; NULL: none */
    const int32_t *targets;  /* [N] */
    float *ce;               /* [N] set, nats */
    float *dy;               /* [N,C] set; NULL: no gradients */
    float *dweight;          /* [V,C] add; NULL when dy is */
    float grad_scale;
    struct logit_stats stats;
    float *logits; /* [N,V] set; NULL when not wanted */
    int N, C, V;
};

/* L_aux = lambda * mean_n (s_n - s_tgt)^2, docs/equations.md section 2. dh += grad_scale * d(lambda (s_n -
 * s_tgt)^2)/dh_n. */
struct aux_loss {
    const float *h, *scale, *mean; /* [N,C], [N], [N] or NULL for RMS */
    float *dh;                     /* [N,C] add; NULL: no gradient */
    double *sum;                   /* [1] add: lambda * sum_n (s_n - s_tgt)^2 */
    float *radial;                 /* [N] set: <d(lambda (s_n - s_tgt)^2)/dh_n, h_n> / |h_n|; NULL when not wanted */
    float lambda, grad_scale;
    const struct step_scalars *scalars; /* aux_target */
    int N, C;
};

/* G_n = dh_n / grad_scale, the gradient of the token's own loss at the stream: its component along h and the rest. */
struct radial_probe {
    const float *dh, *h; /* [N,C] */
    float grad_scale;
    float *radial;     /* [N] set: <G,h>/|h| */
    float *tangential; /* [N] set: |G - radial h/|h|| */
    int N, C;
};

/* A step's numbers summed over its tokens, in the order of core/train/probe.h. The maxima are of numbers that are not
 * negative, and NaN when one is. */
enum token_sum {
    TOKEN_CE,
    TOKEN_SCALE,
    TOKEN_SCALE_SQ,
    TOKEN_SCALE_MAX,
    TOKEN_LOGIT_SQ,
    TOKEN_LOGIT_MAX,
    TOKEN_LOGIT_VAR,
    TOKEN_MARGIN,
    TOKEN_P_CORRECT,
    TOKEN_ENTROPY,
    TOKEN_RADIAL,
    TOKEN_RADIAL_SQ,
    TOKEN_TANGENTIAL_SQ,
    TOKEN_AUX_RADIAL,
    TOKEN_LEADING, /* tokens whose correct class leads: margin > 0 */
    TOKEN_BOUNDED, /* of these, those within proposition 2's bound; NaN when one of them cannot be told (LayerNorm) */
    TOKEN_SUMS
};

/* sums[s] += sum_n, or the larger one for the maxima. */
struct token_sums {
    const float *ce;                          /* [N] */
    struct logit_stats stats;                 /* all NULL: TOKEN_CE alone is added to */
    const float *scale, *radial, *tangential; /* [N]; read with the statistics */
    const float *aux_radial;                  /* [N]; NULL: none */
    enum norm_kind kind;                      /* of the final norm: its scale gives |h| with RMS */
    double eps;                               /* of the final norm */
    double *sums;                             /* [TOKEN_SUMS] */
    int N, C;
};

/* Skip the step or not, before its update. Sets outcome->skip, counts in outcome. */
struct step_verdict {
    const double *ce_sum, *aux_sum, *norm_sq; /* [1] each */
    const struct step_scalars *scalars;       /* step */
    struct step_outcome *outcome;
    const int32_t *adam_step; /* [counters] */
    int32_t *missed;          /* [counters] add: the updates that a skipped step should have made */
    int counters;
    bool averaging; /* a step of calibration: when it is skipped, its averages are missed as well */
    int limit;      /* so many skipped in a row stop the run; at least 1 */
};

/* A run of the flat parameter block that is updated alike. Offsets and sizes in floats. */
struct param_segment {
    size_t offset, size;
    bool decay;  /* weight decay applies: tensors of two or more dimensions */
    int counter; /* which of the Adam step counts is its; left alone while adam_step[counter] is 0 */
};

/* AdamW over the flat block, gradients clipped to the global norm on the way (Loshchilov and Hutter 2019):
 *   g' = g * min(1, clip/norm); p -= p*lr*decay; p -= lr * mhat / (sqrt(vhat) + eps) */
struct adamw {
    float *params, *m, *v;
    const float *grads;
    const struct param_segment *segments; /* host memory, constant over the run */
    int segment_count;
    const double *norm_sq; /* [1] squared global norm, from sum_squares */
    float clip;            /* 0: no clipping */
    float beta1, beta2, eps, weight_decay;
    const struct step_scalars *scalars; /* lr */
    const int32_t *adam_step;           /* [counters] updates including this one; 0: off the graph */
    /* NULL, both: none. Nothing is touched when the outcome says skip; else what was missed is not counted among
     * adam_step. */
    const struct step_outcome *outcome;
    const int32_t *missed; /* [counters] */
};

/* One query a sequence against the cache, after writing this token's k and v at position pos[b] (rotated with rope). */
struct decode_attention {
    float *qkv;               /* [B,3A]; with rope q and k are rotated in place */
    float *k_cache, *v_cache; /* [B,H,S,D] */
    float *out;               /* [B,A] set */
    const int32_t *pos;       /* [B] position of this token, below S */
    struct rope rope;
    int B, H, D, S;
};

/* Draw the next token of each row. temperature 0 is the argmax (lowest index among equals). top_k 0 and top_p 1 are
 * off. Random numbers: RNG_SAMPLE stream of seed, second = position, index = row. */
struct sample_tokens {
    const float *logits; /* [B,V] */
    int32_t *tokens;     /* [B] set */
    float temperature, top_p;
    int top_k;
    uint64_t seed, position;
    int B, V;
};

enum { STAGED_MOST = 2 };

struct ops {
    const char *name; /* "reference", "cpu", "cuda" */
    /* Calls return before the work is done, and reading a result back waits for it: the trainer then reads only what is
     * to be reported, when it is. */
    bool deferred;

    /* Lifecycle. destroy(NULL) is fine; memory not released by then is released with the backend. */
    int (*create)(struct backend **out, const struct backend_options *options, struct error *err);
    void (*destroy)(struct backend *be);

    /* Memory, 64-byte aligned, zeroed. alloc returns NULL and sets err when there is none. */
    void *(*alloc)(struct backend *be, size_t bytes, struct error *err);
    void (*release)(struct backend *be, void *memory);
    void (*upload)(struct backend *be, void *to, const void *from, size_t bytes);   /* host to backend, ordered */
    void (*download)(struct backend *be, void *to, const void *from, size_t bytes); /* waits for what came before */
    void (*copy)(struct backend *be, void *to, const void *from, size_t bytes);     /* within the backend */
    void (*zero)(struct backend *be, void *memory, size_t bytes);
    int (*sync)(struct backend *be, struct error *err); /* wait; report the first error since the last sync */

    /* Data ahead of the work: stage takes a copy and begins to send it, and unstage, in order with the ops, puts what
     * was staged first into `to`. At most STAGED_MOST are on their way, each as large as the first one at most. */
    void (*stage)(struct backend *be, const void *from, size_t bytes);
    void (*unstage)(struct backend *be, void *to, size_t bytes);

    /* Run body(arg), which enqueues ops. The first call with a key may record it as a graph, later ones replay the
     * recording without calling body: body must enqueue the same work with the same pointers each time, as long as the
     * epoch is the same; a recording of another epoch is dropped. key 0..63; forget_graphs drops all recordings. */
    void (*replay)(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg);
    void (*forget_graphs)(struct backend *be);

    /* out[b,t] = tok[tokens[b,t]] + pos[t] (pos NULL: none). out [B*T,C] set. */
    void (*embed_forward)(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos,
                          int B, int T, int C);
    /* dtok[token] += dout rows, dpos[t] += dout rows (dpos NULL: none). dtok [V,C], dpos [>=T,C] add. */
    void (*embed_backward)(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens,
                           int B, int T, int C, int V);

    /* out[i] = in[i] + delta[i], i < count; out may be in. Where no norm stands: a branch joins the stream. */
    void (*residual_add)(struct backend *be, float *out, const float *in, const float *delta, size_t count);

    /* Rows side by side: out[n] = a[n], b[n]. out [N,A+B] set, a [N,A], b [N,B]. */
    void (*join_columns)(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B);
    /* And apart again: a [N,A] and b [N,B] set, in [N,A+B]. */
    void (*split_columns)(struct backend *be, float *a, float *b, const float *in, int N, int A, int B);

    void (*norm_forward)(struct backend *be, const struct norm_forward *a);
    void (*norm_backward)(struct backend *be, const struct norm_backward *a);
    void (*linear_forward)(struct backend *be, const struct linear_forward *a);
    void (*linear_backward)(struct backend *be, const struct linear_backward *a);
    void (*attention_forward)(struct backend *be, const struct attention_forward *a);
    void (*attention_backward)(struct backend *be, const struct attention_backward *a);
    void (*head)(struct backend *be, const struct head_pass *a);
    void (*aux_loss)(struct backend *be, const struct aux_loss *a);
    void (*radial_probe)(struct backend *be, const struct radial_probe *a);

    /* out[0] = sum of x[i]^2 over the segments that are on the graph (adam_step[counter] > 0). set. */
    void (*sum_squares)(struct backend *be, double *out, const float *x, const struct param_segment *segments,
                        int count, const int32_t *adam_step);
    void (*adamw)(struct backend *be, const struct adamw *a);
    /* ema[i] = decay*ema[i] + (1-decay)*sums[i]*scale, i < count; nothing when the outcome (NULL: none) says skip. The
     * bias correction is the reader's. */
    void (*ema_update)(struct backend *be, double *ema, const double *sums, double decay, double scale, int count,
                       const struct step_outcome *outcome);
    void (*token_sums)(struct backend *be, const struct token_sums *a);
    void (*judge_step)(struct backend *be, const struct step_verdict *a);

    void (*decode_attention)(struct backend *be, const struct decode_attention *a);
    void (*sample)(struct backend *be, const struct sample_tokens *a);
};

/* The plain reference, and the fast CPU implementation. Constant tables, every slot filled. */
const struct ops *ops_reference(void);
const struct ops *ops_cpu(void);

/* The name of the first empty slot, NULL when the table is whole: a loaded backend is checked with it. */
const char *ops_first_empty(const struct ops *ops);

#endif
