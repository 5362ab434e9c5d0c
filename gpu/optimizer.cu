/* Squared norm, AdamW with clipping over the flat parameter block, and the calibration averages. A block a tile. */
#include "gpu/device_code.cuh"

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS)
    sum_tiles(double *partial, const float *x, const struct tile *tiles, const int32_t *adam_step)
{
    SHARED_MEMORY(double, part);
    struct tile t = tiles[blockIdx.x];
    double sum = 0;
    if (adam_step[t.counter] > 0)
        for (int i = threadIdx.x; i < t.size; i += THREADS) {
            double value = x[t.offset + i];
            sum += value * value;
        }
    sum = block_sum(sum, part);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(1024) sum_partial(double *out, const double *partial, int count)
{
    SHARED_MEMORY(double, part);
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        sum += partial[i];
    sum = block_sum(sum, part);
    if (threadIdx.x == 0)
        out[0] = sum;
}

extern "C" void kernel_sum_squares(void *stream, double *out, const float *x, const struct tile *tiles, int count,
                                   const int32_t *adam_step, double *partial)
{
    if (count)
        LAUNCH(sum_tiles, count, THREADS, 32 * sizeof(double), stream, partial, x, tiles, adam_step);
    LAUNCH(sum_partial, 1, 1024, 32 * sizeof(double), stream, out, partial, count);
}

/* What is the same for a whole tile. */
struct update {
    float factor, lr, fix1, fix2;
};

__global__ void __launch_bounds__(THREADS) adamw_tile(struct adamw a, const struct tile *tiles, uint16_t *half)
{
    SHARED_MEMORY(struct update, u);
    struct tile t = tiles[blockIdx.x];
    int step = a.adam_step[t.counter];
    if (step <= 0 || (a.outcome && a.outcome->skip))
        return;
    if (a.missed)
        step -= a.missed[t.counter];
    if (threadIdx.x == 0) {
        double norm = sqrt(a.norm_sq[0]);
        u->factor = a.clip == 0 || norm <= a.clip ? 1.0f : (float)(a.clip / norm); /* a norm that is NaN stays NaN */
        u->lr = a.scalars->lr;
        u->fix1 = (float)(1.0 - pow((double)a.beta1, (double)step));
        u->fix2 = (float)(1.0 - pow((double)a.beta2, (double)step));
    }
    __syncthreads();
    for (int k = threadIdx.x; k < t.size; k += THREADS) {
        size_t i = t.offset + k;
        float g = a.grads[i] * u->factor, p = a.params[i];
        float m = a.beta1 * a.m[i] + (1.0f - a.beta1) * g, v = a.beta2 * a.v[i] + (1.0f - a.beta2) * g * g;
        if (t.decay)
            p -= p * u->lr * a.weight_decay;
        p -= u->lr * (m / u->fix1) / (sqrtf(v / u->fix2) + a.eps);
        a.m[i] = m;
        a.v[i] = v;
        a.params[i] = p;
        if (half)
            half[i] = float_to_half(p);
    }
}

extern "C" void kernel_adamw(void *stream, const struct adamw *a, const struct tile *tiles, int count, uint16_t *half)
{
    if (count)
        LAUNCH(adamw_tile, count, THREADS, sizeof(struct update), stream, *a, tiles, half);
}

__global__ void __launch_bounds__(THREADS)
    ema(double *to, const double *sums, double decay, double scale, int count, const struct step_outcome *outcome)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count && !(outcome && outcome->skip))
        to[i] = decay * to[i] + (1 - decay) * sums[i] * scale;
}

extern "C" void kernel_ema(void *stream, double *to, const double *sums, double decay, double scale, int count,
                           const struct step_outcome *outcome)
{
    if (count)
        LAUNCH(ema, divide_up(count, THREADS), THREADS, 0, stream, to, sums, decay, scale, count, outcome);
}
