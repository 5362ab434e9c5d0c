#include "core/model/transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

static enum op_act activation_of(const struct config *cfg)
{
    return cfg->mlp == MLP_SWIGLU ? ACT_SWIGLU : cfg->mlp == MLP_GELU_TANH ? ACT_GELU_TANH : ACT_GELU;
}

static int wide(const struct config *cfg)
{
    return (int)(cfg->mlp == MLP_SWIGLU ? 2 * cfg->d_ff : cfg->d_ff);
}

/* ------------------------------------------------------------------------------------------- memory */

/* Hands out parts of one block: first counts with base NULL, then again with the real base. */
struct carver {
    char *base;
    size_t used;
};

static void *carve(struct carver *c, size_t count, size_t size)
{
    void *at = c->base ? c->base + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return at;
}

static float *floats(struct carver *c, size_t count)
{
    return carve(c, count, sizeof(float));
}

static void lay_out_layer(struct layer_activations *l, struct carver *c, const struct activations *a,
                          const struct config *cfg)
{
    size_t N = (size_t)a->N, C = (size_t)cfg->d_model, A = (size_t)config_attn(cfg);
    /* Without gradients the stream is updated in place: both norms of a layer see the same memory. */
    l->h_attn = floats(c, N * C);
    l->h_mlp = a->gradients ? floats(c, N * C) : l->h_attn;
    l->y_attn = floats(c, N * C);
    l->y_mlp = a->gradients ? floats(c, N * C) : l->y_attn;
    l->y_value = !config_fakeln(cfg) ? NULL : a->gradients ? floats(c, N * C) : l->y_attn;
    l->qkv = floats(c, N * 3 * A);
    l->att = floats(c, N * A);
    l->lse = floats(c, N * (size_t)cfg->heads);
    l->pre = floats(c, N * (size_t)wide(cfg));
    l->act = floats(c, N * (size_t)cfg->d_ff);
    for (int i = 0; i < 2; i++) {
        l->scale[i] = floats(c, N);
        l->mean[i] = cfg->norm == NORM_LAYER ? floats(c, N) : NULL;
    }
}

static void lay_out(struct activations *a, struct carver *c, const struct model *m)
{
    const struct config *cfg = &m->cfg;
    size_t N = (size_t)a->N, C = (size_t)cfg->d_model, A = (size_t)config_attn(cfg);
    a->site_sums = carve(c, (size_t)m->table.site_count * SITE_SUMS, sizeof(double));
    a->aux_sum = carve(c, 1, sizeof(double));
    a->tokens = carve(c, N, sizeof(int32_t));
    a->targets = carve(c, N, sizeof(int32_t));
    for (int i = 0; i < m->table.layers; i++)
        if (i == 0 || a->gradients)
            lay_out_layer(&a->layers[i], c, a, cfg);
        else
            a->layers[i] = a->layers[0];
    a->delta = floats(c, N * C);
    if (config_fakeln(cfg)) {
        a->qk = floats(c, N * 2 * A);
        a->value = floats(c, N * A);
    }
    a->h = a->gradients ? floats(c, N * C) : a->layers[0].h_attn;
    a->y = floats(c, N * C);
    a->scale = floats(c, N);
    a->mean = cfg->norm == NORM_LAYER ? floats(c, N) : NULL;
    a->ce = floats(c, N);
    if (!a->gradients)
        return;
    float **per_token[] = {&a->stats.sum_sq,  &a->stats.max_abs, &a->stats.std,  &a->stats.margin, &a->stats.p_correct,
                           &a->stats.entropy, &a->radial,        &a->tangential, &a->aux_radial};
    for (size_t i = 0; i < sizeof per_token / sizeof per_token[0]; i++)
        *per_token[i] = floats(c, N);
    a->dh = floats(c, N * C);
    a->dy = floats(c, N * (A > C ? A : C)); /* also at the output of attention */
    a->dqkv = floats(c, N * 3 * A);
    a->dpre = floats(c, N * (size_t)wide(cfg));
}

size_t activations_measure(const struct model *m, int B, int T, bool gradients)
{
    struct activations a = {.B = B, .T = T, .N = B * T, .gradients = gradients};
    struct carver count = {0};
    a.layers = memory_alloc((size_t)m->table.layers, sizeof *a.layers);
    lay_out(&a, &count, m);
    free(a.layers);
    return count.used;
}

int activations_create(struct activations *a, const struct model *m, int B, int T, bool gradients, struct error *err)
{
    *a = (struct activations){.B = B, .T = T, .N = B * T, .gradients = gradients};
    a->layers = memory_alloc((size_t)m->table.layers, sizeof *a->layers);
    struct carver count = {0};
    lay_out(a, &count, m);
    a->bytes = count.used;
    a->block = m->ops->alloc(m->be, a->bytes, err);
    if (!a->block) {
        free(a->layers);
        *a = (struct activations){0};
        return error_wrap(err, "activations of %d windows of %d tokens", B, T);
    }
    lay_out(a, &(struct carver){.base = (char *)a->block}, m);
    return STATUS_OK;
}

void activations_destroy(struct activations *a, const struct model *m)
{
    if (a->block)
        m->ops->release(m->be, a->block);
    free(a->layers);
    *a = (struct activations){0};
}

/* ------------------------------------------------------------------------------------------- forward */

/* Does anybody read s(h) of this site in this pass? At gate 0 it is computed only then. */
static bool scale_wanted(const struct model *m, const struct pass *pass, int i)
{
    const struct param_site *s = &m->table.sites[i];
    bool final = i == m->table.final_site;
    return !s->tapered || m->site_phase[i] != PHASE_FOLDED || pass->statistics || (final && pass->aux);
}

/* Returns what the next projection reads: y, or the stream itself where no norm stands. */
static const float *norm(const struct model *m, const struct activations *a, const struct pass *pass, int i,
                         const float *in, const float *delta, float *h, float *y, float *scale, float *mean)
{
    const struct param_site *s = &m->table.sites[i];
    if (s->absent || (pass->bare && s->tapered)) {
        if (delta)
            m->ops->residual_add(m->be, h, in, delta, (size_t)a->N * (size_t)m->cfg.d_model);
        return delta ? h : in;
    }
    const bool final = i == m->table.final_site, wanted = scale_wanted(m, pass, i);
    const bool calibrate = pass->calibrate && wanted, fakeln = config_fakeln(&m->cfg);
    double *sums = a->site_sums + i * SITE_SUMS;
    m->ops->norm_forward(
        m->be, &(struct norm_forward){
                   .site = model_site(m, i),
                   .in = in,
                   .delta = delta,
                   .h = h,
                   .y = y,
                   .scale = wanted ? scale : NULL,
                   .mean = mean,
                   .calibration = calibrate && s->tapered && !fakeln ? sums + SUM_NUM : NULL,
                   .scale_sum = pass->statistics || (calibrate && (final || fakeln)) ? sums + SUM_SCALE : NULL,
                   .N = a->N,
                   .C = (int)m->cfg.d_model,
               });
    return y;
}

/* `count` rows of a weight from row `first` on. */
struct slice {
    int first, count;
};

static struct slice all_rows(const struct model *m, int weight)
{
    return (struct slice){0, (int)m->table.rows[weight].shape[0]};
}

/* Where a slice begins in a block's weight, and in its bias; NULL where there is none. */
static float *weight_at(const struct model *m, float *block, int weight, struct slice rows)
{
    return model_row(m, block, weight) + (size_t)rows.first * (size_t)m->table.rows[weight].shape[1];
}

static float *bias_at(const struct model *m, float *block, int bias, struct slice rows)
{
    float *row = model_row(m, block, bias);
    return row ? row + rows.first : NULL;
}

static void linear_rows(const struct model *m, const struct activations *a, int weight, int bias, struct slice rows,
                        const float *in, float *pre, float *out, enum op_act act)
{
    m->ops->linear_forward(m->be, &(struct linear_forward){
                                      .in = in,
                                      .weight = weight_at(m, m->params, weight, rows),
                                      .bias = bias_at(m, m->params, bias, rows),
                                      .pre = pre,
                                      .out = out,
                                      .act = act,
                                      .N = a->N,
                                      .I = (int)m->table.rows[weight].shape[1],
                                      .O = rows.count,
                                  });
}

static void linear(const struct model *m, const struct activations *a, int weight, int bias, const float *in,
                   float *pre, float *out, enum op_act act)
{
    linear_rows(m, a, weight, bias, all_rows(m, weight), in, pre, out, act);
}

/* The attention's norm and its projection. Where V reads another vector, its third of the rows goes by itself. */
static void project_qkv(const struct model *m, struct activations *a, const struct pass *pass, int i)
{
    const struct param_block *p = &m->table.blocks[i];
    struct layer_activations *l = &a->layers[i];
    const int A = (int)config_attn(&m->cfg);
    /* The first norm reads the embedding, every later one adds the branch before it. */
    const float *in = i == 0 ? l->h_attn : a->layers[i - 1].h_mlp;
    const float *y =
        norm(m, a, pass, p->attn_site, in, i == 0 ? NULL : a->delta, l->h_attn, l->y_attn, l->scale[0], l->mean[0]);
    if (pass->bare || !model_values_apart(m, i)) {
        linear(m, a, p->qkv, p->qkv_bias, y, l->qkv, NULL, ACT_NONE);
        return;
    }
    linear_rows(m, a, p->qkv, p->qkv_bias, (struct slice){0, 2 * A}, y, a->qk, NULL, ACT_NONE);
    y = norm(m, a, pass, p->value_site, l->h_attn, NULL, NULL, l->y_value, l->scale[0], l->mean[0]);
    linear_rows(m, a, p->qkv, p->qkv_bias, (struct slice){2 * A, A}, y, a->value, NULL, ACT_NONE);
    m->ops->join_columns(m->be, l->qkv, a->qk, a->value, a->N, 2 * A, A);
}

static void block_forward(const struct model *m, struct activations *a, const struct pass *pass, int i)
{
    const struct param_block *p = &m->table.blocks[i];
    struct layer_activations *l = &a->layers[i];
    const struct config *cfg = &m->cfg;
    project_qkv(m, a, pass, i);
    m->ops->attention_forward(m->be, &(struct attention_forward){
                                         .qkv = l->qkv,
                                         .out = l->att,
                                         .lse = l->lse,
                                         .rope = model_rope(cfg),
                                         .B = a->B,
                                         .T = a->T,
                                         .H = (int)cfg->heads,
                                         .D = (int)config_head(cfg),
                                     });
    linear(m, a, p->out, p->out_bias, l->att, a->delta, NULL, ACT_NONE);
    const float *y = norm(m, a, pass, p->mlp_site, l->h_attn, a->delta, l->h_mlp, l->y_mlp, l->scale[1], l->mean[1]);
    linear(m, a, p->in, p->in_bias, y, l->pre, l->act, activation_of(cfg));
    linear(m, a, p->mlp_out, p->mlp_out_bias, l->act, a->delta, NULL, ACT_NONE);
}

const float *transformer_forward(const struct model *m, struct activations *a, const struct pass *pass)
{
    const struct config *cfg = &m->cfg;
    m->ops->embed_forward(m->be, a->layers[0].h_attn, a->tokens, model_row(m, m->params, m->table.tok_embed),
                          model_row(m, m->params, m->table.pos_embed), a->B, a->T, (int)cfg->d_model);
    for (int i = 0; i < m->table.layers; i++)
        block_forward(m, a, pass, i);
    return norm(m, a, pass, m->table.final_site, a->layers[m->table.layers - 1].h_mlp, a->delta, a->h, a->y, a->scale,
                a->mean);
}

/* ------------------------------------------------------------------------------------------ backward */

static void norm_back(const struct model *m, const struct activations *a, const struct pass *pass, int i,
                      const float *h, const float *scale, const float *mean, bool fresh)
{
    const struct param_site *s = &m->table.sites[i];
    m->ops->norm_backward(m->be, &(struct norm_backward){
                                     .site = model_site(m, i),
                                     .dy = a->dy,
                                     .h = h,
                                     .scale = scale_wanted(m, pass, i) ? scale : NULL,
                                     .mean = mean,
                                     .dh = a->dh,
                                     .fresh = fresh,
                                     .dgamma = model_row(m, pass->grads, s->gamma),
                                     .dbeta = model_row(m, pass->grads, s->beta),
                                     .dgamma_tilde = model_row(m, pass->grads, s->gamma_tilde),
                                     .dbeta_tilde = model_row(m, pass->grads, s->beta_tilde),
                                     .N = a->N,
                                     .C = (int)m->cfg.d_model,
                                 });
}

static void linear_rows_back(const struct model *m, const struct activations *a, const struct pass *pass, int weight,
                             int bias, struct slice rows, const float *dout, const float *in, float *din,
                             const float *in_pre, enum op_act in_act)
{
    m->ops->linear_backward(m->be, &(struct linear_backward){
                                       .dout = dout,
                                       .in = in,
                                       .weight = weight_at(m, m->params, weight, rows),
                                       .dweight = weight_at(m, pass->grads, weight, rows),
                                       .dbias = bias_at(m, pass->grads, bias, rows),
                                       .din = din,
                                       .in_pre = in_pre,
                                       .in_act = in_act,
                                       .N = a->N,
                                       .I = (int)m->table.rows[weight].shape[1],
                                       .O = rows.count,
                                   });
}

static void linear_back(const struct model *m, const struct activations *a, const struct pass *pass, int weight,
                        int bias, const float *dout, const float *in, float *din, const float *in_pre,
                        enum op_act in_act)
{
    linear_rows_back(m, a, pass, weight, bias, all_rows(m, weight), dout, in, din, in_pre, in_act);
}

static void project_qkv_back(const struct model *m, struct activations *a, const struct pass *pass, int i)
{
    const struct param_block *p = &m->table.blocks[i];
    const struct layer_activations *l = &a->layers[i];
    const int A = (int)config_attn(&m->cfg);
    if (!model_values_apart(m, i)) {
        linear_back(m, a, pass, p->qkv, p->qkv_bias, a->dqkv, l->y_attn, a->dy, NULL, ACT_NONE);
        norm_back(m, a, pass, p->attn_site, l->h_attn, l->scale[0], l->mean[0], false);
        return;
    }
    m->ops->split_columns(m->be, a->qk, a->value, a->dqkv, a->N, 2 * A, A);
    linear_rows_back(m, a, pass, p->qkv, p->qkv_bias, (struct slice){0, 2 * A}, a->qk, l->y_attn, a->dy, NULL,
                     ACT_NONE);
    norm_back(m, a, pass, p->attn_site, l->h_attn, l->scale[0], l->mean[0], false);
    linear_rows_back(m, a, pass, p->qkv, p->qkv_bias, (struct slice){2 * A, A}, a->value, l->y_value, a->dy, NULL,
                     ACT_NONE);
    norm_back(m, a, pass, p->value_site, l->h_attn, l->scale[0], l->mean[0], false);
}

static void block_backward(const struct model *m, struct activations *a, const struct pass *pass, int i)
{
    const struct param_block *p = &m->table.blocks[i];
    const struct layer_activations *l = &a->layers[i];
    const struct config *cfg = &m->cfg;
    linear_back(m, a, pass, p->mlp_out, p->mlp_out_bias, a->dh, l->act, a->dpre, l->pre, activation_of(cfg));
    linear_back(m, a, pass, p->in, p->in_bias, a->dpre, l->y_mlp, a->dy, NULL, ACT_NONE);
    norm_back(m, a, pass, p->mlp_site, l->h_mlp, l->scale[1], l->mean[1], false);
    linear_back(m, a, pass, p->out, p->out_bias, a->dh, l->att, a->dy, NULL, ACT_NONE);
    m->ops->attention_backward(m->be, &(struct attention_backward){
                                          .qkv = l->qkv,
                                          .out = l->att,
                                          .lse = l->lse,
                                          .dout = a->dy,
                                          .dqkv = a->dqkv,
                                          .rope = model_rope(cfg),
                                          .B = a->B,
                                          .T = a->T,
                                          .H = (int)cfg->heads,
                                          .D = (int)config_head(cfg),
                                      });
    project_qkv_back(m, a, pass, i);
}

/* From the head's gradient to the stream: here the gradient of the cross-entropy alone is at h, so the probe looks,
 * and only then does the aux loss join. */
static void loss_backward(const struct model *m, struct activations *a, const struct pass *pass)
{
    norm_back(m, a, pass, m->table.final_site, a->h, a->scale, a->mean, true);
    if (pass->statistics)
        m->ops->radial_probe(m->be, &(struct radial_probe){
                                        .dh = a->dh,
                                        .h = a->h,
                                        .grad_scale = pass->grad_scale,
                                        .radial = a->radial,
                                        .tangential = a->tangential,
                                        .N = a->N,
                                        .C = (int)m->cfg.d_model,
                                    });
    if (pass->aux)
        m->ops->aux_loss(m->be, &(struct aux_loss){
                                    .h = a->h,
                                    .scale = a->scale,
                                    .mean = a->mean,
                                    .dh = a->dh,
                                    .sum = a->aux_sum,
                                    .radial = pass->statistics ? a->aux_radial : NULL,
                                    .lambda = (float)m->cfg.aux_lambda,
                                    .grad_scale = pass->grad_scale,
                                    .scalars = m->scalars,
                                    .N = a->N,
                                    .C = (int)m->cfg.d_model,
                                });
}

void transformer_pass(const struct model *m, struct activations *a, const struct pass *pass)
{
    const float *y = transformer_forward(m, a, pass);
    m->ops->head(m->be, &(struct head_pass){
                            .y = y,
                            .weight = model_row(m, m->params, m->table.lm_head),
                            .bias = model_row(m, m->params, m->table.head_bias),
                            .targets = a->targets,
                            .ce = a->ce,
                            .dy = pass->grads ? a->dy : NULL,
                            .dweight = pass->grads ? model_row(m, pass->grads, m->table.lm_head) : NULL,
                            .grad_scale = pass->grad_scale,
                            .stats = pass->statistics ? a->stats : (struct logit_stats){0},
                            .logits = pass->logits,
                            .N = a->N,
                            .C = (int)m->cfg.d_model,
                            .V = (int)(pass->logits ? m->cfg.vocab : config_classes(&m->cfg)),
                        });
    if (!pass->grads)
        return;
    loss_backward(m, a, pass);
    for (int i = m->table.layers - 1; i >= 0; i--)
        block_backward(m, a, pass, i);
    m->ops->embed_backward(m->be, model_row(m, pass->grads, m->table.tok_embed),
                           model_row(m, pass->grads, m->table.pos_embed), a->dh, a->tokens, a->B, a->T,
                           (int)m->cfg.d_model, (int)m->cfg.vocab);
}
