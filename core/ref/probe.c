#include <math.h>

#include "core/ref/ref.h"

void ref_radial_probe(struct backend *be, const struct radial_probe *a)
{
    (void)be;
    int C = a->C;
    for (int n = 0; n < a->N; n++) {
        const float *h = a->h + (size_t)n * C, *dh = a->dh + (size_t)n * C;
        double along = 0, length = 0, rest = 0;
        for (int i = 0; i < C; i++) {
            along += (double)dh[i] / a->grad_scale * h[i];
            length += (double)h[i] * h[i];
        }
        double share = length == 0 ? 0 : along / length; /* of h itself; a zero h has no direction */
        for (int i = 0; i < C; i++) {
            double off = (double)dh[i] / a->grad_scale - share * h[i];
            rest += off * off;
        }
        a->radial[n] = (float)(share * sqrt(length));
        a->tangential[n] = (float)sqrt(rest);
    }
}
