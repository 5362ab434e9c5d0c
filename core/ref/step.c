/* What a step comes to: its sums over the tokens, and whether it counts. */
#include <math.h>

#include "core/ref/ref.h"

/* max that keeps a NaN: a broken run must not look tame. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static double sum(const float *x, int N)
{
    double total = 0;
    for (int n = 0; n < N; n++)
        total += (double)x[n];
    return total;
}

static double sum_of_squares(const float *x, int N)
{
    double total = 0;
    for (int n = 0; n < N; n++)
        total += (double)x[n] * (double)x[n];
    return total;
}

static double maximum(const float *x, int N)
{
    double most = -INFINITY;
    for (int n = 0; n < N; n++)
        most = larger((double)x[n], most);
    return most;
}

/* Proposition 2 (docs/equations.md section 2), token by token: <G,h> <= -(1 - p_y) margin where the correct class
 * leads. With two classes it is an equality, so rounding needs room: 1% of the bound for bf16 gradients, and 1e-5 of
 * the margin for a 1 - p_y that is all rounding. */
static void add_bound(const struct token_sums *a)
{
    for (int n = 0; n < a->N; n++) {
        double margin = (double)a->stats.margin[n], s = (double)a->scale[n];
        if (!(margin > 0))
            continue;
        double length = sqrt(fmax(0, s * s - a->eps) * (double)a->C); /* |h| from s(h) */
        double room = 0.99 * (1 - (double)a->stats.p_correct[n]) - 1e-5;
        a->sums[TOKEN_LEADING]++;
        if (a->kind == NORM_LAYER)
            a->sums[TOKEN_BOUNDED] = NAN; /* sigma(h) does not give |h| */
        else
            a->sums[TOKEN_BOUNDED] += (double)a->radial[n] * length <= -room * margin;
    }
}

void ref_token_sums(struct backend *be, const struct token_sums *a)
{
    (void)be;
    const struct logit_stats *z = &a->stats;
    double *to = a->sums;
    int N = a->N;
    to[TOKEN_CE] += sum(a->ce, N);
    if (!z->sum_sq)
        return;
    to[TOKEN_SCALE] += sum(a->scale, N);
    to[TOKEN_SCALE_SQ] += sum_of_squares(a->scale, N);
    to[TOKEN_SCALE_MAX] = larger(maximum(a->scale, N), to[TOKEN_SCALE_MAX]);
    to[TOKEN_LOGIT_SQ] += sum(z->sum_sq, N);
    to[TOKEN_LOGIT_MAX] = larger(maximum(z->max_abs, N), to[TOKEN_LOGIT_MAX]);
    to[TOKEN_LOGIT_VAR] += sum_of_squares(z->std, N);
    to[TOKEN_MARGIN] += sum(z->margin, N);
    to[TOKEN_P_CORRECT] += sum(z->p_correct, N);
    to[TOKEN_ENTROPY] += sum(z->entropy, N);
    to[TOKEN_RADIAL] += sum(a->radial, N);
    to[TOKEN_RADIAL_SQ] += sum_of_squares(a->radial, N);
    to[TOKEN_TANGENTIAL_SQ] += sum_of_squares(a->tangential, N);
    if (a->aux_radial)
        to[TOKEN_AUX_RADIAL] += sum(a->aux_radial, N);
    add_bound(a);
}

void ref_judge_step(struct backend *be, const struct step_verdict *a)
{
    (void)be;
    struct step_outcome *o = a->outcome;
    bool finite = isfinite(a->ce_sum[0]) && isfinite(a->aux_sum[0]) && isfinite(a->norm_sq[0]);
    o->skip = !finite || o->stopped;
    if (!o->skip) {
        o->in_a_row = 0;
        return;
    }
    o->skipped++;
    for (int i = 0; i < a->counters; i++)
        a->missed[i] += a->adam_step[i] > 0;
    o->missed_averages += a->averaging;
    if (o->stopped)
        return;
    o->last = a->scalars->step;
    o->ce = a->ce_sum[0];
    o->aux = a->aux_sum[0];
    o->norm_sq = a->norm_sq[0];
    if (++o->in_a_row >= a->limit)
        o->stopped = o->last;
}
