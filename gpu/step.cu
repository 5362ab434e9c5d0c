/* What a step comes to: its sums over the tokens, one block, and whether it counts. */
#include "gpu/device_code.cuh"

enum { THREADS = 1024 };

/* Every thread of the block gets sum_n x_n, or of the squares. */
static __device__ double total(const float *x, int N, bool squares, double *part)
{
    double mine = 0;
    for (int n = threadIdx.x; n < N; n += THREADS) {
        double value = x[n];
        mine += squares ? value * value : value;
    }
    return block_sum(mine, part);
}

static __device__ float maximum(const float *x, int N, float *part)
{
    float most = -INFINITY;
    for (int n = threadIdx.x; n < N; n += THREADS)
        most = larger(most, x[n]);
    return block_larger(most, part);
}

static __device__ __forceinline__ double larger_of(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* Proposition 2 (docs/equations.md section 2), token by token; the room for rounding is explained in core/ref/step.c.
 */
static __device__ void add_bound(const struct token_sums &a, double *part)
{
    double leading = 0, bounded = 0;
    for (int n = threadIdx.x; n < a.N; n += THREADS) {
        double margin = a.stats.margin[n], s = a.scale[n];
        if (!(margin > 0))
            continue;
        double length = sqrt(fmax(0.0, s * s - a.eps) * (double)a.C); /* |h| from s(h) */
        double room = 0.99 * (1 - (double)a.stats.p_correct[n]) - 1e-5;
        leading += 1;
        bounded += (double)a.radial[n] * length <= -room * margin;
    }
    leading = block_sum(leading, part);
    bounded = block_sum(bounded, part);
    if (threadIdx.x > 0)
        return;
    a.sums[TOKEN_LEADING] += leading;
    if (leading > 0) /* sigma(h) does not give |h| */
        a.sums[TOKEN_BOUNDED] = a.kind == NORM_LAYER ? (double)NAN : a.sums[TOKEN_BOUNDED] + bounded;
}

__global__ void __launch_bounds__(THREADS) add_tokens(struct token_sums a)
{
    SHARED_MEMORY(double, part);
    struct {
        const float *x;
        int sum, squares, most; /* TOKEN_SUMS: not wanted */
    } arrays[] = {
        {a.ce, TOKEN_CE, TOKEN_SUMS, TOKEN_SUMS},
        {a.scale, TOKEN_SCALE, TOKEN_SCALE_SQ, TOKEN_SCALE_MAX},
        {a.stats.sum_sq, TOKEN_LOGIT_SQ, TOKEN_SUMS, TOKEN_SUMS},
        {a.stats.max_abs, TOKEN_SUMS, TOKEN_SUMS, TOKEN_LOGIT_MAX},
        {a.stats.std, TOKEN_SUMS, TOKEN_LOGIT_VAR, TOKEN_SUMS},
        {a.stats.margin, TOKEN_MARGIN, TOKEN_SUMS, TOKEN_SUMS},
        {a.stats.p_correct, TOKEN_P_CORRECT, TOKEN_SUMS, TOKEN_SUMS},
        {a.stats.entropy, TOKEN_ENTROPY, TOKEN_SUMS, TOKEN_SUMS},
        {a.radial, TOKEN_RADIAL, TOKEN_RADIAL_SQ, TOKEN_SUMS},
        {a.tangential, TOKEN_SUMS, TOKEN_TANGENTIAL_SQ, TOKEN_SUMS},
        {a.aux_radial, TOKEN_AUX_RADIAL, TOKEN_SUMS, TOKEN_SUMS},
    };
    int count = a.stats.sum_sq ? (int)(sizeof arrays / sizeof arrays[0]) : 1;
    for (int i = 0; i < count; i++) {
        const float *x = arrays[i].x;
        if (!x)
            continue;
        double sum = arrays[i].sum < TOKEN_SUMS ? total(x, a.N, false, part) : 0;
        double squares = arrays[i].squares < TOKEN_SUMS ? total(x, a.N, true, part) : 0;
        float most = arrays[i].most < TOKEN_SUMS ? maximum(x, a.N, (float *)part) : 0;
        if (threadIdx.x > 0)
            continue;
        if (arrays[i].sum < TOKEN_SUMS)
            a.sums[arrays[i].sum] += sum;
        if (arrays[i].squares < TOKEN_SUMS)
            a.sums[arrays[i].squares] += squares;
        if (arrays[i].most < TOKEN_SUMS)
            a.sums[arrays[i].most] = larger_of(most, a.sums[arrays[i].most]);
    }
    if (count > 1)
        add_bound(a, part);
}

extern "C" void kernel_token_sums(void *stream, const struct token_sums *a)
{
    LAUNCH(add_tokens, 1, THREADS, WARP * sizeof(double), stream, *a);
}

__global__ void judge(struct step_verdict a)
{
    struct step_outcome *o = a.outcome;
    bool finite = isfinite(a.ce_sum[0]) && isfinite(a.aux_sum[0]) && isfinite(a.norm_sq[0]);
    o->skip = !finite || o->stopped;
    if (!o->skip) {
        o->in_a_row = 0;
        return;
    }
    o->skipped++;
    for (int i = 0; i < a.counters; i++)
        a.missed[i] += a.adam_step[i] > 0;
    o->missed_averages += a.averaging;
    if (o->stopped)
        return;
    o->last = a.scalars->step;
    o->ce = a.ce_sum[0];
    o->aux = a.aux_sum[0];
    o->norm_sq = a.norm_sq[0];
    o->in_a_row++;
    if (o->in_a_row >= a.limit)
        o->stopped = o->last;
}

extern "C" void kernel_judge_step(void *stream, const struct step_verdict *a)
{
    LAUNCH(judge, 1, 1, 0, stream, *a);
}
