#include <stdlib.h>

#include "core/base/memory.h"
#include "core/ref/blocks.h"
#include "core/ref/ref.h"
#include "core/ref/staged.h"

struct backend {
    struct block_list blocks;
    struct staged staged;
};

static int ref_create(struct backend **out, const struct backend_options *options, struct error *err)
{
    (void)options;
    (void)err;
    *out = memory_alloc(1, sizeof **out);
    return STATUS_OK;
}

static void ref_destroy(struct backend *be)
{
    if (be) {
        blocks_release_all(&be->blocks);
        staged_clear(&be->staged);
    }
    free(be);
}

static void *ref_alloc(struct backend *be, size_t bytes, struct error *err)
{
    return blocks_alloc(&be->blocks, bytes, err);
}

static void ref_release(struct backend *be, void *memory)
{
    blocks_release(&be->blocks, memory);
}

static void ref_stage(struct backend *be, const void *from, size_t bytes)
{
    staged_put(&be->staged, from, bytes);
}

static void ref_unstage(struct backend *be, void *to, size_t bytes)
{
    staged_take(&be->staged, to, bytes);
}

const struct ops *ops_reference(void)
{
    static const struct ops table = {
        .name = "reference",
        .create = ref_create,
        .destroy = ref_destroy,
        .alloc = ref_alloc,
        .release = ref_release,
        .upload = ref_upload,
        .download = ref_download,
        .copy = ref_copy,
        .zero = ref_zero,
        .sync = ref_sync,
        .stage = ref_stage,
        .unstage = ref_unstage,
        .replay = ref_replay,
        .forget_graphs = ref_forget_graphs,
        .embed_forward = ref_embed_forward,
        .embed_backward = ref_embed_backward,
        .residual_add = ref_residual_add,
        .join_columns = ref_join_columns,
        .split_columns = ref_split_columns,
        .norm_forward = ref_norm_forward,
        .norm_backward = ref_norm_backward,
        .linear_forward = ref_linear_forward,
        .linear_backward = ref_linear_backward,
        .attention_forward = ref_attention_forward,
        .attention_backward = ref_attention_backward,
        .head = ref_head,
        .aux_loss = ref_aux_loss,
        .radial_probe = ref_radial_probe,
        .sum_squares = ref_sum_squares,
        .adamw = ref_adamw,
        .ema_update = ref_ema_update,
        .token_sums = ref_token_sums,
        .judge_step = ref_judge_step,
        .decode_attention = ref_decode_attention,
        .sample = ref_sample,
    };
    return &table;
}

const char *ops_first_empty(const struct ops *ops)
{
#define SLOT(slot)                                                                                                     \
    if (!ops->slot)                                                                                                    \
    return #slot
    SLOT(name);
    SLOT(create);
    SLOT(destroy);
    SLOT(alloc);
    SLOT(release);
    SLOT(upload);
    SLOT(download);
    SLOT(copy);
    SLOT(zero);
    SLOT(sync);
    SLOT(stage);
    SLOT(unstage);
    SLOT(replay);
    SLOT(forget_graphs);
    SLOT(embed_forward);
    SLOT(embed_backward);
    SLOT(residual_add);
    SLOT(join_columns);
    SLOT(split_columns);
    SLOT(norm_forward);
    SLOT(norm_backward);
    SLOT(linear_forward);
    SLOT(linear_backward);
    SLOT(attention_forward);
    SLOT(attention_backward);
    SLOT(head);
    SLOT(aux_loss);
    SLOT(radial_probe);
    SLOT(sum_squares);
    SLOT(adamw);
    SLOT(ema_update);
    SLOT(token_sums);
    SLOT(judge_step);
    SLOT(decode_attention);
    SLOT(sample);
#undef SLOT
    return NULL;
}
