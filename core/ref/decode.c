#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/ref/ref.h"

/* softmax(q . k_u / sqrt(D)) v_u over the cached positions u = 0..last of one head. */
static void attend(float *out, const float *q, const float *k, const float *v, double *scores, int last, int D)
{
    double most = -INFINITY, sum = 0;
    for (int u = 0; u <= last; u++) {
        scores[u] = 0;
        for (int d = 0; d < D; d++)
            scores[u] += (double)q[d] * k[(size_t)u * D + d];
        scores[u] /= sqrt(D);
        most = scores[u] > most || isnan(scores[u]) ? scores[u] : most;
    }
    for (int u = 0; u <= last; u++) {
        scores[u] = exp(scores[u] - most);
        sum += scores[u];
    }
    for (int d = 0; d < D; d++) {
        double value = 0;
        for (int u = 0; u <= last; u++)
            value += scores[u] / sum * v[(size_t)u * D + d];
        out[d] = (float)value;
    }
}

void ref_decode_attention(struct backend *be, const struct decode_attention *a)
{
    (void)be;
    int H = a->H, D = a->D, S = a->S;
    double *scores = memory_alloc(S, sizeof *scores);
    for (int b = 0; b < a->B; b++)
        for (int h = 0; h < H; h++) {
            int t = a->pos[b];
            float *q = a->qkv + ((size_t)b * 3 * H + h) * D, *k = q + (size_t)H * D, *v = k + (size_t)H * D;
            if (a->rope.theta > 0) {
                ref_rotate(q, D, t, a->rope, 1);
                ref_rotate(k, D, t, a->rope, 1);
            }
            float *keys = a->k_cache + ((size_t)b * H + h) * S * D, *values = a->v_cache + ((size_t)b * H + h) * S * D;
            memcpy(keys + (size_t)t * D, k, (size_t)D * sizeof *k);
            memcpy(values + (size_t)t * D, v, (size_t)D * sizeof *v);
            attend(a->out + ((size_t)b * H + h) * D, q, keys, values, scores, t, D);
        }
    free(scores);
}
