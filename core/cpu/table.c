#include <stdio.h>
#include <stdlib.h>

#include "core/cpu/cpu.h"
#include "core/cpu/gemm.h"
#include "core/base/memory.h"
#include "core/ref/ref.h"

static int cpu_create(struct backend **out, const struct backend_options *options, struct error *err)
{
    if (options->threads < 1)
        return error_set(err, STATUS_BAD_INPUT, "threads: want at least 1, found %d", options->threads);
    gemm_setup(); /* every thread of ours calls it for its own share */
    gemm_reserve(options->threads);
    struct backend *be = memory_alloc(1, sizeof *be);
    be->threads = options->threads;
    be->kernels = kernels_best();
    *out = be;
    return STATUS_OK;
}

static void cpu_destroy(struct backend *be)
{
    if (be) {
        gemm_unreserve(be->threads);
        blocks_release_all(&be->blocks);
        staged_clear(&be->staged);
        free(be->scratch);
        free(be->rope);
    }
    free(be);
}

static void *cpu_alloc(struct backend *be, size_t bytes, struct error *err)
{
    return blocks_alloc(&be->blocks, bytes, err);
}

static void cpu_release(struct backend *be, void *memory)
{
    blocks_release(&be->blocks, memory);
}

float *cpu_scratch(struct backend *be, size_t count)
{
    size_t bytes = count * sizeof(float);
    if (bytes > be->scratch_bytes) {
        size_t whole = bytes + bytes / 8;
        free(be->scratch);
        be->scratch = memory_large(whole);
        if (!be->scratch) /* an op has no way to report, and the run could not go on */
            memory_exhausted("%zu bytes of scratch", whole);
        be->scratch_bytes = whole;
    }
    return be->scratch;
}

size_t cpu_padded(size_t count)
{
    return (count + 15) / 16 * 16 + 16;
}

static void cpu_stage(struct backend *be, const void *from, size_t bytes)
{
    staged_put(&be->staged, from, bytes);
}

static void cpu_unstage(struct backend *be, void *to, size_t bytes)
{
    staged_take(&be->staged, to, bytes);
}

const struct ops *ops_cpu(void)
{
    static const struct ops table = {
        .name = "cpu",
        .create = cpu_create,
        .destroy = cpu_destroy,
        .alloc = cpu_alloc,
        .release = cpu_release,
        .upload = ref_upload,
        .download = ref_download,
        .copy = ref_copy,
        .zero = ref_zero,
        .sync = ref_sync,
        .stage = cpu_stage,
        .unstage = cpu_unstage,
        .replay = ref_replay,
        .forget_graphs = ref_forget_graphs,
        .embed_forward = cpu_embed_forward,
        .embed_backward = cpu_embed_backward,
        .residual_add = cpu_residual_add,
        .join_columns = cpu_join_columns,
        .split_columns = cpu_split_columns,
        .norm_forward = cpu_norm_forward,
        .norm_backward = cpu_norm_backward,
        .linear_forward = cpu_linear_forward,
        .linear_backward = cpu_linear_backward,
        .attention_forward = cpu_attention_forward,
        .attention_backward = cpu_attention_backward,
        .head = cpu_head,
        .aux_loss = cpu_aux_loss,
        .radial_probe = cpu_radial_probe,
        .sum_squares = cpu_sum_squares,
        .adamw = cpu_adamw,
        .ema_update = ref_ema_update,
        .token_sums = ref_token_sums,
        .judge_step = ref_judge_step,
        .decode_attention = cpu_decode_attention,
        .sample = cpu_sample,
    };
    return &table;
}
