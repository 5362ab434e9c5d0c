/* Memory of the CPU decoder: everything is allocated here, once, so that a token allocates nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder_cpu.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

enum { PREFILL_ROWS = 256 };

static int padded(int64_t count)
{
    return (int)((count + GEMV_LANES - 1) / GEMV_LANES * GEMV_LANES);
}

/* Zeroed. */
static void *big_alloc(size_t bytes, struct error *err)
{
    void *block = memory_large(bytes);
    if (!block) {
        error_set(err, STATUS_MEMORY, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    memset(block, 0, bytes);
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

/* Row r of a packing as one of the matrix's O rows, -1 for padding. */
static int source_row(const struct cpu_decoder *d, enum packed_order order, int r, int O)
{
    const int width = d->A / d->groups, block = r / GEMV_LANES, half = O / 2;
    const int at = block / 2 * GEMV_LANES + r % GEMV_LANES; /* within gate or up: O counts both */
    if (order == ORDER_TURNS)
        return at >= half ? -1 : block % 2 ? half + at : at;
    if (r >= O)
        return -1;
    return order == ORDER_HEADS ? r % (3 * width) / width * d->A + r / (3 * width) * width + r % width : r;
}

/* Thread t's part of a projection by rows, whole grains of blocks. */
static void part_rows(const struct cpu_decoder *d, struct packed *p, int grain, int t)
{
    size_t first, last;
    parallel_share((size_t)p->blocks, (size_t)grain, t, d->base.options.threads, &first, &last);
    p->parts[t] =
        (struct packed_part){.first = (int)first, .blocks = (int)(last - first), .I = (int)p->weight->shape[1]};
}

static void part_columns(struct packed *p, int begin, int end, int t)
{
    p->columns = true;
    p->parts[t] = (struct packed_part){.blocks = p->blocks, .begin = begin, .I = end > begin ? end - begin : 0};
}

/* A layer's parts of thread t. Where heads go by threads, so do the columns that meet what they made. */
static void part_layer(struct cpu_decoder *d, int l, int t)
{
    const int turns = d->in[l].order == ORDER_TURNS ? 2 : 1, width = d->A / d->groups;
    part_rows(d, &d->qkv[l], d->by_head ? 3 * width / GEMV_LANES : 1, t);
    part_rows(d, &d->in[l], turns, t);
    if (!d->by_head) {
        part_rows(d, &d->out[l], 1, t);
        part_rows(d, &d->mlp_out[l], 1, t);
        return;
    }
    const struct packed_part *in = &d->in[l].parts[t];
    const int begin = in->first * GEMV_LANES / turns, end = (in->first + in->blocks) * GEMV_LANES / turns;
    part_columns(&d->out[l], t * width, (t + 1) * width, t);
    part_columns(&d->mlp_out[l], begin, end < d->F ? end : d->F, t);
}

/* A part: its place while counting, and its numbers when there is memory. order: room for the rows of one. */
static void pack_part(struct cpu_decoder *d, const struct packed *p, int t, int *order, struct carver *weights)
{
    struct packed_part *part = &p->parts[t];
    const enum gemv_weights weights_as = decoder_gemv_weights(d->base.options.weights);
    const int rows = part->blocks * GEMV_LANES, O = (int)p->weight->shape[0];
    const size_t I = (size_t)p->weight->shape[1];
    part->weights = carve(weights, (size_t)rows * gemv_vectors(weights_as, part->I) * 4);
    if (!weights->base)
        return;
    const float *from = d->base.m->params + p->weight->offset + part->begin;
    for (int r = 0; r < rows; r++)
        order[r] = source_row(d, p->order, part->first * GEMV_LANES + r, O);
    gemv_pack(part->weights, weights_as, from, I, order, rows, part->I);
}

/* A thread reads its weights from front to back, once a token. */
static void pack_all(struct cpu_decoder *d, struct carver *weights)
{
    const int sizes[] = {d->Qp, d->Cp, d->Pp, d->Vp};
    int most = 0;
    for (int i = 0; i < 4; i++)
        most = sizes[i] > most ? sizes[i] : most;
    int *order = memory_alloc((size_t)most, sizeof *order);
    for (int t = 0; t < d->base.options.threads; t++) {
        for (int l = 0; l < d->base.m->table.layers; l++) {
            pack_part(d, &d->qkv[l], t, order, weights);
            pack_part(d, &d->out[l], t, order, weights);
            pack_part(d, &d->in[l], t, order, weights);
            pack_part(d, &d->mlp_out[l], t, order, weights);
        }
        pack_part(d, &d->head, t, order, weights);
    }
    free(order);
}

static void fill_bias(const struct cpu_decoder *d, const struct packed *p, int row)
{
    const float *b = model_row(d->base.m, d->base.m->params, row);
    for (int r = 0; b && r < p->blocks * GEMV_LANES; r++) {
        int at = source_row(d, p->order, r, (int)p->weight->shape[0]);
        p->bias[r] = at >= 0 ? b[at] : 0;
    }
}

static void fill_biases(const struct cpu_decoder *d)
{
    const struct param_table *t = &d->base.m->table;
    for (int l = 0; l < t->layers; l++) {
        fill_bias(d, &d->qkv[l], t->blocks[l].qkv_bias);
        fill_bias(d, &d->out[l], t->blocks[l].out_bias);
        fill_bias(d, &d->in[l], t->blocks[l].in_bias);
        fill_bias(d, &d->mlp_out[l], t->blocks[l].mlp_out_bias);
    }
    fill_bias(d, &d->head, t->head_bias);
}

/* Everything about the projections but their memory. */
static void plan_projections(struct cpu_decoder *d)
{
    const struct param_table *table = &d->base.m->table;
    const int threads = d->base.options.threads, layers = table->layers;
    struct packed_part *parts = d->parts;
    for (int l = 0; l < layers; l++) {
        const struct param_block *b = &table->blocks[l];
        struct packed *all[] = {&d->qkv[l], &d->out[l], &d->in[l], &d->mlp_out[l]};
        const int rows[] = {b->qkv, b->out, b->in, b->mlp_out}, sizes[] = {d->Qp, d->Cp, d->Pp, d->Cp};
        const enum packed_order orders[] = {ORDER_HEADS, ORDER_PLAIN,
                                            d->base.m->cfg.mlp == MLP_SWIGLU ? ORDER_TURNS : ORDER_PLAIN, ORDER_PLAIN};
        for (int i = 0; i < 4; i++, parts += threads)
            *all[i] = (struct packed){
                .weight = &table->rows[rows[i]], .order = orders[i], .blocks = sizes[i] / GEMV_LANES, .parts = parts};
        for (int t = 0; t < threads; t++)
            part_layer(d, l, t);
    }
    d->head = (struct packed){.weight = &table->rows[table->lm_head], .blocks = d->Vp / GEMV_LANES, .parts = parts};
    for (int t = 0; t < threads; t++)
        part_rows(d, &d->head, 1, t);
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
    d->sums = floats(c, 2 * threads * OWN_ROWS * (size_t)d->Cp);
    d->no_bias = floats(c, (size_t)d->Cp);
    d->q = floats(c, rows * (size_t)d->Qp);
    d->att = floats(c, rows * (size_t)d->Wp);
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
    const struct rope rope = model_rope(&d->base.m->cfg);
    for (int t = 0; d->rope && t < d->S; t++)
        for (int i = 0; i < half; i++) {
            double angle = t * rope_frequency(rope, i, half);
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
    d->A = (int)config_attn(cfg);
    d->D = d->A / d->H;
    d->F = (int)cfg->d_ff;
    d->V = (int)cfg->vocab;
    d->S = padded(o->context);
    d->Cp = padded(d->C);
    d->Dp = padded(d->D);
    d->Ap = padded(d->F);
    d->Pp = cfg->mlp == MLP_SWIGLU ? 2 * d->Ap : d->Ap;
    d->Qp = padded(3 * (int64_t)d->A);
    d->Wp = padded(d->A);
    d->Vp = padded(d->V);
    const int prompt = o->context < PREFILL_ROWS ? o->context : PREFILL_ROWS;
    d->rows = o->batch > prompt ? o->batch : prompt;
    d->by_head = decoder_by_head(&d->base.m->cfg, o->threads);
    d->groups = d->by_head ? o->threads : 1;
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
    d->parts = memory_alloc((4 * layers + 1) * (size_t)d->base.options.threads, sizeof *d->parts);
    d->stages = memory_alloc(layers * LAYER_STAGES + HEAD_STAGES, sizeof *d->stages);
    plan_projections(d);
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
    fill_biases(d);
    fill_rope(d);
    return STATUS_OK;
}

void decoder_pack_release(struct cpu_decoder *d)
{
    free(d->qkv);
    free(d->norms);
    free(d->parts);
    free(d->stages);
    free(d->state);
    free(d->weights);
}
