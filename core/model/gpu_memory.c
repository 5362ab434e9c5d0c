#include "core/model/gpu_memory.h"

#include "core/ops/gpu_logits.h"
#include "core/model/model.h"
#include "core/model/transformer.h"

enum { MIB = 1 << 20, LIBRARIES = 256 * MIB /* kernels that are loaded, cuBLASLt's workspace */ };

/* As the backend asks for it: rows of logits, attention's sums and workspace, sorting tokens. Pieces are kept, and each
 * of these may have found none that was large enough. */
static size_t scratch_need(const struct config *cfg, bool half)
{
    const size_t B = (size_t)cfg->batch, T = (size_t)cfg->context, N = B * T, C = (size_t)cfg->d_model;
    const size_t A = (size_t)config_attn(cfg);
    const size_t V = (size_t)cfg->vocab, H = (size_t)cfg->heads, F = (size_t)cfg->d_ff;
    const size_t stride = (V + 7) / 8 * 8, rows = B * H * T;
    size_t logits = gpu_logit_rows(N, C, stride) * stride * sizeof(float) * 3 / 2; /* and their gradient in bf16 */
    size_t attention = rows * sizeof(float) + (half ? N * A * sizeof(float) + rows * T * 2 : 0);
    size_t tokens = (N / 256 + 2) * V * sizeof(int32_t), swiglu = N * F * sizeof(float);
    return LIBRARIES + logits + attention + tokens + swiglu;
}

struct gpu_memory gpu_memory_need(const struct config *cfg, bool half)
{
    struct model shape = {.cfg = *cfg}; /* no backend, no memory: its table alone */
    struct gpu_memory need;
    params_create(&shape.table, cfg);
    size_t block = shape.table.total * sizeof(float), copies = half ? block / 2 : 0;
    need.parameters = 4 * block + copies;
    need.activations = activations_measure(&shape, (int)cfg->batch, (int)cfg->context, true);
    need.evaluation = activations_measure(&shape, (int)cfg->batch, (int)cfg->context, false);
    if (half) { /* each of their elements may stand in both precisions */
        need.activations += need.activations / 2;
        need.evaluation += need.evaluation / 2;
    }
    size_t batch = 2 * (size_t)cfg->accumulate * (size_t)cfg->batch * (size_t)cfg->context * sizeof(int32_t);
    need.activations += (1 + STAGED_MOST) * batch;
    need.scratch = scratch_need(cfg, half);
    need.total = need.parameters + need.activations + need.evaluation + need.scratch;
    params_destroy(&shape.table);
    return need;
}

static size_t mebibytes(size_t bytes)
{
    return (bytes + MIB - 1) / MIB;
}

int gpu_memory_check(const struct config *cfg, bool half, size_t free_bytes, size_t total_bytes, struct error *err)
{
    struct gpu_memory need = gpu_memory_need(cfg, half);
    if (need.total <= free_bytes)
        return STATUS_OK;
    return error_set(
        err, STATUS_MEMORY,
        "out of memory: the run takes about %zu MiB (parameters and moments %zu, "
        "activations %zu, evaluation %zu, scratch %zu), the device has %zu of %zu MiB free; half of train.batch "
        "with twice train.accumulate takes less",
        mebibytes(need.total), mebibytes(need.parameters), mebibytes(need.activations), mebibytes(need.evaluation),
        mebibytes(need.scratch), free_bytes / MIB, total_bytes / MIB);
}
