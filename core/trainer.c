#include "core/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/schedule.h"

static size_t ema_count(const struct model *m)
{
    return (size_t)m->table.site_count * SITE_SUMS;
}

int trainer_create(struct trainer *t, struct model *model, int batch, int T, struct error *err)
{
    const struct ops *ops = model->ops;
    size_t bytes = model->table.total * sizeof(float);
    *t = (struct trainer){.model = model, .target = NAN};
    if (!model->cfg.aux_target.word)
        t->target = model->cfg.aux_target.value;
    int status = activations_create(&t->acts, model, batch, T, true, err);
    if (status)
        return status;
    probe_create(&t->probe, t->acts.N);
    t->scratch = memory_alloc(2 * (size_t)t->acts.N, sizeof *t->scratch);
    t->grads = ops->alloc(model->be, bytes, err);
    t->m = t->grads ? ops->alloc(model->be, bytes, err) : NULL;
    t->v = t->m ? ops->alloc(model->be, bytes, err) : NULL;
    t->norm_sq = t->v ? ops->alloc(model->be, sizeof *t->norm_sq, err) : NULL;
    t->ema = t->norm_sq ? ops->alloc(model->be, ema_count(model) * sizeof *t->ema, err) : NULL;
    if (!t->ema) {
        trainer_destroy(t);
        return error_wrap(err, "optimizer state of %lld parameters", (long long)model->table.parameters);
    }
    return STATUS_OK;
}

void trainer_destroy(struct trainer *t)
{
    if (!t->model)
        return;
    void *blocks[] = {t->grads, t->m, t->v, t->norm_sq, t->ema};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i])
            t->model->ops->release(t->model->be, blocks[i]);
    activations_destroy(&t->acts, t->model);
    probe_destroy(&t->probe);
    free(t->scratch);
    *t = (struct trainer){0};
}

/* ------------------------------------------------------------------------------------ one micro-batch */

/* windows [B][T+1] -> tokens [B][T], targets [B][T], on the backend. */
static void load_windows(struct trainer *t, const int32_t *windows)
{
    struct activations *a = &t->acts;
    int32_t *tokens = t->scratch, *targets = t->scratch + a->N;
    for (int b = 0; b < a->B; b++) {
        const int32_t *window = windows + (size_t)b * (size_t)(a->T + 1);
        memcpy(tokens + (size_t)b * (size_t)a->T, window, (size_t)a->T * sizeof *tokens);
        memcpy(targets + (size_t)b * (size_t)a->T, window + 1, (size_t)a->T * sizeof *targets);
    }
    t->model->ops->upload(t->model->be, a->tokens, tokens, (size_t)a->N * sizeof *tokens);
    t->model->ops->upload(t->model->be, a->targets, targets, (size_t)a->N * sizeof *targets);
}

struct pass_call {
    const struct model *model;
    struct activations *acts;
    struct pass pass;
};

static void run_pass(void *arg)
{
    struct pass_call *call = arg;
    transformer_pass(call->model, call->acts, &call->pass);
}

/* A graph is recorded once for each combination of what a pass does. */
static int graph_key(const struct pass *p)
{
    return (int)p->phase | p->calibrate << 2 | p->statistics << 3 | p->aux << 4;
}

static void zero_sums(struct trainer *t)
{
    const struct model *m = t->model;
    m->ops->zero(m->be, t->acts.site_sums, ema_count(m) * sizeof *t->acts.site_sums);
    m->ops->zero(m->be, t->acts.aux_sum, sizeof *t->acts.aux_sum);
}

/* ----------------------------------------------------------------------------------------- one step */

static bool group_on(enum param_group group, enum gate_phase phase)
{
    return group == GROUP_ALWAYS || (group == GROUP_GAMMA ? phase != PHASE_FOLDED : phase != PHASE_NORMED);
}

static struct step_scalars scalars_of(const struct trainer *t, int64_t k, double gate, double target)
{
    struct step_scalars s = {.gate = (float)gate, .lr = (float)schedule_lr(&t->model->cfg, k),
                             .aux_target = (float)target, .step = (int32_t)k};
    for (int g = 0; g < GROUP_COUNT; g++)
        if (group_on((enum param_group)g, schedule_phase(gate)))
            s.adam_step[g] = (int32_t)t->adam_step[g] + 1;
    return s;
}

static void update(struct trainer *t)
{
    struct model *m = t->model;
    const struct config *cfg = &m->cfg;
    m->ops->adamw(m->be, &(struct adamw){
        .params = m->params, .m = t->m, .v = t->v, .grads = t->grads,
        .segments = m->table.segments, .segment_count = m->table.segment_count, .norm_sq = t->norm_sq,
        .clip = (float)cfg->clip, .beta1 = (float)cfg->beta1, .beta2 = (float)cfg->beta2,
        .eps = (float)cfg->adam_eps, .weight_decay = (float)cfg->weight_decay, .scalars = m->scalars,
    });
}

/* After step k_warm: c = E[|x gamma|^2 / s] / E[|x gamma|^2] (the bias corrections cancel), gamma into gamma_tilde,
 * beta into beta_tilde, s_tgt from its bias-corrected average. */
static void freeze(struct trainer *t)
{
    struct model *m = t->model;
    double *ema = memory_alloc(ema_count(m), sizeof *ema);
    float *c = model_download_c(m);
    m->ops->download(m->be, ema, t->ema, ema_count(m) * sizeof *ema);
    for (int i = 0; i < m->table.site_count; i++) {
        const struct param_site *s = &m->table.sites[i];
        const int pairs[2][2] = {{s->gamma_tilde, s->gamma}, {s->beta_tilde, s->beta}};
        if (!s->tapered)
            continue;
        c[i] = (float)(ema[i * SITE_SUMS + SUM_NUM] / ema[i * SITE_SUMS + SUM_DEN]);
        for (int p = 0; p < 2; p++)
            if (pairs[p][0] != NO_PARAM)
                m->ops->copy(m->be, model_row(m, m->params, pairs[p][0]), model_row(m, m->params, pairs[p][1]),
                             m->table.rows[pairs[p][0]].size * sizeof(float));
    }
    m->ops->upload(m->be, m->c, c, (size_t)m->table.site_count * sizeof *c);
    if (m->cfg.aux_target.word) {
        double average = ema[(m->table.site_count - 1) * SITE_SUMS + SUM_SCALE];
        t->target = average / (1.0 - pow(m->cfg.ema, (double)t->ema_updates));
    }
    m->ops->sync(m->be, NULL);
    free(c);
    free(ema);
}

static double vector_norm(const float *block, const struct param_table *table, int row)
{
    double sum = 0;
    if (row == NO_PARAM)
        return NAN;
    for (size_t i = 0; i < table->rows[row].size; i++)
        sum += (double)block[table->rows[row].offset + i] * (double)block[table->rows[row].offset + i];
    return sqrt(sum);
}

/* c as it stands: frozen, or the running estimate while calibrating (ema holds the averages before this step). */
static double current_c(const struct trainer *t, const double *ema, const float *c, int site)
{
    if (!t->model->table.sites[site].tapered)
        return NAN;
    if (t->step > schedule_gate_warmup(&t->model->cfg))
        return (double)c[site];
    return ema[site * SITE_SUMS + SUM_NUM] / ema[site * SITE_SUMS + SUM_DEN];
}

static void report_sites(struct trainer *t, struct site_stats *sites, const double *sums, double tokens)
{
    struct model *m = t->model;
    float *c = model_download_c(m), *params = model_download(m, m->params);
    double *ema = memory_alloc(ema_count(m), sizeof *ema);
    m->ops->download(m->be, ema, t->ema, ema_count(m) * sizeof *ema);
    for (int i = 0; i < m->table.site_count; i++) {
        const struct param_site *s = &m->table.sites[i];
        sites[i].c = current_c(t, ema, c, i);
        sites[i].scale_mean = sums[i * SITE_SUMS + SUM_SCALE] / tokens;
        sites[i].agreement = sites[i].c * sites[i].scale_mean;
        sites[i].gamma_norm = vector_norm(params, &m->table, s->gamma);
        sites[i].gamma_tilde_norm = vector_norm(params, &m->table, s->gamma_tilde);
    }
    free(ema);
    free(params);
    free(c);
}

/* Forward and backward over every micro-batch; the probe has the step's sums afterwards. */
static void run_passes(struct trainer *t, const int32_t *windows, const struct pass *pass)
{
    struct model *m = t->model;
    size_t stride = (size_t)t->acts.B * (size_t)(t->acts.T + 1);
    m->ops->zero(m->be, t->grads, m->table.total * sizeof *t->grads);
    zero_sums(t);
    probe_reset(&t->probe);
    for (int64_t i = 0; i < m->cfg.accumulate; i++) {
        load_windows(t, windows + (size_t)i * stride);
        m->ops->replay(m->be, graph_key(pass), run_pass, &(struct pass_call){m, &t->acts, *pass});
        if (pass->statistics)
            probe_add(&t->probe, m, &t->acts, pass->aux);
        else
            probe_add_loss(&t->probe, m, &t->acts);
    }
}

static int check_finite(const struct trainer *t, int64_t k, const struct step_report *r, struct error *err)
{
    if (isfinite(r->stats.ce) && isfinite(r->stats.aux) && isfinite(r->grad_norm))
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "step %lld: not finite: loss %g, aux %g, gradient norm %g (lr %g, gate %g); "
                     "step %lld is the last good one", (long long)k, r->stats.ce, r->stats.aux, r->grad_norm, r->lr,
                     r->gate, (long long)t->step);
}

/* Everything after the update: counts, calibration, freezing. */
static void advance(struct trainer *t, const struct step_scalars *scalars, double tokens)
{
    struct model *m = t->model;
    const struct config *cfg = &m->cfg;
    t->step++;
    for (int g = 0; g < GROUP_COUNT; g++)
        t->adam_step[g] += scalars->adam_step[g] > 0;
    if (t->step <= schedule_gate_warmup(cfg)) {
        m->ops->ema_update(m->be, t->ema, t->acts.site_sums, cfg->ema, 1.0 / tokens, (int)ema_count(m));
        t->ema_updates++;
    }
    if (t->step == schedule_gate_warmup(cfg))
        freeze(t);
}

int trainer_step(struct trainer *t, const int32_t *windows, bool logged, struct step_report *report, struct error *err)
{
    struct model *m = t->model;
    const struct config *cfg = &m->cfg;
    int64_t k = t->step + 1;
    double gate = schedule_gate(cfg, k), tokens = (double)t->acts.N * (double)cfg->accumulate;
    struct step_scalars scalars = scalars_of(t, k, gate, t->target);
    struct pass pass = {.phase = schedule_phase(gate), .calibrate = k <= schedule_gate_warmup(cfg), .statistics = logged,
                        .aux = schedule_aux(cfg, k), .grads = t->grads, .grad_scale = (float)(1.0 / tokens)};
    double aux_sum, norm_sq;
    model_set_scalars(m, &scalars);
    run_passes(t, windows, &pass);
    m->ops->sum_squares(m->be, t->norm_sq, t->grads, m->table.segments, m->table.segment_count, m->scalars);
    m->ops->download(m->be, &norm_sq, t->norm_sq, sizeof norm_sq);
    m->ops->download(m->be, &aux_sum, t->acts.aux_sum, sizeof aux_sum);
    *report = (struct step_report){.step = k, .lr = schedule_lr(cfg, k), .gate = gate, .grad_norm = sqrt(norm_sq),
                                   .logged = logged, .sites = report->sites};
    probe_finish(&t->probe, cfg->vocab, &report->stats);
    report->stats.aux = pass.aux ? aux_sum / tokens : 0;
    report->stats.scale_target = pass.aux ? t->target : NAN;
    int status = m->ops->sync(m->be, err);
    if (!status)
        status = check_finite(t, k, report, err);
    if (status)
        return status;
    update(t);
    double *sums = logged && report->sites ? memory_alloc(ema_count(m), sizeof *sums) : NULL;
    if (sums)
        m->ops->download(m->be, sums, t->acts.site_sums, ema_count(m) * sizeof *sums);
    advance(t, &scalars, tokens);
    if (sums)
        report_sites(t, report->sites, sums, tokens);
    free(sums);
    return m->ops->sync(m->be, err);
}

/* -------------------------------------------------------------------------------------------- debug */

int trainer_debug_pass(struct trainer *t, const int32_t *windows, double gate, double target, bool aux, float *logits,
                       struct error *err)
{
    struct model *m = t->model;
    struct step_scalars scalars = scalars_of(t, 1, gate, target);
    struct pass pass = {.phase = schedule_phase(gate), .calibrate = true, .statistics = true, .aux = aux,
                        .grads = t->grads, .grad_scale = (float)(1.0 / t->acts.N), .logits = logits};
    model_set_scalars(m, &scalars);
    m->ops->zero(m->be, t->grads, m->table.total * sizeof *t->grads);
    zero_sums(t);
    load_windows(t, windows);
    transformer_pass(m, &t->acts, &pass);
    return m->ops->sync(m->be, err);
}

void trainer_site_means(struct trainer *t, double *out)
{
    struct model *m = t->model;
    m->ops->download(m->be, out, t->acts.site_sums, ema_count(m) * sizeof *out);
    for (size_t i = 0; i < ema_count(m); i++)
        out[i] /= t->acts.N;
}
