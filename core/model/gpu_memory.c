#include "core/model/gpu_memory.h"

#include <stdio.h>

#include "core/ops/gpu_logits.h"
#include "core/ops/gpu_scratch.h"
#include "core/model/model.h"
#include "core/model/transformer.h"

/* SMALL: counters, sums, lists of tiles, and what allocations are rounded up by. */
enum { MIB = 1 << 20, SMALL = 4 * MIB };

/* ------------------------------------------------------------------------------------------- scratch */

/* The pieces as the backend's backend_scratch comes to have them: first fit, within an op from the front. */
struct pieces {
    size_t bytes[GPU_SCRATCH_PIECES], used;
    int count, current;
};

static void begin_op(struct pieces *p)
{
    p->current = 0;
    p->used = 0;
}

static void take(struct pieces *p, size_t bytes)
{
    if (!bytes)
        return;
    bytes = (bytes + GPU_SCRATCH_ALIGN - 1) / GPU_SCRATCH_ALIGN * GPU_SCRATCH_ALIGN;
    for (; p->current < p->count; p->current++, p->used = 0)
        if (p->bytes[p->current] - p->used >= bytes) {
            p->used += bytes;
            return;
        }
    if (p->count == GPU_SCRATCH_PIECES)
        return; /* the backend will say so */
    p->bytes[p->count++] = bytes > GPU_SCRATCH_LEAST ? bytes : GPU_SCRATCH_LEAST;
    p->used = bytes;
}

/* kernel_norm_scratch: three sums a column, for each of the chunks that the rows are cut into. */
static size_t column_sums(size_t N, size_t C)
{
    size_t chunks = (N + 63) / 64;
    return (chunks < 128 ? chunks : 128) * 3 * C * sizeof(float);
}

/* The ops of a step that want scratch, in the order in which they come for the first time (gpu/ops_model.c,
 * gpu/ops_loss.c). The attention's workspace is that of the form whose results do not differ from run to run. */
static size_t scratch_need(const struct config *cfg, bool half, size_t parameters)
{
    const size_t B = (size_t)cfg->batch, T = (size_t)cfg->context, N = B * T, C = (size_t)cfg->d_model;
    const size_t A = (size_t)config_attn(cfg), V = (size_t)cfg->vocab, H = (size_t)cfg->heads, F = (size_t)cfg->d_ff;
    const size_t rows = B * H * T;
    const size_t wide = cfg->mlp == MLP_SWIGLU ? 2 * F : F, stride = (V + 7) / 8 * 8;
    const size_t block = gpu_logit_rows(N, C, stride) * stride, most = wide > 3 * A ? wide : 3 * A;
    struct pieces p = {.count = 0};
    begin_op(&p); /* norm_forward, calibrating */
    take(&p, N * sizeof(float));
    begin_op(&p); /* head */
    take(&p, block * sizeof(float));
    take(&p, half ? block * 2 : 0);
    begin_op(&p); /* linear_backward after the activation */
    take(&p, cfg->bias ? column_sums(N, C) : 0);
    take(&p, cfg->mlp == MLP_SWIGLU ? N * F * (half ? 2 : sizeof(float)) : 0);
    begin_op(&p); /* linear_backward of the widest */
    take(&p, cfg->bias ? column_sums(N, most) : 0);
    begin_op(&p); /* norm_backward */
    take(&p, column_sums(N, C));
    begin_op(&p); /* attention_backward */
    take(&p, rows * sizeof(float));
    take(&p, half ? N * A * sizeof(float) : 0);
    take(&p, half ? rows * T * 2 : 0);
    begin_op(&p); /* embed_backward */
    take(&p, ((N / 256 + 2) * V + 1 + N) * sizeof(int32_t));
    begin_op(&p); /* sum_squares: a number for so many parameters */
    take(&p, parameters / 8192 * sizeof(double));
    size_t all = GPU_PRODUCTS + SMALL;
    for (int i = 0; i < p.count; i++)
        all += p.bytes[i];
    return all;
}

/* ------------------------------------------------------------------------------------------- tensors */

/* The decoder of the sample (core/decode/decoder_ops.c): the cache, and vectors. */
static size_t sample_need(const struct config *cfg)
{
    const size_t C = (size_t)cfg->d_model, F = (size_t)cfg->d_ff, V = (size_t)cfg->vocab;
    const size_t A = (size_t)config_attn(cfg), cache = 2 * (size_t)cfg->layers * A * (size_t)cfg->context;
    return cfg->sample_tokens ? (cache + 3 * C + 4 * A + 3 * F + V) * sizeof(float) : 0;
}

/* In bf16 each element of what takes part in products may stand in both precisions. */
static size_t with_twin(size_t bytes, bool half)
{
    return half ? bytes + bytes / 2 + GPU_SCRATCH_ALIGN : bytes;
}

struct gpu_memory gpu_memory_need(const struct config *cfg, bool half)
{
    struct model shape = {.cfg = *cfg}; /* no backend, no memory: its table alone */
    struct gpu_memory need;
    params_create(&shape.table, cfg);
    const size_t block = shape.table.total * sizeof(float), sample = sample_need(cfg);
    const size_t batch = 2 * (size_t)cfg->accumulate * (size_t)cfg->batch * (size_t)cfg->context * sizeof(int32_t);
    const size_t evaluation = activations_measure(&shape, (int)cfg->batch, (int)cfg->context, false);
    need.parameters = with_twin(block, half) + 3 * block;
    need.activations = with_twin(activations_measure(&shape, (int)cfg->batch, (int)cfg->context, true), half);
    need.activations += (1 + STAGED_MOST) * batch;
    need.evaluation = with_twin(evaluation > sample ? evaluation : sample, half);
    need.scratch = scratch_need(cfg, half, shape.table.total);
    need.total = need.parameters + need.activations + need.evaluation + need.scratch;
    params_destroy(&shape.table);
    return need;
}

/* ------------------------------------------------------------------------------------------- checks */

static size_t mebibytes(size_t bytes)
{
    return (bytes + MIB - 1) / MIB;
}

/* "about 300 MiB (parameters ...)", with what the process takes. */
static const char *describe(char to[200], const struct gpu_memory *need, size_t process)
{
    snprintf(to, 200,
             "the run takes about %zu MiB (parameters and moments %zu, activations %zu, evaluation %zu, scratch %zu, "
             "CUDA %zu)",
             mebibytes(need->total + process), mebibytes(need->parameters), mebibytes(need->activations),
             mebibytes(need->evaluation), mebibytes(need->scratch), mebibytes(process));
    return to;
}

int gpu_memory_check(const struct config *cfg, bool half, size_t free_bytes, size_t total_bytes, struct error *err)
{
    struct gpu_memory need = gpu_memory_need(cfg, half);
    char text[200];
    if (need.total + GPU_MEMORY_KERNELS <= free_bytes)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY,
                     "out of memory: %s, the device has %zu of %zu MiB free; half of train.batch "
                     "with twice train.accumulate takes less",
                     describe(text, &need, GPU_MEMORY_KERNELS), free_bytes / MIB, total_bytes / MIB);
}

int gpu_memory_fits(const struct config *cfg, bool half, size_t largest, struct error *err)
{
    const size_t process = (size_t)GPU_MEMORY_CONTEXT + GPU_MEMORY_KERNELS;
    struct gpu_memory need = gpu_memory_need(cfg, half);
    char text[200];
    if (need.total + process <= largest)
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s, the largest GPU has %zu MiB; half of train.batch with twice train.accumulate takes less",
                     describe(text, &need, process), largest / MIB);
}
