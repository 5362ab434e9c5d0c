/* The ops after the blocks: head and loss, auxiliary loss and probe, optimizer, decoding. */
#include "core/ops/gpu_logits.h"
#include "gpu/backend.h"

enum { SHARED_MOST = 48 << 10 };

struct head_block {
    const void *y, *weight; /* operands */
    const float *bias;
    float *logits; /* [rows, stride] fp32 */
    void *dz;      /* [rows, stride], bf16 in bf16 mode, else the logits themselves */
    void *dy;
    int first, rows, stride;
};

static const void *offset(const struct backend *be, const void *p, size_t elements)
{
    return p ? (const char *)p + elements * (be->half ? sizeof(uint16_t) : sizeof(float)) : NULL;
}

static struct logit_stats stats_from(const struct logit_stats *s, int first)
{
    if (!s->sum_sq)
        return (struct logit_stats){0};
    return (struct logit_stats){s->sum_sq + first, s->max_abs + first,   s->std + first,
                                s->margin + first, s->p_correct + first, s->entropy + first};
}

static void head_rows(struct backend *be, const struct head_pass *a, const struct head_block *b)
{
    const size_t C = (size_t)a->C, at = (size_t)b->first;
    const void *y = offset(be, b->y, at * C);
    struct sink dz = {be->half ? NULL : b->dz, be->half ? b->dz : NULL};
    device_gemm(be->device, &(struct gemm){.a = y,
                                           .b = b->weight,
                                           .d = b->logits,
                                           .m = b->rows,
                                           .n = a->V,
                                           .k = a->C,
                                           .b_transposed = true,
                                           .lda = a->C,
                                           .ldb = a->C,
                                           .ldd = b->stride,
                                           .half_in = be->half,
                                           .bias = b->bias});
    kernel_cross_entropy(backend_stream(be), b->logits, b->stride, a->targets + at, a->ce + at,
                         stats_from(&a->stats, b->first), dz, a->logits ? a->logits + at * (size_t)a->V : NULL,
                         a->grad_scale, b->rows, a->V);
    if (!b->dz)
        return;
    device_gemm(be->device, &(struct gemm){.a = b->dz,
                                           .b = b->weight,
                                           .d = (void *)offset(be, b->dy, at * C),
                                           .m = b->rows,
                                           .n = a->C,
                                           .k = a->V,
                                           .lda = b->stride,
                                           .ldb = a->C,
                                           .ldd = a->C,
                                           .half_in = be->half,
                                           .half_out = be->half});
    device_gemm(be->device, &(struct gemm){.a = b->dz,
                                           .b = y,
                                           .d = a->dweight,
                                           .m = a->V,
                                           .n = a->C,
                                           .k = b->rows,
                                           .a_transposed = true,
                                           .lda = b->stride,
                                           .ldb = a->C,
                                           .ldd = a->C,
                                           .half_in = be->half,
                                           .accumulate = true});
}

void gpu_head(struct backend *be, const struct head_pass *a)
{
    size_t count = (size_t)a->N * (size_t)a->C;
    backend_begin(be, "head");
    struct head_block b = {.stride = (a->V + 7) / 8 * 8};
    int rows = (int)gpu_logit_rows((size_t)a->N, (size_t)a->C, (size_t)b.stride);
    size_t block = (size_t)rows * (size_t)b.stride;
    b.logits = backend_scratch(be, block * sizeof(float));
    b.y = read_operand(be, a->y, count);
    b.weight = read_operand(be, a->weight, (size_t)a->V * (size_t)a->C);
    if (a->bias) {
        read_full(be, a->bias, (size_t)a->V);
        b.bias = a->bias;
    }
    if (a->dy) {
        struct sink dy = write_half(be, a->dy, count);
        b.dy = be->half ? (void *)dy.half : dy.full;
        b.dz = be->half ? backend_scratch(be, block * sizeof(uint16_t)) : b.logits;
    }
    if (a->logits)
        write_full(be, a->logits, (size_t)a->N * (size_t)a->V);
    for (b.first = 0; b.first < a->N && !device_failed(be->device); b.first += b.rows) {
        b.rows = a->N - b.first < rows ? a->N - b.first : rows;
        head_rows(be, a, &b);
    }
    backend_end(be);
}

void gpu_aux_loss(struct backend *be, const struct aux_loss *a)
{
    size_t count = (size_t)a->N * (size_t)a->C;
    backend_begin(be, "aux_loss");
    float *rows = backend_scratch(be, (size_t)a->N * sizeof *rows);
    read_full(be, a->h, count);
    if (a->dh) {
        read_full(be, a->dh, count);
        write_full(be, a->dh, count);
    }
    if (rows && !device_failed(be->device))
        kernel_aux_loss(backend_stream(be), a, rows);
    backend_end(be);
}

void gpu_radial_probe(struct backend *be, const struct radial_probe *a)
{
    size_t count = (size_t)a->N * (size_t)a->C;
    backend_begin(be, "radial_probe");
    read_full(be, a->dh, count);
    read_full(be, a->h, count);
    if (!device_failed(be->device))
        kernel_radial_probe(backend_stream(be), a);
    backend_end(be);
}

/* ---------------------------------------------------------------------------------------- optimizer */

void gpu_sum_squares(struct backend *be, double *out, const float *x, const struct param_segment *segments, int count,
                     const int32_t *adam_step)
{
    backend_begin(be, "sum_squares");
    const struct tile_table *t = backend_tiles(be, segments, count);
    double *partial = t ? backend_scratch(be, ((size_t)t->count + 1) * sizeof *partial) : NULL;
    for (int i = 0; i < count; i++)
        read_full(be, x + segments[i].offset, segments[i].size);
    if (partial && !device_failed(be->device))
        kernel_sum_squares(backend_stream(be), out, x, t->tiles, t->count, adam_step, partial);
    backend_end(be);
}

/* The bf16 copies are written along, so those that were valid stay so, also where a group is off and nothing moves. */
void gpu_adamw(struct backend *be, const struct adamw *a)
{
    backend_begin(be, "adamw");
    const struct tile_table *t = backend_tiles(be, a->segments, a->segment_count);
    if (t && !device_failed(be->device))
        kernel_adamw(backend_stream(be), a, t->tiles, t->count, be->half ? backend_twin(be, a->params) : NULL);
    backend_end(be);
}

void gpu_ema_update(struct backend *be, double *ema, const double *sums, double decay, double scale, int count,
                    const struct step_outcome *outcome)
{
    backend_begin(be, "ema_update");
    kernel_ema(backend_stream(be), ema, sums, decay, scale, count, outcome);
    backend_end(be);
}

void gpu_token_sums(struct backend *be, const struct token_sums *a)
{
    backend_begin(be, "token_sums");
    if (!device_failed(be->device))
        kernel_token_sums(backend_stream(be), a);
    backend_end(be);
}

void gpu_judge_step(struct backend *be, const struct step_verdict *a)
{
    backend_begin(be, "judge_step");
    if (!device_failed(be->device))
        kernel_judge_step(backend_stream(be), a);
    backend_end(be);
}

/* ------------------------------------------------------------------------------------------- decode */

void gpu_decode_attention(struct backend *be, const struct decode_attention *a)
{
    size_t count = (size_t)a->B * (size_t)a->H * (size_t)a->D, cache = count * (size_t)a->S;
    backend_begin(be, "decode_attention");
    size_t shared = kernel_attention_shared(a->S, a->D);
    if (shared > SHARED_MOST)
        device_fail(be->device,
                    "a cache of %d positions of head width %d takes %zu bytes of shared memory, a block has %d", a->S,
                    a->D, shared, SHARED_MOST);
    read_full(be, a->qkv, 3 * count);
    if (a->rope.theta > 0)
        write_full(be, a->qkv, 3 * count);
    read_full(be, a->k_cache, cache);
    read_full(be, a->v_cache, cache);
    write_full(be, a->k_cache, cache);
    write_full(be, a->v_cache, cache);
    struct sink out = write_both(be, a->out, count);
    if (!device_failed(be->device))
        kernel_decode_attention(backend_stream(be), a, out.half);
    backend_end(be);
}

void gpu_sample(struct backend *be, const struct sample_tokens *a)
{
    backend_begin(be, "sample");
    read_full(be, a->logits, (size_t)a->B * (size_t)a->V);
    if (!device_failed(be->device))
        kernel_sample(backend_stream(be), a);
    backend_end(be);
}
