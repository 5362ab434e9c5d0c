/* Memory of the CPU decoder: everything is allocated here, once, so that a token allocates nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/decoder_cpu.h"
#include "core/memory.h"

enum { HUGE_PAGE = 2 << 20, PREFILL_ROWS = 32 };

static int padded(int64_t count)
{
    return (int)((count + GEMV_LANES - 1) / GEMV_LANES * GEMV_LANES);
}

/* Zeroed; on huge pages where the system has them: streaming weights otherwise misses the TLB at every page. */
static void *big_alloc(size_t bytes, struct error *err)
{
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *block = bytes ? aligned_alloc(HUGE_PAGE, whole) : NULL;
    if (!block) {
        error_set(err, STATUS_FAILED, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    madvise(block, whole, MADV_HUGEPAGE); /* advice: without it the same, a little slower */
    memset(block, 0, whole);
    return block;
}

/* Hands out parts of one block: counts with base NULL, then again for real. */
struct carver {
    char *base;
    size_t used;
};

static void *carve(struct carver *c, size_t bytes)
{
    void *at = c->base ? c->base + c->used : NULL;
    c->used += (bytes + 63) / 64 * 64;
    return at;
}

static float *floats(struct carver *c, size_t count)
{
    return carve(c, count * sizeof(float));
}

/* ------------------------------------------------------------------------------------------- weights */

/* SwiGLU: blocks of gate and up rows take turns, so that one thread has both halves of its activations. O counts both.
 */
static int swiglu_order(int row, int O)
{
    int block = row / GEMV_LANES, at = block / 2 * GEMV_LANES + row % GEMV_LANES, half = O / 2;
    return at >= half ? -1 : block % 2 ? half + at : at;
}

static size_t packed_bytes(const struct cpu_decoder *d, int64_t O, int64_t I)
{
    size_t rows = (size_t)padded(O);
    return d->base.options.weights == WEIGHTS_BF16 ? rows * (size_t)((I + 1) / 2) * 4 : rows * (size_t)I * 4;
}

/* One projection: its place while counting, and its numbers when there is memory. */
static void pack(struct cpu_decoder *d, struct packed *p, struct carver *weights, int weight, int bias, int rows,
                 int (*order)(int row, int O))
{
    const struct model *m = d->base.m;
    const struct param *w = &m->table.rows[weight];
    const int O = (int)w->shape[0], I = (int)w->shape[1];
    p->I = I;
    p->blocks = rows / GEMV_LANES;
    p->weights = carve(weights, packed_bytes(d, rows, I));
    if (!weights->base)
        return;
    const float *from = m->params + w->offset, *b = model_row(m, m->params, bias);
    if (d->base.options.weights == WEIGHTS_BF16)
        gemv_pack_bf16(p->weights, from, rows, O, I, order);
    else
        gemv_pack_fp32(p->weights, from, rows, O, I, order);
    for (int r = 0; b && r < rows; r++) {
        int at = order ? order(r, O) : r;
        p->bias[r] = at >= 0 && at < O ? b[at] : 0;
    }
}

static void pack_all(struct cpu_decoder *d, struct carver *weights)
{
    const struct param_table *t = &d->base.m->table;
    int (*order)(int, int) = d->base.m->cfg.mlp == MLP_SWIGLU ? swiglu_order : NULL;
    for (int l = 0; l < t->layers; l++) {
        const struct param_block *b = &t->blocks[l];
        pack(d, &d->qkv[l], weights, b->qkv, b->qkv_bias, d->Qp, NULL);
        pack(d, &d->out[l], weights, b->out, b->out_bias, d->Cp, NULL);
        pack(d, &d->in[l], weights, b->in, b->in_bias, d->Pp, order);
        pack(d, &d->mlp_out[l], weights, b->mlp_out, b->mlp_out_bias, d->Cp, NULL);
    }
    pack(d, &d->head, weights, t->lm_head, t->head_bias, d->Vp, NULL);
}

/* ------------------------------------------------------------------------------------------- state */

static void lay_out_biases(struct cpu_decoder *d, struct carver *c)
{
    for (int l = 0; l < d->base.m->table.layers; l++) {
        d->qkv[l].bias = floats(c, (size_t)d->Qp);
        d->out[l].bias = floats(c, (size_t)d->Cp);
        d->in[l].bias = floats(c, (size_t)d->Pp);
        d->mlp_out[l].bias = floats(c, (size_t)d->Cp);
    }
    d->head.bias = floats(c, (size_t)d->Vp);
}

static void lay_out(struct cpu_decoder *d, struct carver *c)
{
    const size_t rows = (size_t)d->rows, threads = (size_t)d->base.options.threads, S = (size_t)d->S;
    const size_t heads = (size_t)d->base.m->table.layers * (size_t)d->base.options.batch * (size_t)d->H;
    lay_out_biases(d, c);
    d->vectors = floats(c, (size_t)d->base.m->table.site_count * 3 * (size_t)d->Cp);
    d->rope = d->base.m->cfg.pos == POS_ROPE ? floats(c, S * (size_t)d->D) : NULL;
    d->h = floats(c, rows * (size_t)d->Cp);
    d->y = floats(c, rows * (size_t)d->Cp);
    d->own_y = floats(c, threads * OWN_ROWS * (size_t)d->Cp);
    d->own_h = floats(c, threads * OWN_ROWS * (size_t)d->Cp);
    d->parts = floats(c, 2 * threads * OWN_ROWS * (size_t)d->Cp);
    d->no_bias = floats(c, (size_t)d->Cp);
    d->q = floats(c, rows * (size_t)d->Qp);
    d->att = floats(c, rows * (size_t)d->Cp);
    d->pre = floats(c, rows * (size_t)d->Pp);
    d->act = floats(c, rows * (size_t)d->Ap);
    d->logits = floats(c, (size_t)d->base.options.batch * (size_t)d->Vp);
    d->scores = floats(c, threads * S);
    d->keys = floats(c, heads * S * (size_t)d->D);
    d->values = floats(c, heads * S * (size_t)d->Dp);
}

static void fill_rope(struct cpu_decoder *d)
{
    const int half = d->D / 2;
    for (int t = 0; d->rope && t < d->S; t++)
        for (int i = 0; i < half; i++) {
            double angle = t * pow((double)(float)d->base.m->cfg.rope_theta, -(double)i / half);
            d->rope[(size_t)t * d->D + i] = (float)cos(angle);
            d->rope[(size_t)t * d->D + half + i] = (float)sin(angle);
        }
}

static void set_sizes(struct cpu_decoder *d)
{
    const struct config *cfg = &d->base.m->cfg;
    const struct decoder_options *o = &d->base.options;
    d->C = (int)cfg->d_model;
    d->H = (int)cfg->heads;
    d->D = d->C / d->H;
    d->F = (int)cfg->d_ff;
    d->V = (int)cfg->vocab;
    d->S = padded(o->context);
    d->Cp = padded(d->C);
    d->Dp = padded(d->D);
    d->Ap = padded(d->F);
    d->Pp = cfg->mlp == MLP_SWIGLU ? 2 * d->Ap : d->Ap;
    d->Qp = padded(3 * (int64_t)d->C);
    d->Vp = padded(d->V);
    d->rows = o->batch > PREFILL_ROWS ? o->batch : PREFILL_ROWS;
    d->by_head = d->D % GEMV_LANES == 0 && d->H % o->threads == 0;
}

int decoder_pack(struct cpu_decoder *d, struct error *err)
{
    const struct model *m = d->base.m;
    const size_t layers = (size_t)m->table.layers;
    set_sizes(d);
    d->qkv = memory_alloc(4 * layers, sizeof *d->qkv);
    d->out = d->qkv + layers;
    d->in = d->out + layers;
    d->mlp_out = d->in + layers;
    d->norms = memory_alloc((size_t)m->table.site_count, sizeof *d->norms);
    d->tok = model_row(m, m->params, m->table.tok_embed);
    d->pos = model_row(m, m->params, m->table.pos_embed);
    struct carver state = {0}, weights = {0};
    lay_out(d, &state);
    pack_all(d, &weights);
    d->weight_bytes = weights.used;
    d->state = big_alloc(state.used, err);
    d->weights = d->state ? big_alloc(weights.used, err) : NULL;
    if (!d->weights)
        return STATUS_FAILED;
    lay_out(d, &(struct carver){.base = (char *)d->state});
    pack_all(d, &(struct carver){.base = d->weights});
    fill_rope(d);
    return STATUS_OK;
}

void decoder_pack_release(struct cpu_decoder *d)
{
    free(d->qkv);
    free(d->norms);
    free(d->state);
    free(d->weights);
}
