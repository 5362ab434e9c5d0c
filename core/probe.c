#include "core/probe.h"

#include <math.h>
#include <stdlib.h>

#include "core/journal.h"
#include "core/memory.h"

void probe_create(struct probe *p, int N)
{
    float *block = memory_alloc(4 * (size_t)N, sizeof *block);
    size_t n = (size_t)N;
    *p = (struct probe){.buffer = block, .margins = block + n, .p_corrects = block + 2 * n, .scales = block + 3 * n};
}

void probe_destroy(struct probe *p)
{
    free(p->buffer);
    *p = (struct probe){0};
}

void probe_reset(struct probe *p)
{
    *p = (struct probe){.buffer = p->buffer, .margins = p->margins, .p_corrects = p->p_corrects, .scales = p->scales};
}

/* max that keeps a NaN: a broken run must not look tame. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

struct moments {
    double sum, sum_sq, max;
};

/* Download one per-token array and reduce it. */
static struct moments reduce(struct probe *p, const struct model *m, const struct activations *a, const float *array)
{
    struct moments out = {.max = -INFINITY};
    m->ops->download(m->be, p->buffer, array, (size_t)a->N * sizeof *array);
    for (int n = 0; n < a->N; n++) {
        double x = (double)p->buffer[n];
        out.sum += x;
        out.sum_sq += x * x;
        out.max = larger(x, out.max);
    }
    return out;
}

void probe_add_loss(struct probe *p, const struct model *m, const struct activations *a)
{
    p->ce += reduce(p, m, a, a->ce).sum;
    p->tokens += a->N;
}

/* Proposition 2 (paper.md section 2), token by token: <G,h> <= -(1 - p_y) margin where the correct class leads. With
 * two classes it is an equality, so rounding needs room: 1% of the bound for bf16 gradients, and 1e-5 of the margin for
 * a 1 - p_y that is all rounding. */
static void add_bound(struct probe *p, const struct model *m, const struct activations *a)
{
    size_t size = (size_t)a->N * sizeof *p->buffer;
    m->ops->download(m->be, p->buffer, a->radial, size);
    m->ops->download(m->be, p->margins, a->stats.margin, size);
    m->ops->download(m->be, p->p_corrects, a->stats.p_correct, size);
    m->ops->download(m->be, p->scales, a->scale, size);
    for (int n = 0; n < a->N; n++) {
        double margin = (double)p->margins[n], s = (double)p->scales[n];
        if (!(margin > 0))
            continue;
        double length = sqrt(fmax(0, s * s - m->cfg.norm_eps) * (double)m->cfg.d_model); /* |h| from s(h) */
        p->leading++;
        if (m->cfg.norm == NORM_LAYER)
            p->bounded = NAN; /* sigma(h) does not give |h| */
        else
            p->bounded += (double)p->buffer[n] * length <= -(0.99 * (1 - (double)p->p_corrects[n]) - 1e-5) * margin;
    }
}

void probe_add(struct probe *p, const struct model *m, const struct activations *a, bool aux)
{
    probe_add_loss(p, m, a);
    struct moments scale = reduce(p, m, a, a->scale), radial = reduce(p, m, a, a->radial);
    p->scale += scale.sum;
    p->scale_sq += scale.sum_sq;
    p->scale_max = larger(scale.max, p->scale_max);
    p->logit_sq += reduce(p, m, a, a->stats.sum_sq).sum;
    p->logit_max = larger(reduce(p, m, a, a->stats.max_abs).max, p->logit_max);
    p->logit_var += reduce(p, m, a, a->stats.std).sum_sq;
    p->margin += reduce(p, m, a, a->stats.margin).sum;
    p->p_correct += reduce(p, m, a, a->stats.p_correct).sum;
    p->entropy += reduce(p, m, a, a->stats.entropy).sum;
    p->radial += radial.sum;
    p->radial_sq += radial.sum_sq;
    p->tangential_sq += reduce(p, m, a, a->tangential).sum_sq;
    add_bound(p, m, a);
    if (aux)
        p->aux_radial += reduce(p, m, a, a->aux_radial).sum;
}

void probe_finish(const struct probe *p, int64_t vocab, struct step_stats *out)
{
    double n = p->tokens, mean = p->scale / n, energy = p->radial_sq + p->tangential_sq;
    double variance = p->scale_sq / n - mean * mean;
    out->ce = p->ce / n;
    out->scale_mean = mean;
    out->scale_std = sqrt(variance < 0 ? 0 : variance); /* a NaN variance stays */
    out->scale_max = p->scale_max;
    out->logit_rms = sqrt(p->logit_sq / n / (double)vocab);
    out->logit_max = p->logit_max;
    out->logit_std = sqrt(p->logit_var / n);
    out->margin = p->margin / n;
    out->p_correct = p->p_correct / n;
    out->entropy = p->entropy / n;
    out->radial = p->radial / n;
    out->radial_rms = sqrt(p->radial_sq / n);
    out->tangential_rms = sqrt(p->tangential_sq / n);
    out->radial_share = energy == 0 ? 0 : p->radial_sq / energy;
    out->leading = p->leading / n;
    out->bounded = p->leading > 0 ? p->bounded / p->leading : NAN;
    out->aux_radial = p->aux_radial / n;
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
        {"ce", s->ce}, {"aux", s->aux}, {"scale_mean", s->scale_mean}, {"scale_std", s->scale_std},
        {"scale_max", s->scale_max}, {"logit_rms", s->logit_rms}, {"logit_max", s->logit_max},
        {"logit_std", s->logit_std}, {"margin", s->margin}, {"p_correct", s->p_correct}, {"entropy", s->entropy},
        {"radial", s->radial}, {"radial_rms", s->radial_rms}, {"tangential_rms", s->tangential_rms},
        {"radial_share", s->radial_share}, {"aux_radial", s->aux_radial},
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
