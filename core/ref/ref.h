/* The plain reference: one function for every slot of the ops table (core/ops/ops.h says what each does).
 *
 * Plain loops, double accumulation, one thread, never optimised: what the fast implementations are compared with. The
 * functions ignore the backend, so another implementation may use any of them as its own. */
#ifndef TAPER_CORE_REF_REF_H
#define TAPER_CORE_REF_REF_H

#include "core/ops/ops.h"

void ref_upload(struct backend *be, void *to, const void *from, size_t bytes);
void ref_download(struct backend *be, void *to, const void *from, size_t bytes);
void ref_copy(struct backend *be, void *to, const void *from, size_t bytes);
void ref_zero(struct backend *be, void *memory, size_t bytes);
int ref_sync(struct backend *be, struct error *err);
void ref_replay(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg);
void ref_forget_graphs(struct backend *be);

void ref_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C);
void ref_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V);
void ref_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count);
void ref_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B);
void ref_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B);
void ref_norm_forward(struct backend *be, const struct norm_forward *a);
void ref_norm_backward(struct backend *be, const struct norm_backward *a);
void ref_linear_forward(struct backend *be, const struct linear_forward *a);
void ref_linear_backward(struct backend *be, const struct linear_backward *a);
void ref_attention_forward(struct backend *be, const struct attention_forward *a);
void ref_attention_backward(struct backend *be, const struct attention_backward *a);
void ref_head(struct backend *be, const struct head_pass *a);
void ref_aux_loss(struct backend *be, const struct aux_loss *a);
void ref_radial_probe(struct backend *be, const struct radial_probe *a);
void ref_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step);
void ref_adamw(struct backend *be, const struct adamw *a);
void ref_ema_update(struct backend *be, double *ema, const double *sums, double decay, double scale, int count,
                    const struct step_outcome *outcome);
void ref_token_sums(struct backend *be, const struct token_sums *a);
void ref_judge_step(struct backend *be, const struct step_verdict *a);
void ref_decode_attention(struct backend *be, const struct decode_attention *a);
void ref_sample(struct backend *be, const struct sample_tokens *a);

/* Rotate one head's vector x [D] at position t by sign (+1 forward, -1 back): pairs (i, i + D/2). D is even. */
void ref_rotate(float *x, int D, int t, struct rope rope, double sign);

#endif
