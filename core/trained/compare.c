#include "core/trained/compare.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/model/transformer.h"

/* One window through a model; its logits [T,V] to `device` where that is not NULL. */
static void run_window(const struct model *m, struct activations *a, const int32_t *tokens, float *device)
{
    const size_t N = (size_t)a->N;
    const struct pass pass = {.grad_scale = 1, .logits = device};
    int32_t *none = memory_alloc(N, sizeof *none);
    for (size_t n = 0; n < N; n++)
        none[n] = -1;
    m->ops->upload(m->be, a->tokens, tokens, N * sizeof *tokens);
    m->ops->upload(m->be, a->targets, none, N * sizeof *none);
    transformer_pass(m, a, &pass);
    free(none);
}

static int window_logits(const struct model *m, struct activations *a, const int32_t *tokens, float *device, float *out,
                         struct error *err)
{
    run_window(m, a, tokens, device);
    m->ops->download(m->be, out, device, (size_t)a->N * (size_t)m->cfg.vocab * sizeof *out);
    return m->ops->sync(m->be, err);
}

int compare_logits(const struct model *const both[2], const int32_t *windows, int count, int T,
                   struct logits_difference *out, struct error *err)
{
    const struct model *first = both[0];
    const size_t size = (size_t)T * (size_t)first->cfg.vocab;
    struct activations a[2] = {{0}, {0}};
    double difference = 0, energy = 0, largest = 0;
    *out = (struct logits_difference){.error = NAN, .largest = NAN, .tokens = (int64_t)count * T};
    int status = activations_create(&a[0], first, 1, T, false, err);
    if (!status)
        status = activations_create(&a[1], both[1], 1, T, false, err);
    float *device = status ? NULL : first->ops->alloc(first->be, size * sizeof *device, err);
    float *x[2] = {memory_alloc(size, sizeof **x), memory_alloc(size, sizeof **x)};
    if (!status && !device)
        status = STATUS_FAILED;
    for (int w = 0; !status && w < count; w++) {
        for (int k = 0; !status && k < 2; k++)
            status = window_logits(both[k], &a[k], windows + (size_t)w * (size_t)T, device, x[k], err);
        for (size_t i = 0; !status && i < size; i++) {
            double d = (double)x[1][i] - (double)x[0][i];
            difference += d * d;
            energy += (double)x[0][i] * (double)x[0][i];
            largest = fabs(d) > largest || isnan(d) ? fabs(d) : largest;
        }
    }
    if (!status) {
        out->error = energy > 0 ? sqrt(difference / energy) : sqrt(difference);
        out->largest = energy > 0 ? largest / sqrt(energy / (double)((size_t)count * size)) : largest;
    }
    if (device)
        first->ops->release(first->be, device);
    for (int k = 0; k < 2; k++) {
        activations_destroy(&a[k], both[k]);
        free(x[k]);
    }
    return status;
}

void compare_random_windows(int64_t vocab, int count, int T, int32_t *windows)
{
    const struct rng_stream stream = {.seed = 1, .use = RNG_BATCH};
    for (int64_t i = 0; i < (int64_t)count * T; i++)
        windows[i] = (int32_t)rng_below(&stream, (uint64_t)i, (uint64_t)vocab);
}

/* The largest mean square of a row of [T,C]; NaN once one is. */
static double largest_square(const struct model *m, const float *device, float *host, int T, double so_far)
{
    const size_t C = (size_t)m->cfg.d_model;
    m->ops->download(m->be, host, device, (size_t)T * C * sizeof *host);
    if (m->ops->sync(m->be, NULL))
        return NAN;
    for (size_t t = 0; t < (size_t)T; t++) {
        double sum = 0;
        for (size_t i = 0; i < C; i++)
            sum += (double)host[t * C + i] * (double)host[t * C + i];
        so_far = !isfinite(sum) ? NAN : fmax(so_far, sum / (double)C);
        if (isnan(so_far))
            break;
    }
    return so_far;
}

int compare_stream_rms(const struct model *m, const int32_t *window, int T, double *rms, struct error *err)
{
    struct activations a;
    double square = 0;
    /* With gradients every layer keeps its own stream. */
    int status = activations_create(&a, m, 1, T, true, err);
    if (status)
        return status;
    run_window(m, &a, window, NULL);
    status = m->ops->sync(m->be, err);
    float *host = memory_alloc((size_t)T * (size_t)m->cfg.d_model, sizeof *host);
    for (int i = 0; i < m->table.layers && !isnan(square); i++) {
        square = largest_square(m, a.layers[i].h_attn, host, T, square);
        if (!isnan(square))
            square = largest_square(m, a.layers[i].h_mlp, host, T, square);
    }
    if (!isnan(square))
        square = largest_square(m, a.h, host, T, square);
    *rms = sqrt(square);
    free(host);
    activations_destroy(&a, m);
    return status;
}
