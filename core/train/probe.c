#include "core/train/probe.h"

#include <math.h>

#include "core/train/journal.h"

void probe_add(double *sums, const struct model *m, const struct activations *a, bool statistics, bool aux)
{
    m->ops->token_sums(m->be, &(struct token_sums){
                                  .ce = a->ce,
                                  .stats = statistics ? a->stats : (struct logit_stats){0},
                                  .scale = a->scale,
                                  .radial = a->radial,
                                  .tangential = a->tangential,
                                  .aux_radial = aux ? a->aux_radial : NULL,
                                  .kind = (enum norm_kind)m->cfg.norm,
                                  .eps = m->cfg.norm_eps,
                                  .sums = sums,
                                  .N = a->N,
                                  .C = (int)m->cfg.d_model,
                              });
}

void probe_finish(const double sums[TOKEN_SUMS], double tokens, int64_t classes, struct step_stats *out)
{
    double n = tokens, mean = sums[TOKEN_SCALE] / n, radial_sq = sums[TOKEN_RADIAL_SQ];
    double tangential_sq = sums[TOKEN_TANGENTIAL_SQ], energy = radial_sq + tangential_sq;
    double variance = sums[TOKEN_SCALE_SQ] / n - mean * mean, leading = sums[TOKEN_LEADING];
    out->ce = sums[TOKEN_CE] / n;
    out->scale_mean = mean;
    out->scale_std = sqrt(variance < 0 ? 0 : variance); /* a NaN variance stays */
    out->scale_max = sums[TOKEN_SCALE_MAX];
    out->logit_rms = sqrt(sums[TOKEN_LOGIT_SQ] / n / (double)classes);
    out->logit_max = sums[TOKEN_LOGIT_MAX];
    out->logit_std = sqrt(sums[TOKEN_LOGIT_VAR] / n);
    out->margin = sums[TOKEN_MARGIN] / n;
    out->p_correct = sums[TOKEN_P_CORRECT] / n;
    out->entropy = sums[TOKEN_ENTROPY] / n;
    out->radial = sums[TOKEN_RADIAL] / n;
    out->radial_rms = sqrt(radial_sq / n);
    out->tangential_rms = sqrt(tangential_sq / n);
    out->radial_share = energy == 0 ? 0 : radial_sq / energy;
    out->leading = leading / n;
    out->bounded = leading > 0 ? sums[TOKEN_BOUNDED] / leading : NAN;
    out->aux_radial = sums[TOKEN_AUX_RADIAL] / n;
}

static void put(json_t *object, const char *name, double x)
{
    json_object_set_new(object, name, journal_number(x));
}

/* NaN that means "there is none" becomes null; a NaN that was measured stays one. */
static void put_optional(json_t *object, const char *name, double x)
{
    json_object_set_new(object, name, isnan(x) ? json_null() : journal_number(x));
}

void probe_step_to_json(const struct step_stats *s, json_t *object)
{
    const struct {
        const char *name;
        double value;
    } columns[] = {
        {"ce", s->ce},
        {"aux", s->aux},
        {"scale_mean", s->scale_mean},
        {"scale_std", s->scale_std},
        {"scale_max", s->scale_max},
        {"logit_rms", s->logit_rms},
        {"logit_max", s->logit_max},
        {"logit_std", s->logit_std},
        {"margin", s->margin},
        {"p_correct", s->p_correct},
        {"entropy", s->entropy},
        {"radial", s->radial},
        {"radial_rms", s->radial_rms},
        {"tangential_rms", s->tangential_rms},
        {"radial_share", s->radial_share},
        {"aux_radial", s->aux_radial},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        put(object, columns[i].name, columns[i].value);
    put(object, "leading", s->leading);
    put_optional(object, "bounded", s->bounded);
    put_optional(object, "scale_target", s->scale_target);
}

json_t *probe_site_to_json(const char *site, const struct site_stats *s)
{
    json_t *object = json_object();
    json_object_set_new(object, "site", json_string(site));
    put_optional(object, "c", s->c);
    put(object, "scale_mean", s->scale_mean);
    put_optional(object, "agreement", s->agreement);
    put_optional(object, "gamma_norm", s->gamma_norm);
    put_optional(object, "gamma_tilde_norm", s->gamma_tilde_norm);
    return object;
}
