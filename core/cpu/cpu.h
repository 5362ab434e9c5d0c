/* The fast CPU implementation of the ops table: its backend and the parts its files share.
 *
 * One op, one file, as in core/ref. Parallelism is here alone: every op splits its work over be->threads with
 * parallel_run, and every thread calls single-threaded BLAS. Scratch memory belongs to the backend and only grows. */
#ifndef TAPER_CORE_CPU_CPU_H
#define TAPER_CORE_CPU_CPU_H

#include "core/cpu/kernels.h"
#include "core/ops/ops.h"
#include "core/ref/blocks.h"
#include "core/ref/staged.h"

struct backend {
    struct block_list blocks;
    struct staged staged;
    int threads;
    const struct kernels *kernels;
    void *scratch; /* contents are an op's own, lost at the next */
    size_t scratch_bytes;
    float *rope; /* see cpu_rope */
    int rope_T, rope_D;
    struct rope rope_kind;
};

/* count floats of scratch, 64-byte aligned, contents undefined; valid until the next call. */
float *cpu_scratch(struct backend *be, size_t count);

/* count rounded up so that what follows it in scratch stays aligned, and clear of the same cache sets. */
size_t cpu_padded(size_t count);

/* cos and sin of the angles t * rope_frequency(kind, i, D/2): [at least T][D/2][2], kept between calls; NULL where kind
 * is none. */
const float *cpu_rope(struct backend *be, int T, int D, struct rope kind);

/* Rotate one head's vector x [D] by the angles of its position (a row of cpu_rope), or back when sign is -1. */
void cpu_rotate(float *x, const float *angles, int D, float sign);

void cpu_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C);
void cpu_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V);
void cpu_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count);
void cpu_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B);
void cpu_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B);
void cpu_norm_forward(struct backend *be, const struct norm_forward *a);
void cpu_norm_backward(struct backend *be, const struct norm_backward *a);
void cpu_linear_forward(struct backend *be, const struct linear_forward *a);
void cpu_linear_backward(struct backend *be, const struct linear_backward *a);
void cpu_attention_forward(struct backend *be, const struct attention_forward *a);
void cpu_attention_backward(struct backend *be, const struct attention_backward *a);
void cpu_head(struct backend *be, const struct head_pass *a);
void cpu_aux_loss(struct backend *be, const struct aux_loss *a);
void cpu_radial_probe(struct backend *be, const struct radial_probe *a);
void cpu_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step);
void cpu_adamw(struct backend *be, const struct adamw *a);
void cpu_decode_attention(struct backend *be, const struct decode_attention *a);
void cpu_sample(struct backend *be, const struct sample_tokens *a);

#endif
