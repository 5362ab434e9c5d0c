/* What is measured at the sites while they are calibrated, and what is frozen of it. */
#include "core/train/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

size_t calibration_count(const struct model *m)
{
    return (size_t)m->table.site_count * SITE_SUMS;
}

size_t calibration_forwards(const struct trainer *t)
{
    return config_fakeln(&t->model->cfg) ? (size_t)t->model->cfg.accumulate : 1;
}

void calibration_average(struct trainer *t, double tokens)
{
    struct model *m = t->model;
    const size_t count = calibration_count(m);
    if (!config_fakeln(&m->cfg)) {
        m->ops->ema_update(m->be, t->ema, t->acts.site_sums, m->cfg.ema, 1.0 / tokens, (int)count, t->outcome);
        return;
    }
    for (size_t i = 0; i < calibration_forwards(t); i++)
        m->ops->ema_update(m->be, t->ema, t->forward_sums + i * count, m->cfg.fakeln.ema, 1.0 / t->acts.N, (int)count,
                           t->outcome);
}

void calibration_share(const struct model *m, double *averages)
{
    for (int l = 0; l < m->table.layers; l++) {
        const struct param_block *b = &m->table.blocks[l];
        if (b->value_site != b->attn_site && !model_values_apart(m, l))
            memcpy(averages + b->value_site * SITE_SUMS, averages + b->attn_site * SITE_SUMS,
                   SITE_SUMS * sizeof *averages);
    }
}

/* What 1 - decay^n an average that began at 0 lacks yet. */
static double averaged_part(const struct trainer *t)
{
    const struct config *cfg = &t->model->cfg;
    const double n = (double)t->ema_updates * (double)calibration_forwards(t);
    return 1.0 - pow(config_fakeln(cfg) ? cfg->fakeln.ema : cfg->ema, n);
}

/* gamma into gamma_tilde, beta into beta_tilde, and c = E[|x gamma|^2 / s] / E[|x gamma|^2], where the bias corrections
 * cancel; with FakeLN, whose vectors stay what they are, c = 1 / sigma_avg. */
static void freeze_site(struct trainer *t, int i, const double *ema, float *c)
{
    struct model *m = t->model;
    const struct param_site *s = &m->table.sites[i];
    const int pairs[2][2] = {{s->gamma_tilde, s->gamma}, {s->beta_tilde, s->beta}};
    if (config_fakeln(&m->cfg)) {
        c[i] = (float)(averaged_part(t) / ema[i * SITE_SUMS + SUM_SCALE]);
        return;
    }
    c[i] = (float)(ema[i * SITE_SUMS + SUM_NUM] / ema[i * SITE_SUMS + SUM_DEN]);
    for (int p = 0; p < 2; p++)
        if (pairs[p][0] != NO_PARAM)
            m->ops->copy(m->be, model_row(m, m->params, pairs[p][0]), model_row(m, m->params, pairs[p][1]),
                         m->table.rows[pairs[p][0]].size * sizeof(float));
}

bool calibration_ends(const struct trainer *t, int64_t k)
{
    const struct model *m = t->model;
    bool ends = k == schedule_gate_warmup(&m->cfg);
    for (int i = 0; i < m->table.site_count; i++)
        ends = ends || (m->table.sites[i].tapered && k == schedule_calibrated(&m->cfg, &m->table, i));
    return ends;
}

int calibration_freeze(struct trainer *t, struct error *err)
{
    struct model *m = t->model;
    double *ema = memory_alloc(calibration_count(m), sizeof *ema);
    float *c = model_download_c(m);
    m->ops->download(m->be, ema, t->ema, calibration_count(m) * sizeof *ema);
    calibration_share(m, ema);
    for (int i = 0; i < m->table.site_count; i++)
        if (m->table.sites[i].tapered && t->step == schedule_calibrated(&m->cfg, &m->table, i))
            freeze_site(t, i, ema, c);
    m->ops->upload(m->be, m->c, c, (size_t)m->table.site_count * sizeof *c);
    m->ops->upload(m->be, t->ema, ema, calibration_count(m) * sizeof *ema);
    if (m->cfg.aux_target.word && t->step == schedule_gate_warmup(&m->cfg))
        t->target = ema[m->table.final_site * SITE_SUMS + SUM_SCALE] / averaged_part(t);
    int status = m->ops->sync(m->be, err);
    free(c);
    free(ema);
    return status;
}

double calibration_removed_scale(const struct trainer *t, int site)
{
    float *c = model_download_c(t->model);
    const double scale = 1.0 / (double)c[site];
    free(c);
    return scale;
}

double calibration_c(const struct trainer *t, const double *ema, const float *c, int site)
{
    const struct model *m = t->model;
    if (!m->table.sites[site].tapered)
        return NAN;
    if (t->step > schedule_calibrated(&m->cfg, &m->table, site))
        return (double)c[site];
    if (config_fakeln(&m->cfg))
        return averaged_part(t) / ema[site * SITE_SUMS + SUM_SCALE];
    return ema[site * SITE_SUMS + SUM_NUM] / ema[site * SITE_SUMS + SUM_DEN];
}

double *calibration_read_sums(struct trainer *t)
{
    struct model *m = t->model;
    const size_t count = calibration_count(m), passes = config_fakeln(&m->cfg) ? calibration_forwards(t) : 0;
    double *sums = memory_alloc(count, sizeof *sums), *each = memory_alloc(count, sizeof *each);
    m->ops->download(m->be, sums, t->acts.site_sums, count * sizeof *sums);
    for (size_t i = 0; i < passes; i++) {
        m->ops->download(m->be, each, t->forward_sums + i * count, count * sizeof *each);
        for (size_t j = 0; j < count; j++)
            sums[j] += each[j];
    }
    free(each);
    return sums;
}
