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

static void fold_projection(const struct folding *f, int site, int weight, int bias, int new_weight, int new_bias)
{
    const struct param *w = &f->source->rows[weight];
    fold_rows(f, site, f->old + w->offset, bias == NO_PARAM ? NULL : f->old + f->source->rows[bias].offset,
              f->new + f->target->rows[new_weight].offset,
              new_bias == NO_PARAM ? NULL : f->new + f->target->rows[new_bias].offset, w->shape[0]);
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
    for (int i = 0; i < from->table.layers; i++) {
        const struct param_block *a = &f.source->blocks[i], *b = &f.target->blocks[i];
        fold_projection(&f, a->attn_site, a->qkv, a->qkv_bias, b->qkv, b->qkv_bias);
        fold_projection(&f, a->mlp_site, a->in, a->in_bias, b->in, b->in_bias);
    }
    if (folded->table.folded == SITES_ALL)
        fold_projection(&f, f.source->final_site, f.source->lm_head, NO_PARAM, f.target->lm_head, f.target->head_bias);
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
