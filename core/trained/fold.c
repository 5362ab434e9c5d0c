#include "core/trained/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

/* ------------------------------------------------------------------------------------------- folding */

/* Host copies of both blocks while the new one is made. */
struct folding {
    const struct model *from;
    const struct param_table *source, *target;
    const float *old;
    const float *c;
    float *new;
};

/* Rows of the same name carry over; the folded projections are overwritten afterwards. */
static void carry_over(const struct folding *f)
{
    for (int i = 0; i < f->target->count; i++) {
        const struct param *to = &f->target->rows[i];
        int row = params_find(f->source, to->name);
        if (row != NO_PARAM)
            memcpy(f->new + to->offset, f->old + f->source->rows[row].offset, to->size * sizeof *f->new);
    }
}

/* One projection's rows of W [O,C] through site i; bias and beta are NULL where there is none. */
static void fold_rows(const struct folding *f, int i, const float *weight, const float *bias, float *to, float *to_bias,
                      int64_t O)
{
    const struct param_site *site = &f->source->sites[i];
    const int64_t C = f->from->cfg.d_model;
    const float *gamma = f->old + f->source->rows[site->gamma_tilde].offset;
    const float *beta = site->beta_tilde == NO_PARAM ? NULL : f->old + f->source->rows[site->beta_tilde].offset;
    const double c = (double)f->c[i];
    double *row = memory_alloc((size_t)C, sizeof *row);
    for (int64_t o = 0; o < O; o++) {
        const float *w = weight + o * C;
        double mean = 0, shift = bias ? (double)bias[o] : 0;
        for (int64_t j = 0; j < C; j++) {
            row[j] = (double)w[j] * c * (double)gamma[j];
            mean += row[j] / (double)C;
            if (beta)
                shift += (double)w[j] * (double)beta[j];
        }
        for (int64_t j = 0; j < C; j++)
            to[o * C + j] = (float)(row[j] - (beta ? mean : 0));
        if (to_bias)
            to_bias[o] = (float)shift;
    }
    free(row);
}

/* A projection of the model, and what it becomes. */
struct projection {
    int weight, bias, new_weight, new_bias;
};

/* Its rows first..first+count-1, which read site i. */
static void fold_slice(const struct folding *f, int i, const struct projection *p, int64_t first, int64_t count)
{
    const struct param *w = &f->source->rows[p->weight];
    const int64_t at = first * w->shape[1];
    fold_rows(f, i, f->old + w->offset + at,
              p->bias == NO_PARAM ? NULL : f->old + f->source->rows[p->bias].offset + first,
              f->new + f->target->rows[p->new_weight].offset + at,
              p->new_bias == NO_PARAM ? NULL : f->new + f->target->rows[p->new_bias].offset + first, count);
}

static void fold_projection(const struct folding *f, int i, const struct projection *p)
{
    fold_slice(f, i, p, 0, f->source->rows[p->weight].shape[0]);
}

static void fold_block(const struct folding *f, int l)
{
    const struct param_block *a = &f->source->blocks[l], *b = &f->target->blocks[l];
    const struct projection qkv = {a->qkv, a->qkv_bias, b->qkv, b->qkv_bias};
    const int64_t A = config_attn(&f->from->cfg);
    fold_slice(f, a->attn_site, &qkv, 0, 2 * A);
    fold_slice(f, a->value_site, &qkv, 2 * A, A);
    fold_projection(f, a->mlp_site, &(struct projection){a->in, a->in_bias, b->in, b->in_bias});
}

int fold_model(const struct model *from, struct model *folded, struct error *err)
{
    int status = model_create_folded(folded, &from->cfg, (enum taper_sites)from->cfg.sites, from->ops, from->be, err);
    if (status)
        return error_wrap(err, "fold");
    float *old = model_download(from, from->params), *c = model_download_c(from);
    struct folding f = {.from = from,
                        .source = &from->table,
                        .target = &folded->table,
                        .old = old,
                        .c = c,
                        .new = memory_alloc(folded->table.total, sizeof *f.new)};
    carry_over(&f);
    for (int i = 0; i < from->table.layers; i++)
        fold_block(&f, i);
    if (folded->table.folded == SITES_ALL)
        fold_projection(&f, f.source->final_site,
                        &(struct projection){f.source->lm_head, NO_PARAM, f.target->lm_head, f.target->head_bias});
    /* What is left has no tapered site: c is read by none, and 1. */
    for (int i = 0; i < from->table.site_count; i++)
        c[i] = 1;
    from->ops->upload(from->be, folded->params, f.new, folded->table.total * sizeof *f.new);
    from->ops->upload(from->be, folded->c, c, (size_t)from->table.site_count * sizeof *c);
    status = from->ops->sync(from->be, err);
    free(old);
    free(c);
    free(f.new);
    if (status)
        model_destroy(folded);
    return status;
}

/* ----------------------------------------------------------------------------------------- verification */

int fold_verify(struct model *plain, struct model *folded, const int32_t *windows, int count, int T,
                struct logits_difference *out, struct error *err)
{
    const struct model *const both[2] = {plain, folded};
    model_set_gate(plain, 0);
    model_set_gate(folded, 0);
    int status = compare_logits(both, windows, count, T, out, err);
    return status ? error_wrap(err, "fold: verify") : STATUS_OK;
}
