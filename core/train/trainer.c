#include "core/train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/train/calibration.h"
#include "core/model/schedule.h"

static size_t forwards_bytes(const struct trainer *t)
{
    return calibration_forwards(t) * calibration_count(t->model) * sizeof *t->forward_sums;
}

/* Numbers of a step's batch: tokens and targets. */
static size_t batch_count(const struct trainer *t)
{
    return 2 * (size_t)t->model->cfg.accumulate * (size_t)t->acts.N;
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
    const size_t counters = (size_t)model->table.counters;
    t->schedule = schedule_of(&model->cfg);
    t->split = memory_alloc(batch_count(t), sizeof *t->split);
    t->adam_step = memory_alloc(counters, sizeof *t->adam_step);
    t->counts = memory_alloc(counters, sizeof *t->counts);
    t->gates = memory_alloc((size_t)model->table.site_count, sizeof *t->gates);
    t->grads = ops->alloc(model->be, bytes, err);
    t->m = t->grads ? ops->alloc(model->be, bytes, err) : NULL;
    t->v = t->m ? ops->alloc(model->be, bytes, err) : NULL;
    t->norm_sq = t->v ? ops->alloc(model->be, sizeof *t->norm_sq, err) : NULL;
    t->ema = t->norm_sq ? ops->alloc(model->be, calibration_count(model) * sizeof *t->ema, err) : NULL;
    t->sums = t->ema ? ops->alloc(model->be, TOKEN_SUMS * sizeof *t->sums, err) : NULL;
    t->outcome = t->sums ? ops->alloc(model->be, sizeof *t->outcome, err) : NULL;
    t->missed = t->outcome ? ops->alloc(model->be, counters * sizeof *t->missed, err) : NULL;
    t->forward_sums = t->missed ? ops->alloc(model->be, forwards_bytes(t), err) : NULL;
    t->batch = t->forward_sums ? ops->alloc(model->be, batch_count(t) * sizeof *t->batch, err) : NULL;
    if (!t->batch) {
        trainer_destroy(t);
        return error_wrap(err, "optimizer state of %lld parameters", (long long)model->table.parameters);
    }
    return STATUS_OK;
}

void trainer_destroy(struct trainer *t)
{
    if (!t->model)
        return;
    void *blocks[] = {t->grads, t->m,       t->v,      t->norm_sq,      t->ema,
                      t->sums,  t->outcome, t->missed, t->forward_sums, t->batch};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i])
            t->model->ops->release(t->model->be, blocks[i]);
    activations_destroy(&t->acts, t->model);
    free(t->split);
    free(t->adam_step);
    free(t->counts);
    free(t->gates);
    *t = (struct trainer){0};
}

/* --------------------------------------------------------------------------------------------- batches */

/* windows [count][T+1] -> tokens [count][T], targets [count][T]. */
static void split_windows(int32_t *tokens, int32_t *targets, const int32_t *windows, size_t count, size_t T)
{
    for (size_t b = 0; b < count; b++) {
        const int32_t *window = windows + b * (T + 1);
        memcpy(tokens + b * T, window, T * sizeof *tokens);
        memcpy(targets + b * T, window + 1, T * sizeof *targets);
    }
}

void trainer_stage(struct trainer *t, const int32_t *windows)
{
    const struct model *m = t->model;
    size_t count = batch_count(t);
    split_windows(t->split, t->split + count / 2, windows, (size_t)(m->cfg.accumulate * t->acts.B), (size_t)t->acts.T);
    m->ops->stage(m->be, t->split, count * sizeof *t->split);
}

/* ----------------------------------------------------------------------------------------- one step */

/* Skipped steps in a row that end a run. A device that works ahead meets a rare bad step with nobody looking. */
static int skips_that_stop(const struct ops *ops)
{
    return ops->deferred ? 2 : 1;
}

static double step_tokens(const struct trainer *t)
{
    return (double)t->acts.N * (double)t->model->cfg.accumulate;
}

/* Tell the model what step k reads: its gates in t->gates, and of the counters those that are on the graph then. */
static void begin_step(struct trainer *t, int64_t k, double target)
{
    struct model *m = t->model;
    const struct step_scalars scalars = {
        .lr = (float)schedule_lr(&m->cfg, k), .aux_target = (float)target, .step = (int32_t)k};
    for (int i = 0; i < m->table.counters; i++)
        t->counts[i] = i == COUNTER_ALWAYS ? (int32_t)t->adam_step[i] + 1 : 0;
    for (int i = 0; i < m->table.site_count; i++) {
        const struct param_site *s = &m->table.sites[i];
        if (s->tapered && t->gates[i] > 0)
            t->counts[s->gamma_counter] = (int32_t)t->adam_step[s->gamma_counter] + 1;
        if (s->tapered && t->gates[i] < 1)
            t->counts[s->tilde_counter] = (int32_t)t->adam_step[s->tilde_counter] + 1;
    }
    model_begin_step(m, &scalars, t->gates, t->counts);
}

void trainer_set_gates(struct trainer *t, int64_t k)
{
    schedule_gates(t->schedule, &t->model->cfg, &t->model->table, k, t->gates);
    model_set_gates(t->model, t->gates);
}

static void zero_sums(struct trainer *t)
{
    const struct model *m = t->model;
    m->ops->zero(m->be, t->acts.site_sums, calibration_count(m) * sizeof *t->acts.site_sums);
    m->ops->zero(m->be, t->forward_sums, forwards_bytes(t));
    m->ops->zero(m->be, t->acts.aux_sum, sizeof *t->acts.aux_sum);
}

static void update(struct trainer *t)
{
    struct model *m = t->model;
    const struct config *cfg = &m->cfg;
    m->ops->adamw(m->be, &(struct adamw){
                             .params = m->params,
                             .m = t->m,
                             .v = t->v,
                             .grads = t->grads,
                             .segments = m->table.segments,
                             .segment_count = m->table.segment_count,
                             .norm_sq = t->norm_sq,
                             .clip = (float)cfg->clip,
                             .beta1 = (float)cfg->beta1,
                             .beta2 = (float)cfg->beta2,
                             .eps = (float)cfg->adam_eps,
                             .weight_decay = (float)cfg->weight_decay,
                             .scalars = m->scalars,
                             .adam_step = m->adam_step,
                             .outcome = t->outcome,
                             .missed = t->missed,
                         });
}

struct step_call {
    struct trainer *trainer;
    struct pass pass;
    double tokens; /* of the whole step */
};

/* Forward and backward over every micro-batch, with their sums. */
static void run_passes(const struct step_call *call)
{
    struct trainer *t = call->trainer;
    const struct pass *pass = &call->pass;
    struct activations a = t->acts;
    for (int64_t i = 0; i < t->model->cfg.accumulate; i++) {
        if (config_fakeln(&t->model->cfg))
            a.site_sums = t->forward_sums + (size_t)i * calibration_count(t->model);
        a.tokens = t->batch + (size_t)i * (size_t)a.N;
        a.targets = a.tokens + batch_count(t) / 2;
        transformer_pass(t->model, &a, pass);
        probe_add(t->sums, t->model, &a, pass->statistics, pass->aux);
    }
}

/* A whole step, as far as it is the same work each time: nothing here waits, and nothing is read back. */
static void run_step(void *arg)
{
    const struct step_call *call = arg;
    struct trainer *t = call->trainer;
    struct model *m = t->model;
    m->ops->zero(m->be, t->grads, m->table.total * sizeof *t->grads);
    m->ops->zero(m->be, t->sums, TOKEN_SUMS * sizeof *t->sums);
    zero_sums(t);
    run_passes(call);
    m->ops->sum_squares(m->be, t->norm_sq, t->grads, m->table.segments, m->table.segment_count, m->adam_step);
    m->ops->judge_step(m->be, &(struct step_verdict){
                                  .ce_sum = t->sums + TOKEN_CE,
                                  .aux_sum = t->acts.aux_sum,
                                  .norm_sq = t->norm_sq,
                                  .scalars = m->scalars,
                                  .outcome = t->outcome,
                                  .adam_step = m->adam_step,
                                  .missed = t->missed,
                                  .counters = m->table.counters,
                                  .averaging = call->pass.calibrate,
                                  .limit = skips_that_stop(m->ops),
                              });
    update(t);
    if (call->pass.calibrate)
        calibration_average(t, call->tokens);
}

/* A graph is recorded once for each combination of what a step does; where the sites stand is the model's epoch. */
static int graph_key(const struct pass *p)
{
    return p->calibrate | p->statistics << 1 | p->aux << 2;
}

/* The norm of a parameter that is a vector; NaN where the site has none. */
static double vector_norm(const struct model *m, int row, float *host)
{
    double sum = 0;
    if (row == NO_PARAM)
        return NAN;
    const size_t size = m->table.rows[row].size;
    m->ops->download(m->be, host, model_row(m, m->params, row), size * sizeof *host);
    for (size_t i = 0; i < size; i++)
        sum += (double)host[i] * (double)host[i];
    return sqrt(sum);
}

static void report_sites(struct trainer *t, struct site_stats *sites, double *sums, double tokens)
{
    struct model *m = t->model;
    float *c = model_download_c(m), *row = memory_alloc((size_t)m->cfg.d_model, sizeof *row);
    double *ema = memory_alloc(calibration_count(m), sizeof *ema);
    m->ops->download(m->be, ema, t->ema, calibration_count(m) * sizeof *ema);
    calibration_share(m, ema);
    calibration_share(m, sums);
    for (int i = 0; i < m->table.site_count; i++) {
        const struct param_site *s = &m->table.sites[i];
        sites[i].c = calibration_c(t, ema, c, i);
        sites[i].scale_mean = sums[i * SITE_SUMS + SUM_SCALE] / tokens;
        sites[i].agreement = sites[i].c * sites[i].scale_mean;
        sites[i].gamma_norm = vector_norm(m, s->gamma, row);
        sites[i].gamma_tilde_norm = vector_norm(m, s->gamma_tilde, row);
    }
    free(ema);
    free(row);
    free(c);
}

/* Everything a step counts. */
static void advance(struct trainer *t, bool averaged)
{
    t->step++;
    for (int i = 0; i < t->model->table.counters; i++)
        t->adam_step[i] += t->counts[i] > 0;
    t->ema_updates += averaged;
}

static int stopped(struct trainer *t, const struct step_outcome *o, struct error *err)
{
    char what[200];
    int limit = skips_that_stop(t->model->ops);
    t->step = o->stopped - limit;
    trainer_describe_skipped(t, what, sizeof what);
    if (limit == 1)
        return error_set(err, STATUS_DIVERGED, "step %lld: %s; step %lld is the last good one",
                         (long long)t->last_skipped.step, what, (long long)t->step);
    return error_set(err, STATUS_DIVERGED,
                     "step %lld: %s, and so was the step before: %d in a row; step %lld is the last good "
                     "one",
                     (long long)t->last_skipped.step, what, limit, (long long)t->step);
}

static void take_in_missed(struct trainer *t)
{
    const struct model *m = t->model;
    const size_t bytes = (size_t)m->table.counters * sizeof *t->missed;
    int32_t *missed = memory_alloc((size_t)m->table.counters, sizeof *missed);
    m->ops->download(m->be, missed, t->missed, bytes);
    for (int i = 0; i < m->table.counters; i++)
        t->adam_step[i] -= missed[i];
    m->ops->zero(m->be, t->missed, bytes);
    free(missed);
}

/* Counts that ran ahead come back to what happened. */
static int take_in(struct trainer *t, struct step_outcome *o, struct error *err)
{
    const struct ops *ops = t->model->ops;
    if (!o->skipped) {
        t->skipped_in_a_row = o->in_a_row;
        return STATUS_OK;
    }
    t->skipped += o->skipped;
    t->skipped_in_a_row = o->in_a_row;
    t->last_skipped = (struct skipped_step){o->last, o->ce / step_tokens(t), o->aux / step_tokens(t), sqrt(o->norm_sq)};
    take_in_missed(t);
    t->ema_updates -= o->missed_averages;
    int status = o->stopped ? stopped(t, o, err) : STATUS_OK;
    *o = (struct step_outcome){.in_a_row = o->stopped ? 0 : o->in_a_row};
    ops->upload(t->model->be, t->outcome, o, sizeof *o);
    return status;
}

int trainer_settle(struct trainer *t, struct error *err)
{
    const struct model *m = t->model;
    struct step_outcome outcome;
    m->ops->download(m->be, &outcome, t->outcome, sizeof outcome);
    int status = m->ops->sync(m->be, err);
    return status ? status : take_in(t, &outcome, err);
}

void trainer_resume_skipped(struct trainer *t, int64_t skipped, int64_t in_a_row)
{
    const struct step_outcome outcome = {.in_a_row = (int32_t)in_a_row};
    t->skipped = skipped;
    t->skipped_in_a_row = in_a_row;
    t->model->ops->upload(t->model->be, t->outcome, &outcome, sizeof outcome);
}

void trainer_describe_skipped(const struct trainer *t, char *to, size_t room)
{
    const struct skipped_step *s = &t->last_skipped;
    const struct config *cfg = &t->model->cfg;
    snprintf(to, room, "not finite: loss %g, aux %g, gradient norm %g (lr %g, gate %g)", s->ce, s->aux, s->grad_norm,
             schedule_lr(cfg, s->step), schedule_mean_gate(t->schedule, cfg, &t->model->table, s->step));
}

/* What a step measured, read back. */
static void read_report(struct trainer *t, const struct step_call *call, struct step_report *report)
{
    struct model *m = t->model;
    double sums[TOKEN_SUMS], aux_sum, norm_sq;
    m->ops->download(m->be, sums, t->sums, sizeof sums);
    m->ops->download(m->be, &norm_sq, t->norm_sq, sizeof norm_sq);
    m->ops->download(m->be, &aux_sum, t->acts.aux_sum, sizeof aux_sum);
    probe_finish(sums, call->tokens, config_classes(&m->cfg), &report->stats);
    report->grad_norm = sqrt(norm_sq);
    report->stats.aux = call->pass.aux ? aux_sum / call->tokens : 0;
    report->stats.scale_target = call->pass.aux ? t->target : NAN;
}

/* A step's reading: what it measured, whether it counted, and what follows from the end of calibration. */
static int read_step(struct trainer *t, const struct step_call *call, struct step_report *report, struct error *err)
{
    struct model *m = t->model;
    read_report(t, call, report);
    double *sums = calibration_read_sums(t);
    int status = trainer_settle(t, err);
    if (!status && calibration_ends(t, t->step))
        status = calibration_freeze(t, err);
    if (!status && report->logged && report->sites)
        report_sites(t, report->sites, sums, call->tokens);
    free(sums);
    return status ? status : m->ops->sync(m->be, err);
}

int trainer_step(struct trainer *t, const int32_t *windows, bool logged, struct step_report *report, struct error *err)
{
    struct model *m = t->model;
    const struct config *cfg = &m->cfg;
    int64_t k = t->step + 1;
    bool calibrate = k <= schedule_calibration_end(cfg, &m->table);
    double tokens = step_tokens(t);
    struct step_call call = {t,
                             {.calibrate = calibrate,
                              .statistics = logged,
                              .aux = schedule_aux(cfg, k),
                              .grads = t->grads,
                              .grad_scale = (float)(1.0 / tokens)},
                             tokens};
    if (windows)
        trainer_stage(t, windows);
    schedule_gates(t->schedule, cfg, &m->table, k, t->gates);
    begin_step(t, k, t->target);
    m->ops->unstage(m->be, t->batch, batch_count(t) * sizeof *t->batch);
    m->ops->replay(m->be, graph_key(&call.pass), m->epoch, run_step, &call);
    advance(t, calibrate);
    *report = (struct step_report){.step = k,
                                   .lr = schedule_lr(cfg, k),
                                   .gate = schedule_mean_gate(t->schedule, cfg, &m->table, k),
                                   .grad_norm = NAN,
                                   .logged = logged,
                                   .stats.ce = NAN,
                                   .sites = report->sites};
    if (m->ops->deferred && !logged && !calibration_ends(t, k))
        return STATUS_OK;
    return read_step(t, &call, report, err);
}

/* -------------------------------------------------------------------------------------------- debug */

int trainer_debug_pass(struct trainer *t, const int32_t *windows, const double *gates, double target, bool aux,
                       float *logits, struct error *err)
{
    struct model *m = t->model;
    struct pass pass = {.calibrate = true,
                        .statistics = true,
                        .aux = aux,
                        .grads = t->grads,
                        .grad_scale = (float)(1.0 / t->acts.N),
                        .logits = logits};
    const struct activations *a = &t->acts;
    int32_t *tokens = t->split, *targets = t->split + a->N;
    split_windows(tokens, targets, windows, (size_t)a->B, (size_t)a->T);
    m->ops->upload(m->be, a->tokens, tokens, (size_t)a->N * sizeof *tokens);
    m->ops->upload(m->be, a->targets, targets, (size_t)a->N * sizeof *targets);
    memcpy(t->gates, gates, (size_t)m->table.site_count * sizeof *gates);
    begin_step(t, 1, target);
    m->ops->zero(m->be, t->grads, m->table.total * sizeof *t->grads);
    zero_sums(t);
    transformer_pass(m, &t->acts, &pass);
    return m->ops->sync(m->be, err);
}

void trainer_site_means(struct trainer *t, double *out)
{
    struct model *m = t->model;
    m->ops->download(m->be, out, t->acts.site_sums, calibration_count(m) * sizeof *out);
    calibration_share(m, out);
    for (size_t i = 0; i < calibration_count(m); i++)
        out[i] /= t->acts.N;
}
