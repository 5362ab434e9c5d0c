#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/ref/ref.h"

/* The larger one; NaN when either is. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* log(sum(exp(z))) of one row. */
static double log_sum_exp(const double *z, int V)
{
    double most = -INFINITY, sum = 0;
    for (int v = 0; v < V; v++)
        most = larger(most, z[v]);
    for (int v = 0; v < V; v++)
        sum += exp(z[v] - most);
    return most + log(sum);
}

static void set_stats(const struct logit_stats *to, int n, const double *z, double lse, int target, int V)
{
    double sum_sq = 0, max_abs = 0, mean = 0, spread = 0, other = -INFINITY, entropy = 0;
    for (int v = 0; v < V; v++) {
        sum_sq += z[v] * z[v];
        max_abs = larger(max_abs, fabs(z[v]));
        mean += z[v] / V;
        entropy += exp(z[v] - lse) * (lse - z[v]);
        if (v != target)
            other = larger(other, z[v]);
    }
    for (int v = 0; v < V; v++)
        spread += (z[v] - mean) * (z[v] - mean) / V;
    to->sum_sq[n] = (float)sum_sq;
    to->max_abs[n] = (float)max_abs;
    to->std[n] = (float)sqrt(spread);
    to->margin[n] = (float)(z[target] - other);
    to->p_correct[n] = (float)exp(z[target] - lse);
    to->entropy[n] = (float)entropy;
}

static void clear_stats(const struct logit_stats *to, int n)
{
    to->sum_sq[n] = to->max_abs[n] = to->std[n] = to->margin[n] = to->p_correct[n] = to->entropy[n] = 0;
}

/* dz_v = grad_scale (softmax(z)_v - [v = target]); dy = dz W, dW += dz^T y. dw [V,C] gathers in double. */
static void add_gradients(const struct head_pass *a, int n, const double *z, double lse, int target, double *dw)
{
    int C = a->C;
    const float *y = a->y + (size_t)n * C;
    double *dy = memory_alloc(C, sizeof *dy);
    for (int v = 0; v < a->V && target >= 0; v++) {
        double dz = a->grad_scale * (exp(z[v] - lse) - (v == target));
        for (int i = 0; i < C; i++) {
            dy[i] += dz * a->weight[(size_t)v * C + i];
            dw[(size_t)v * C + i] += dz * y[i];
        }
    }
    for (int i = 0; i < C; i++)
        a->dy[(size_t)n * C + i] = (float)dy[i];
    free(dy);
}

void ref_head(struct backend *be, const struct head_pass *a)
{
    (void)be;
    int C = a->C, V = a->V;
    double *z = memory_alloc(V, sizeof *z), *dw = a->dy ? memory_alloc((size_t)V * C, sizeof *dw) : NULL;
    for (int n = 0; n < a->N; n++) {
        int target = a->targets[n];
        for (int v = 0; v < V; v++) {
            z[v] = a->bias ? (double)a->bias[v] : 0;
            for (int i = 0; i < C; i++)
                z[v] += (double)a->y[(size_t)n * C + i] * a->weight[(size_t)v * C + i];
            if (a->logits)
                a->logits[(size_t)n * V + v] = (float)z[v];
        }
        double lse = log_sum_exp(z, V);
        a->ce[n] = target < 0 ? 0 : (float)(lse - z[target]);
        if (a->stats.sum_sq && target >= 0)
            set_stats(&a->stats, n, z, lse, target, V);
        else if (a->stats.sum_sq)
            clear_stats(&a->stats, n);
        if (a->dy)
            add_gradients(a, n, z, lse, target, dw);
    }
    for (size_t i = 0; a->dy && i < (size_t)V * C; i++)
        a->dweight[i] = (float)(a->dweight[i] + dw[i]);
    free(dw);
    free(z);
}
