#include "gpu/backend.h"

const struct ops *gpu_ops_table(void)
{
    static const struct ops table = {
        .name = "cuda",
        .deferred = true,
        .create = backend_create,
        .destroy = backend_destroy,
        .alloc = backend_alloc,
        .release = backend_release,
        .upload = backend_upload,
        .download = backend_download,
        .copy = backend_copy,
        .zero = backend_zero,
        .sync = backend_sync,
        .stage = backend_stage,
        .unstage = backend_unstage,
        .replay = backend_replay,
        .forget_graphs = backend_forget_graphs,
        .embed_forward = gpu_embed_forward,
        .embed_backward = gpu_embed_backward,
        .residual_add = gpu_residual_add,
        .join_columns = gpu_join_columns,
        .split_columns = gpu_split_columns,
        .norm_forward = gpu_norm_forward,
        .norm_backward = gpu_norm_backward,
        .linear_forward = gpu_linear_forward,
        .linear_backward = gpu_linear_backward,
        .attention_forward = gpu_attention_forward,
        .attention_backward = gpu_attention_backward,
        .head = gpu_head,
        .aux_loss = gpu_aux_loss,
        .radial_probe = gpu_radial_probe,
        .sum_squares = gpu_sum_squares,
        .adamw = gpu_adamw,
        .ema_update = gpu_ema_update,
        .token_sums = gpu_token_sums,
        .judge_step = gpu_judge_step,
        .decode_attention = gpu_decode_attention,
        .sample = gpu_sample,
    };
    return &table;
}
