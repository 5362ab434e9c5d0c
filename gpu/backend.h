/* The CUDA backend's own state, shared by the files that fill the ops table.
 *
 * One op, one function: it names itself with backend_begin, asks for its inputs in the precision it wants (read_*),
 * says what it writes (write_*), takes scratch, and enqueues. In fp32 mode everything is `full` and nothing is tracked.
 * A recording (replay) fixes pointers and conversions; it is only launched while the validity of every tensor is what
 * it was when it was recorded, and recorded anew otherwise. */
#ifndef TAPER_GPU_BACKEND_H
#define TAPER_GPU_BACKEND_H

#include "core/ops/gpu_scratch.h"
#include "core/ops/ops.h"
#include "gpu/device.h"
#include "gpu/kernels.h"
#include "gpu/regions.h"

enum { GRAPH_KEYS = 64, TILE_TABLES = 8 };

/* Scratch memory: chunks that are kept, handed out from the front within an op. */
struct scratch {
    char *chunks[GPU_SCRATCH_PIECES];
    size_t bytes[GPU_SCRATCH_PIECES];
    int count, current;
    size_t used; /* of the current chunk */
};

/* The segments of a parameter block, cut into the blocks' work; on the device. */
struct tile_table {
    struct param_segment *segments; /* a copy, to know them again */
    int segment_count, count;
    struct tile *tiles; /* device memory */
};

/* What is on its way by the copy stream: slots in turn, in page-locked and in device memory. */
struct ahead {
    size_t room; /* bytes of a slot; 0: not opened */
    unsigned staged, taken;
    struct ahead_slot {
        void *host, *memory;
        struct device_event *arrived; /* what was sent is in memory, and host is free */
        struct device_event *taken;   /* memory is free */
    } slots[STAGED_MOST];
};

struct recording {
    struct device_graph *graph;
    bool warm; /* the body ran once: plans, workspaces and twins are there */
    uint64_t epoch;
    uint64_t state; /* of the regions when the recording began */
    struct regions_snapshot after;
};

struct backend {
    struct device *device;
    bool half; /* bf16 matrix work */
    bool capturing;
    struct regions regions;
    struct scratch scratch;
    struct ahead ahead;
    struct recording recordings[GRAPH_KEYS];
    struct tile_table tables[TILE_TABLES];
    int table_count;
};

void *backend_stream(struct backend *be);

/* Every op starts here: scratch is free again, failures carry the name. */
void backend_begin(struct backend *be, const char *op);
/* And ends here: a launch that failed is kept. */
void backend_end(struct backend *be);

/* Device memory within an op. NULL after a failure, which is kept. */
void *backend_memory(struct backend *be, size_t bytes);

/* Scratch of the op, 256-byte aligned. NULL after a failure, which is kept: the caller then returns. */
void *backend_scratch(struct backend *be, size_t bytes);

/* Inputs: valid in the precision when the work enqueued from here on runs. any: whichever is there, bf16 if both. */
const float *read_full(struct backend *be, const float *p, size_t count);
const uint16_t *read_half(struct backend *be, const float *p, size_t count);
struct view read_any(struct backend *be, const float *p, size_t count);

/* What matrix products read: bf16 in bf16 mode, else fp32. */
const void *read_operand(struct backend *be, const float *p, size_t count);

/* Outputs, wholly overwritten (or read before with read_*, and updated). */
float *write_full(struct backend *be, float *p, size_t count);
struct sink write_half(struct backend *be, float *p, size_t count); /* bf16 in bf16 mode, else fp32 */
struct sink write_both(struct backend *be, float *p, size_t count); /* fp32, and bf16 in bf16 mode */

/* The twin of an address if its region has one, else NULL; nothing is marked. */
uint16_t *backend_twin(struct backend *be, const float *p);

/* The table of a segment list, made on first sight. NULL after a failure. */
const struct tile_table *backend_tiles(struct backend *be, const struct param_segment *segments, int count);

/* The slots. */
int backend_create(struct backend **out, const struct backend_options *options, struct error *err);
void backend_destroy(struct backend *be);
void *backend_alloc(struct backend *be, size_t bytes, struct error *err);
void backend_release(struct backend *be, void *memory);
void backend_upload(struct backend *be, void *to, const void *from, size_t bytes);
void backend_download(struct backend *be, void *to, const void *from, size_t bytes);
void backend_copy(struct backend *be, void *to, const void *from, size_t bytes);
void backend_zero(struct backend *be, void *memory, size_t bytes);
int backend_sync(struct backend *be, struct error *err);
void backend_stage(struct backend *be, const void *from, size_t bytes);
void backend_unstage(struct backend *be, void *to, size_t bytes);
void backend_replay(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg);
void backend_forget_graphs(struct backend *be);

void gpu_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C);
void gpu_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V);
void gpu_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count);
void gpu_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B);
void gpu_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B);
void gpu_norm_forward(struct backend *be, const struct norm_forward *a);
void gpu_norm_backward(struct backend *be, const struct norm_backward *a);
void gpu_linear_forward(struct backend *be, const struct linear_forward *a);
void gpu_linear_backward(struct backend *be, const struct linear_backward *a);
void gpu_attention_forward(struct backend *be, const struct attention_forward *a);
void gpu_attention_backward(struct backend *be, const struct attention_backward *a);
void gpu_head(struct backend *be, const struct head_pass *a);
void gpu_aux_loss(struct backend *be, const struct aux_loss *a);
void gpu_radial_probe(struct backend *be, const struct radial_probe *a);
void gpu_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step);
void gpu_adamw(struct backend *be, const struct adamw *a);
void gpu_ema_update(struct backend *be, double *ema, const double *sums, double decay, double scale, int count,
                    const struct step_outcome *outcome);
void gpu_token_sums(struct backend *be, const struct token_sums *a);
void gpu_judge_step(struct backend *be, const struct step_verdict *a);
void gpu_decode_attention(struct backend *be, const struct decode_attention *a);
void gpu_sample(struct backend *be, const struct sample_tokens *a);

/* The whole table, named "cuda". */
const struct ops *gpu_ops_table(void);

#endif
