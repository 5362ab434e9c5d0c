/* A class has one norm before Q, K and V, a model whose norms FakeLN has removed two constants there: c' for V beside
 * c. Made one: V's rows take in what differs, W y' = W (c'/c) y + W (1 - c'/c) beta with y' = c' x gamma + beta and y =
 * c x gamma + beta. */
#include "core/trained/interop_internal.h"

static void join_block(struct model *m, const struct param_block *b, float *c)
{
    const int64_t C = m->cfg.d_model, A = config_attn(&m->cfg);
    const double ratio = (double)c[b->value_site] / (double)c[b->attn_site];
    const float *beta = model_row(m, m->params, m->table.sites[b->value_site].beta);
    float *weight = model_row(m, m->params, b->qkv) + 2 * A * C, *bias = model_row(m, m->params, b->qkv_bias);
    for (int64_t o = 0; o < A; o++) {
        double shift = 0;
        for (int64_t i = 0; i < C; i++) {
            float *w = weight + o * C + i;
            shift += beta ? (double)*w * (double)beta[i] : 0;
            *w = (float)(ratio * (double)*w);
        }
        if (bias)
            bias[2 * A + o] = (float)((double)bias[2 * A + o] + (1 - ratio) * shift);
    }
    c[b->value_site] = c[b->attn_site];
}

void interop_join_values(struct model *m)
{
    for (int l = 0; l < m->table.layers; l++) {
        const struct param_block *b = &m->table.blocks[l];
        if (b->value_site != b->attn_site)
            join_block(m, b, m->c);
    }
}
