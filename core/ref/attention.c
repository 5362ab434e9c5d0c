#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/ref/ref.h"

void ref_rotate(float *x, int D, int t, struct rope rope, double sign)
{
    int half = D / 2;
    for (int i = 0; i < half; i++) {
        double angle = sign * t * rope_frequency(rope, i, half), u = x[i], v = x[half + i];
        x[i] = (float)(u * cos(angle) - v * sin(angle));
        x[half + i] = (float)(v * cos(angle) + u * sin(angle));
    }
}

static double dot(const float *x, const float *y, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

/* Where token (b, t)'s q (part 0), k (1) or v (2) of head h starts in a [B,T,3C] tensor. */
static size_t part_at(int part, int b, int t, int h, int T, int H, int D)
{
    return (((size_t)b * T + t) * 3 + part) * H * D + (size_t)h * D;
}

/* scores[u] = q_t . k_u / sqrt(D) for u <= t; returns the log of the sum of their exponentials. */
static double score_row(const float *qkv, double *scores, int b, int t, int h, int T, int H, int D)
{
    const float *q = qkv + part_at(0, b, t, h, T, H, D);
    double most = -INFINITY, sum = 0;
    for (int u = 0; u <= t; u++) {
        scores[u] = dot(q, qkv + part_at(1, b, u, h, T, H, D), D) / sqrt(D);
        most = scores[u] > most || isnan(scores[u]) ? scores[u] : most;
    }
    for (int u = 0; u <= t; u++)
        sum += exp(scores[u] - most);
    return most + log(sum);
}

static void forward_head(const struct attention_forward *a, double *scores, int b, int h)
{
    int T = a->T, H = a->H, D = a->D;
    for (int t = 0; t < T; t++) {
        double lse = score_row(a->qkv, scores, b, t, h, T, H, D);
        a->lse[((size_t)b * H + h) * T + t] = (float)lse;
        for (int d = 0; d < D; d++) {
            double sum = 0;
            for (int u = 0; u <= t; u++)
                sum += exp(scores[u] - lse) * a->qkv[part_at(2, b, u, h, T, H, D) + d];
            a->out[((size_t)b * T + t) * H * D + (size_t)h * D + d] = (float)sum;
        }
    }
}

void ref_attention_forward(struct backend *be, const struct attention_forward *a)
{
    (void)be;
    int T = a->T, H = a->H, D = a->D;
    double *scores = memory_alloc(T, sizeof *scores);
    for (int b = 0; b < a->B; b++)
        for (int h = 0; h < H; h++) {
            for (int t = 0; t < T && a->rope.theta > 0; t++)
                for (int part = 0; part < 2; part++)
                    ref_rotate(a->qkv + part_at(part, b, t, h, T, H, D), D, t, a->rope, 1);
            forward_head(a, scores, b, h);
        }
    free(scores);
}

/* One head into work [3,T,D] of doubles. With P the softmax and S the scores:
 * dv = P^T dout, dP = dout v^T, dS = P (dP - sum_u P dP), dq = dS k / sqrt(D), dk = dS^T q / sqrt(D). */
static void backward_head(const struct attention_backward *a, double *scores, double *work, int b, int h)
{
    int T = a->T, H = a->H, D = a->D;
    double *dq = work, *dk = work + (size_t)T * D, *dv = dk + (size_t)T * D;
    for (int t = 0; t < T; t++) {
        const float *q = a->qkv + part_at(0, b, t, h, T, H, D);
        const float *dout = a->dout + ((size_t)b * T + t) * H * D + (size_t)h * D;
        double lse = a->lse[((size_t)b * H + h) * T + t], mean = 0;
        score_row(a->qkv, scores, b, t, h, T, H, D);
        for (int u = 0; u <= t; u++) {
            scores[u] = exp(scores[u] - lse);
            mean += scores[u] * dot(dout, a->qkv + part_at(2, b, u, h, T, H, D), D);
        }
        for (int u = 0; u <= t; u++) {
            const float *k = a->qkv + part_at(1, b, u, h, T, H, D), *v = a->qkv + part_at(2, b, u, h, T, H, D);
            double ds = scores[u] * (dot(dout, v, D) - mean) / sqrt(D);
            for (int d = 0; d < D; d++) {
                dv[(size_t)u * D + d] += scores[u] * dout[d];
                dq[(size_t)t * D + d] += ds * k[d];
                dk[(size_t)u * D + d] += ds * q[d];
            }
        }
    }
}

void ref_attention_backward(struct backend *be, const struct attention_backward *a)
{
    (void)be;
    int T = a->T, H = a->H, D = a->D;
    double *scores = memory_alloc(T, sizeof *scores);
    for (int b = 0; b < a->B; b++)
        for (int h = 0; h < H; h++) {
            double *work = memory_alloc((size_t)3 * T * D, sizeof *work);
            backward_head(a, scores, work, b, h);
            for (int part = 0; part < 3; part++)
                for (int t = 0; t < T; t++) {
                    float *to = a->dqkv + part_at(part, b, t, h, T, H, D);
                    for (int d = 0; d < D; d++)
                        to[d] = (float)work[((size_t)part * T + t) * D + d];
                    if (part < 2 && a->rope.theta > 0)
                        ref_rotate(to, D, t, a->rope, -1);
                }
            free(work);
        }
    free(scores);
}
