#include <math.h>

#include "core/ref/ref.h"

/* With s = sqrt(mean(x^2) + eps), ds/dh = x/(C s): the centring of LayerNorm leaves it as it is, since sum(x) = 0. */
void ref_aux_loss(struct backend *be, const struct aux_loss *a)
{
    (void)be;
    int C = a->C;
    double total = 0;
    for (int n = 0; n < a->N; n++) {
        const float *h = a->h + (size_t)n * C;
        double s = a->scale[n], mean = a->mean ? a->mean[n] : 0, off = s - a->scalars->aux_target;
        double along = 0, length = 0;
        total += a->lambda * off * off;
        for (int i = 0; i < C; i++) {
            double d = 2 * a->lambda * off * (h[i] - mean) / (C * s);
            along += d * h[i];
            length += (double)h[i] * h[i];
            if (a->dh)
                a->dh[(size_t)n * C + i] = (float)(a->dh[(size_t)n * C + i] + a->grad_scale * d);
        }
        if (a->radial)
            a->radial[n] = length == 0 ? 0 : (float)(along / sqrt(length));
    }
    a->sum[0] += total;
}
