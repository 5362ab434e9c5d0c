#include <math.h>

#include "core/ref/ref.h"

/* How much of each branch: y = normed * NORMED + folded * FOLDED (docs/equations.md section 1). */
static void branch_weights(const struct norm_site *site, double *normed, double *folded)
{
    double gate = site->phase == PHASE_NORMED ? 1 : site->phase == PHASE_FOLDED ? 0 : site->gate[0];
    *normed = gate;
    *folded = 1 - gate;
}

static double row_mean(const struct norm_site *site, const float *h, int C)
{
    if (site->kind == NORM_RMS)
        return 0;
    double sum = 0;
    for (int i = 0; i < C; i++)
        sum += h[i];
    return sum / C;
}

static double row_scale(const struct norm_site *site, const float *h, double mean, int C)
{
    double sum = 0;
    for (int i = 0; i < C; i++)
        sum += (h[i] - mean) * (h[i] - mean);
    return sqrt(sum / C + site->eps);
}

static void forward_row(const struct norm_forward *a, const float *h, double mean, double scale, float *y)
{
    const struct norm_site *site = &a->site;
    double normed, folded;
    branch_weights(site, &normed, &folded);
    for (int i = 0; i < a->C; i++) {
        double x = h[i] - mean, value = 0;
        if (site->phase != PHASE_FOLDED)
            value += normed * (x / scale * site->gamma[i] + (site->beta ? site->beta[i] : 0));
        if (site->phase != PHASE_NORMED)
            value += folded * (site->c[0] * x * site->gamma_tilde[i] + (site->beta_tilde ? site->beta_tilde[i] : 0));
        y[i] = (float)value;
    }
}

void ref_norm_forward(struct backend *be, const struct norm_forward *a)
{
    (void)be;
    int C = a->C;
    for (int n = 0; n < a->N; n++) {
        const float *h = a->in + (size_t)n * C;
        if (a->delta) {
            float *sum = a->h + (size_t)n * C;
            for (int i = 0; i < C; i++)
                sum[i] = h[i] + a->delta[(size_t)n * C + i];
            h = sum;
        }
        double mean = row_mean(&a->site, h, C), scale = 1;
        if (a->mean)
            a->mean[n] = (float)mean;
        if (a->scale) {
            scale = row_scale(&a->site, h, mean, C);
            a->scale[n] = (float)scale;
        }
        if (a->scale_sum)
            a->scale_sum[0] += scale;
        if (a->calibration) {
            double energy = 0;
            for (int i = 0; i < C; i++)
                energy += (h[i] - mean) * a->site.gamma[i] * (h[i] - mean) * a->site.gamma[i];
            a->calibration[0] += energy / scale;
            a->calibration[1] += energy;
        }
        forward_row(a, h, mean, scale, a->y + (size_t)n * C);
    }
}

/* d y_i / d x_i of the branches, s held fixed. */
static double direct_factor(const struct norm_backward *a, int i, double scale)
{
    double normed, folded, factor = 0;
    branch_weights(&a->site, &normed, &folded);
    if (a->site.phase != PHASE_FOLDED)
        factor += normed * a->site.gamma[i] / scale;
    if (a->site.phase != PHASE_NORMED)
        factor += folded * a->site.c[0] * a->site.gamma_tilde[i];
    return factor;
}

/* dx = dy * direct - x/(C s) * sum_j dy_j x_j gamma_j/s^2 * normed, from ds/dx = x/(C s);
 * LayerNorm: dh = dx - mean(dx). */
static void backward_row(const struct norm_backward *a, const float *h, const float *dy, double mean, double scale,
                         float *dh)
{
    int C = a->C;
    double normed, folded, through_scale = 0, mean_dx = 0;
    branch_weights(&a->site, &normed, &folded);
    if (a->site.phase != PHASE_FOLDED) {
        for (int i = 0; i < C; i++)
            through_scale += dy[i] * a->site.gamma[i] * (h[i] - mean);
        through_scale *= normed / (C * scale * scale * scale);
    }
    if (a->site.kind == NORM_LAYER) {
        for (int i = 0; i < C; i++)
            mean_dx += dy[i] * direct_factor(a, i, scale) - (h[i] - mean) * through_scale;
        mean_dx /= C;
    }
    for (int i = 0; i < C; i++) {
        double dx = dy[i] * direct_factor(a, i, scale) - (h[i] - mean) * through_scale - mean_dx;
        dh[i] = a->fresh ? (float)dx : (float)(dh[i] + dx);
    }
}

static void add(float *to, int i, double value)
{
    if (to)
        to[i] = (float)(to[i] + value);
}

/* The vectors' gradients, a column at a time. */
static void backward_vectors(const struct norm_backward *a)
{
    double normed, folded;
    branch_weights(&a->site, &normed, &folded);
    for (int i = 0; i < a->C; i++) {
        double plain = 0, scaled = 0, unscaled = 0; /* sums over tokens of dy, dy*x/s, dy*x */
        for (int n = 0; n < a->N; n++) {
            size_t at = (size_t)n * a->C + i;
            double x = a->h[at] - (a->site.kind == NORM_LAYER ? a->mean[n] : 0.0);
            plain += a->dy[at];
            unscaled += a->dy[at] * x;
            if (a->site.phase != PHASE_FOLDED)
                scaled += a->dy[at] * x / a->scale[n];
        }
        if (a->site.phase != PHASE_FOLDED) {
            add(a->dgamma, i, normed * scaled);
            add(a->dbeta, i, normed * plain);
        }
        if (a->site.phase != PHASE_NORMED) {
            add(a->dgamma_tilde, i, folded * a->site.c[0] * unscaled);
            add(a->dbeta_tilde, i, folded * plain);
        }
    }
}

void ref_norm_backward(struct backend *be, const struct norm_backward *a)
{
    (void)be;
    backward_vectors(a); /* before dh, which may be dy's own memory when fresh */
    for (int n = 0; n < a->N; n++) {
        size_t at = (size_t)n * a->C;
        double mean = a->site.kind == NORM_LAYER ? a->mean[n] : 0;
        double scale = a->site.phase == PHASE_FOLDED ? 1 : a->scale[n];
        backward_row(a, a->h + at, a->dy + at, mean, scale, a->dh + at);
    }
}
