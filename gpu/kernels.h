/* The kernels' launchers, C ABI: each enqueues on the stream (a cudaStream_t) and returns; a bad launch shows in the
 * runtime's last error. Pointers are device memory unless said. What each computes is in core/ops/ops.h; the notes here
 * say only what differs. Every result is a function of the inputs alone: sums are taken in a fixed order. */
#ifndef TAPER_GPU_KERNELS_H
#define TAPER_GPU_KERNELS_H

#include "core/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor to read: fp32, or bf16 when `half`. */
struct view {
    const void *at;
    int half;
};

/* A tensor to write, in either precision or both; NULL is left out. */
struct sink {
    float *full;
    uint16_t *half;
};

/* ---- elementwise.cu */
void kernel_to_half(void *stream, uint16_t *to, const float *from, size_t count);
void kernel_to_full(void *stream, float *to, const uint16_t *from, size_t count);

/* out = in + delta, elementwise; out.full may be in. */
void kernel_residual_add(void *stream, struct sink out, const float *in, struct view delta, size_t count);

void kernel_join_columns(void *stream, struct sink out, struct view a, struct view b, int N, int A, int B);
void kernel_split_columns(void *stream, struct sink a, struct sink b, struct view in, int N, int A, int B);

/* pre [N,O] += bias (NULL: none), in its own precision; out = act(pre), nothing with ACT_NONE. */
void kernel_activate(void *stream, struct sink pre, const float *bias, struct sink out, enum op_act act, int N, int O);

/* din = gradient at pre, from d, the gradient at act(pre) [N,I]; pre and din are [N,2I] with ACT_SWIGLU. */
void kernel_activate_backward(void *stream, struct view d, struct view pre, struct sink din, enum op_act act, int N,
                              int I);

/* Rotate q and k of qkv [B,T,3,H,D] in place, sign +1 or -1; positions are 0..T-1. */
void kernel_rotate(void *stream, struct sink qkv, struct rope rope, int sign, int B, int T, int H, int D);

/* ---- embed.cu */
void kernel_embed(void *stream, float *out, const int32_t *tokens, const float *tok, const float *pos, int B, int T,
                  int C);

/* Integers of scratch that kernel_embed_backward needs. */
size_t kernel_embed_scratch(int N, int V);
void kernel_embed_backward(void *stream, float *dtok, float *dpos, const float *dout, const int32_t *tokens,
                           int32_t *scratch, int B, int T, int C, int V);

/* ---- norm.cu */
/* energy: [N] scratch, written when a->calibration is wanted. a->in and a->h are fp32. */
void kernel_norm_forward(void *stream, const struct norm_forward *a, struct view delta, struct sink y, float *energy);

/* Floats of scratch for the vectors' gradients. */
size_t kernel_norm_scratch(int N, int C);
/* dh.full is added to (set when fresh); dh.half, when there, gets the result. */
void kernel_norm_backward(void *stream, const struct norm_backward *a, struct view dy, struct sink dh, float *scratch);

/* rows: [N] scratch. */
void kernel_aux_loss(void *stream, const struct aux_loss *a, float *rows);
void kernel_radial_probe(void *stream, const struct radial_probe *a);

/* to[O] += sum over rows of from [N,O]. scratch: kernel_norm_scratch(N, O) floats. */
void kernel_add_columns(void *stream, float *to, struct view from, int N, int O, float *scratch);

/* ---- attention.cu: fp32, any D; the yardstick, and what there is for shapes cuDNN does not take */
size_t kernel_attention_shared(int T, int D); /* bytes of shared memory a block needs */
void kernel_attention_forward(void *stream, const float *qkv, float *out, float *lse, int B, int T, int H, int D);
/* dots: [B,H,T] scratch. */
void kernel_attention_backward(void *stream, const struct attention_backward *a, float *dots);
/* half: a bf16 copy of out, or NULL. */
void kernel_decode_attention(void *stream, const struct decode_attention *a, uint16_t *half);

/* ---- head.cu */
/* Cross-entropy and statistics of rows of logits z [rows,V], row stride `stride` floats, and dz, the gradient, of the
 * same stride (padding set to 0) when wanted; dz.full may be z itself. logits: [rows,V] copy, or NULL. */
void kernel_cross_entropy(void *stream, const float *z, int stride, const int32_t *targets, float *ce,
                          struct logit_stats stats, struct sink dz, float *logits, float grad_scale, int rows, int V);

/* ---- optimizer.cu */
/* A part of a segment, the work of one block. */
struct tile {
    uint64_t offset;
    int32_t size, decay, counter, pad;
};

enum { TILE_FLOATS = 8192 };

/* partial: [count] scratch. */
void kernel_sum_squares(void *stream, double *out, const float *x, const struct tile *tiles, int count,
                        const int32_t *adam_step, double *partial);
/* half: bf16 copy of the parameters to be written along, or NULL. */
void kernel_adamw(void *stream, const struct adamw *a, const struct tile *tiles, int count, uint16_t *half);
void kernel_ema(void *stream, double *ema, const double *sums, double decay, double scale, int count,
                const struct step_outcome *outcome);

/* ---- step.cu */
void kernel_token_sums(void *stream, const struct token_sums *a);
void kernel_judge_step(void *stream, const struct step_verdict *a);

/* ---- sample.cu */
void kernel_sample(void *stream, const struct sample_tokens *a);

#ifdef __cplusplus
}
#endif

#endif
