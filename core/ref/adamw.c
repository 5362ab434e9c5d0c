#include <math.h>

#include "core/ref/ref.h"

void ref_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step)
{
    (void)be;
    double sum = 0;
    for (int s = 0; s < count; s++)
        for (size_t i = 0; i < segments[s].size && adam_step[segments[s].counter] > 0; i++)
            sum += (double)x[segments[s].offset + i] * x[segments[s].offset + i];
    out[0] = sum;
}

static void update_segment(const struct adamw *a, const struct param_segment *segment, double factor)
{
    int32_t step = a->adam_step[segment->counter] - (a->missed ? a->missed[segment->counter] : 0);
    double lr = a->scalars->lr, fix1 = 1 - pow(a->beta1, step), fix2 = 1 - pow(a->beta2, step);
    for (size_t i = segment->offset; i < segment->offset + segment->size; i++) {
        double g = a->grads[i] * factor, p = a->params[i];
        double m = a->beta1 * (double)a->m[i] + (1.0 - a->beta1) * g;
        double v = a->beta2 * (double)a->v[i] + (1.0 - a->beta2) * g * g;
        if (segment->decay)
            p -= p * lr * a->weight_decay;
        a->m[i] = (float)m;
        a->v[i] = (float)v;
        a->params[i] = (float)(p - lr * (m / fix1) / (sqrt(v / fix2) + a->eps));
    }
}

void ref_adamw(struct backend *be, const struct adamw *a)
{
    (void)be;
    if (a->outcome && a->outcome->skip)
        return;
    double norm = sqrt(a->norm_sq[0]);
    double factor = a->clip == 0 || norm <= a->clip ? 1 : a->clip / norm; /* a norm that is NaN stays NaN */
    for (int s = 0; s < a->segment_count; s++)
        if (a->adam_step[a->segments[s].counter] > 0)
            update_segment(a, &a->segments[s], factor);
}

void ref_ema_update(struct backend *be, double *ema, const double *sums, double decay, double scale, int count,
                    const struct step_outcome *outcome)
{
    (void)be;
    if (outcome && outcome->skip)
        return;
    for (int i = 0; i < count; i++)
        ema[i] = decay * ema[i] + (1 - decay) * sums[i] * scale;
}
