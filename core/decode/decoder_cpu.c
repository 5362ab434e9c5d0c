/* The forward of the CPU decoder. A pass is one run of the team: every thread goes through all layers and waits for the
 * others where it needs what they made. There are two ways through a layer:
 *
 *   shared  many rows: every thread does its share of the output of each projection; four meetings a layer.
 *   split   few rows, where meetings cost as much as work: a thread takes its heads, and its part of the MLP, from the
 *           stream to its part of the branch's sum, and every thread adds up all parts in a stream of its own; two
 *           meetings a layer. It needs heads that fall into whole blocks. */
#include "core/decode/decoder_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/parallel.h"

static struct cpu_decoder *cpu(const struct decoder *d)
{
    return (struct cpu_decoder *)d;
}

/* ------------------------------------------------------------------------------------------- norms */

/* x = h - mean or h; normed: x/s*gamma + beta, folded: c*x*gamma_tilde + beta_tilde, weighted by gate and 1 - gate. */
static void set_norm(struct cpu_decoder *d, int i, bool bare, float c)
{
    const struct model *m = d->base.m;
    const struct param_site *s = &m->table.sites[i];
    struct decoder_norm *norm = &d->norms[i];
    float *vectors = d->vectors + (size_t)i * 3 * (size_t)d->Cp;
    float *scaled = vectors, *plain = vectors + d->Cp, *shift = vectors + 2 * d->Cp;
    const double g = m->site_gate[i];
    *norm = (struct decoder_norm){.absent = s->absent || (bare && s->tapered)};
    if (norm->absent)
        return;
    const float *gamma = model_row(m, m->params, s->gamma), *beta = model_row(m, m->params, s->beta);
    const float *tilde = model_row(m, m->params, s->gamma_tilde), *beta_tilde = model_row(m, m->params, s->beta_tilde);
    for (int j = 0; j < d->C; j++) {
        scaled[j] = (float)(g * (double)gamma[j]);
        plain[j] = tilde ? (float)((1 - g) * (double)c * (double)tilde[j]) : 0;
        shift[j] = beta ? (float)(g * (double)beta[j] + (beta_tilde ? (1 - g) * (double)beta_tilde[j] : 0)) : 0;
    }
    norm->scaled = g > 0 ? scaled : NULL;
    norm->plain = g < 1 ? plain : NULL;
    norm->shift = beta ? shift : NULL;
}

static void cpu_set_norms(struct decoder *base, bool bare)
{
    struct cpu_decoder *d = cpu(base);
    float *c = model_download_c(base->m);
    for (int i = 0; i < base->m->table.site_count; i++)
        set_norm(d, i, bare, c[i]);
    free(c);
}

/* What the projections behind site i read, made of the stream h: rows of Cp floats. */
static const float *normed(struct cpu_decoder *d, int i, const float *h, int thread)
{
    const struct decoder_norm *norm = &d->norms[i];
    const struct config *cfg = &d->base.m->cfg;
    const int N = d->pass.N;
    size_t begin = 0, end = (size_t)N;
    if (norm->absent)
        return h;
    const bool own = N <= OWN_ROWS; /* a few rows cost less than a wait */
    float *y = own ? d->own_y + (size_t)thread * OWN_ROWS * (size_t)d->Cp : d->y;
    if (!own)
        parallel_share((size_t)N, 1, thread, team_threads(d->team), &begin, &end);
    for (size_t n = begin; n < end; n++)
        d->gemv->norm(y + n * (size_t)d->Cp, h + n * (size_t)d->Cp, norm->scaled, norm->plain, norm->shift,
                      cfg->norm == NORM_LAYER, (float)cfg->norm_eps, d->C);
    if (!own)
        team_barrier(d->team, thread);
    return y;
}

/* ------------------------------------------------------------------------------------------- projections */

/* Where a product reads and writes: x and y are rows of all columns and outputs. */
struct place {
    const float *x;
    float *y;
    int x_stride, y_stride;
    bool add;
};

/* `count` blocks of a part from its block `first` on. The bias is added once, with the first columns. */
static void project(const struct cpu_decoder *d, const struct packed *p, int part, int first, int count,
                    const struct place *at)
{
    const struct packed_part *own = &p->parts[part];
    const bool half = d->base.options.weights == WEIGHTS_BF16;
    const size_t length = half ? (size_t)(own->I + 1) / 2 : (size_t)own->I;
    const int block = own->first + first;
    if (count > 0)
        (half ? d->gemv->bf16 : d->gemv->fp32)(
            &(struct gemv){.weights = (const float *)own->weights + (size_t)first * length * GEMV_LANES,
                           .bias = p->columns && part > 0 ? d->no_bias : p->bias + block * GEMV_LANES,
                           .x = at->x + own->begin,
                           .y = at->y + block * GEMV_LANES,
                           .x_stride = (size_t)at->x_stride,
                           .y_stride = (size_t)at->y_stride,
                           .I = own->I,
                           .blocks = count,
                           .N = d->pass.N,
                           .add = at->add});
}

/* A thread's share of the outputs, added to h: its own rows, or of all parts by columns the same blocks, in the order
 * in which join_parts adds them. */
static void project_shared(const struct cpu_decoder *d, const struct packed *p, const float *x, int x_stride, float *h,
                           int thread)
{
    const struct place at = {.x = x, .y = h, .x_stride = x_stride, .y_stride = d->Cp, .add = true};
    const int threads = team_threads(d->team);
    size_t first, last;
    if (!p->columns) {
        project(d, p, thread, 0, p->parts[thread].blocks, &at);
        return;
    }
    parallel_share((size_t)p->blocks, 1, thread, threads, &first, &last);
    for (int part = 0; part < threads; part++)
        project(d, p, part, (int)first, (int)(last - first), &at);
}

/* ------------------------------------------------------------------------------------------- attention */

/* angles: D/2 cosines, then D/2 sines. */
static void rotate(float *restrict x, const float *restrict angles, int D)
{
    const int half = D / 2;
    for (int i = 0; i < half; i++) {
        float u = x[i], v = x[half + i], c = angles[i], s = angles[half + i];
        x[i] = u * c - v * s;
        x[half + i] = v * c + u * s;
    }
}

/* Row n's head h: its key and value into the cache, then what its query finds there. */
static void attend(struct cpu_decoder *d, int layer, int n, int sequence, int t, int h, int thread)
{
    const size_t D = (size_t)d->D, S = (size_t)d->S,
                 head = ((size_t)layer * (size_t)d->base.options.batch + (size_t)sequence) * (size_t)d->H + (size_t)h;
    const size_t width = (size_t)(d->C / d->groups), column = (size_t)h * D; /* its group's q, k and v lie on end */
    float *q = d->q + (size_t)n * (size_t)d->Qp + column / width * 3 * width + column % width;
    float *k = q + width, *v = k + width;
    float *keys = d->keys + head * S * D, *values = d->values + head * S * (size_t)d->Dp;
    if (d->rope) {
        rotate(q, d->rope + (size_t)t * D, d->D);
        rotate(k, d->rope + (size_t)t * D, d->D);
    }
    float *place = keys + (size_t)(t / GEMV_LANES) * D * GEMV_LANES + t % GEMV_LANES;
    for (size_t i = 0; i < D; i++)
        place[i * GEMV_LANES] = k[i];
    memcpy(values + (size_t)t * (size_t)d->Dp, v, D * sizeof *v);
    d->gemv->attend(&(struct gemv_attend){
        .q = q,
        .keys = keys,
        .values = values,
        .scores = d->scores + (size_t)thread * S,
        .out = d->att + (size_t)n * (size_t)d->Cp + (size_t)h * D,
        .factor = 1 / sqrtf((float)d->D),
        .count = t + 1,
        .D = d->D,
    });
}

/* Head h of every row of a sequence, earlier positions first: later ones look at them. */
static void attend_sequence(struct cpu_decoder *d, int layer, int sequence, int h, int thread)
{
    const struct decoder_rows *pass = &d->pass;
    if (pass->sequence < 0) {
        attend(d, layer, sequence, sequence, d->base.positions[sequence], h, thread);
        return;
    }
    for (int n = 0; n < pass->N; n++)
        attend(d, layer, n, pass->sequence, pass->first + n, h, thread);
}

/* A thread's part of q, k and v, then attention: with by_head of its own heads, and it needs nobody else's; else every
 * row and head is somebody's. */
static void attention(struct cpu_decoder *d, int layer, const float *x, int thread)
{
    const int threads = team_threads(d->team), sequences = d->pass.sequence < 0 ? d->pass.N : 1;
    const struct place at = {.x = x, .y = d->q, .x_stride = d->Cp, .y_stride = d->Qp};
    size_t begin, end;
    project(d, &d->qkv[layer], thread, 0, d->qkv[layer].parts[thread].blocks, &at);
    if (d->by_head) {
        parallel_share((size_t)d->H, 1, thread, threads, &begin, &end);
        for (int s = 0; s < sequences; s++)
            for (size_t h = begin; h < end; h++)
                attend_sequence(d, layer, s, (int)h, thread);
        return;
    }
    team_barrier(d->team, thread);
    parallel_share((size_t)sequences * (size_t)d->H, 1, thread, threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        attend_sequence(d, layer, (int)i / d->H, (int)i % d->H, thread);
}

/* ------------------------------------------------------------------------------------------- a pass */

/* The activations of a thread's part of the MLP, from the stream to what goes down again. */
static void expand(struct cpu_decoder *d, int layer, const float *x, int thread)
{
    const int mlp = d->base.m->cfg.mlp;
    const struct packed_part *part = &d->in[layer].parts[thread];
    const int begin = part->first, end = part->first + part->blocks;
    project(d, &d->in[layer], thread, 0, part->blocks,
            &(struct place){.x = x, .y = d->pre, .x_stride = d->Cp, .y_stride = d->Pp});
    for (int n = 0; n < d->pass.N && begin < end; n++) {
        const float *pre = d->pre + (size_t)n * (size_t)d->Pp;
        float *act = d->act + (size_t)n * (size_t)d->Ap;
        if (mlp == MLP_SWIGLU)
            for (int b = begin; b < end; b += 2)
                d->kernels->swiglu(act + b / 2 * GEMV_LANES, pre + b * GEMV_LANES, pre + (b + 1) * GEMV_LANES,
                                   GEMV_LANES);
        else
            d->kernels->act(mlp == MLP_GELU ? ACT_GELU : ACT_GELU_TANH, act + begin * GEMV_LANES,
                            pre + begin * GEMV_LANES, (size_t)(end - begin) * GEMV_LANES);
    }
}

static void shared_layer(struct cpu_decoder *d, int l, int thread)
{
    attention(d, l, normed(d, d->base.m->table.blocks[l].attn_site, d->h, thread), thread);
    team_barrier(d->team, thread);
    project_shared(d, &d->out[l], d->att, d->Cp, d->h, thread);
    team_barrier(d->team, thread);
    expand(d, l, normed(d, d->base.m->table.blocks[l].mlp_site, d->h, thread), thread);
    team_barrier(d->team, thread);
    project_shared(d, &d->mlp_out[l], d->act, d->Ap, d->h, thread);
    team_barrier(d->team, thread);
}

/* ------------------------------------------------------------------------------------------- few rows */

/* This thread's part of a branch's sum, for all to see. */
static void project_part(struct cpu_decoder *d, const struct packed *p, const float *x, int x_stride, int branch,
                         int thread)
{
    const size_t part = (size_t)branch * (size_t)team_threads(d->team) + (size_t)thread;
    float *y = d->sums + part * OWN_ROWS * (size_t)d->Cp;
    project(d, p, thread, 0, p->blocks, &(struct place){.x = x, .y = y, .x_stride = x_stride, .y_stride = d->Cp});
}

/* Every thread adds all parts, in the same order, to a stream of its own. */
static void join_parts(struct cpu_decoder *d, int branch, float *h)
{
    const int threads = team_threads(d->team), count = d->pass.N * d->Cp;
    for (int t = 0; t < threads; t++) {
        const float *part = d->sums + (size_t)(branch * threads + t) * OWN_ROWS * (size_t)d->Cp;
        for (int i = 0; i < count; i++)
            h[i] += part[i];
    }
}

/* A part is written again only a layer later, when all have been past the meeting after the other branch. */
static void split_layer(struct cpu_decoder *d, int l, float *h, int thread)
{
    attention(d, l, normed(d, d->base.m->table.blocks[l].attn_site, h, thread), thread);
    project_part(d, &d->out[l], d->att, d->Cp, 0, thread);
    team_barrier(d->team, thread);
    join_parts(d, 0, h);
    expand(d, l, normed(d, d->base.m->table.blocks[l].mlp_site, h, thread), thread);
    project_part(d, &d->mlp_out[l], d->act, d->Ap, 1, thread);
    team_barrier(d->team, thread);
    join_parts(d, 1, h);
}

/* Every other token goes through the head from its end: what the cache still holds of it is then met before it is
 * driven out. A model a little larger than the cache would otherwise find nothing of itself there. */
static void project_head(const struct cpu_decoder *d, const float *x, int thread)
{
    enum { CHUNK = 32 }; /* blocks in a row, so that the processor still sees a stream */
    const struct place at = {.x = x, .y = d->logits, .x_stride = d->Cp, .y_stride = d->Vp};
    const int blocks = d->head.parts[thread].blocks;
    for (int done = 0; done < blocks; done += CHUNK) {
        const int count = blocks - done < CHUNK ? blocks - done : CHUNK;
        project(d, &d->head, thread, d->pass.backward ? blocks - done - count : done, count, &at);
    }
}

static void pass_body(void *arg, int thread)
{
    struct cpu_decoder *d = arg;
    const bool split = d->by_head && d->pass.N <= OWN_ROWS;
    float *h = split ? d->own_h + (size_t)thread * OWN_ROWS * (size_t)d->Cp : d->h;
    if (split)
        memcpy(h, d->h, (size_t)d->pass.N * (size_t)d->Cp * sizeof *h);
    for (int l = 0; l < d->base.m->table.layers; l++)
        if (split)
            split_layer(d, l, h, thread);
        else
            shared_layer(d, l, thread);
    if (!d->pass.logits)
        return;
    project_head(d, normed(d, d->base.m->table.final_site, h, thread), thread);
}

/* ------------------------------------------------------------------------------------------- methods */

static void embed(struct cpu_decoder *d, int n, int32_t token, int position)
{
    const float *tok = d->tok + (size_t)token * (size_t)d->C;
    const float *pos = d->pos ? d->pos + (size_t)position * (size_t)d->C : NULL;
    float *h = d->h + (size_t)n * (size_t)d->Cp;
    for (int i = 0; i < d->C; i++)
        h[i] = pos ? tok[i] + pos[i] : tok[i];
}

static int cpu_feed(struct decoder *base, int sequence, const int32_t *tokens, int count, struct error *err)
{
    struct cpu_decoder *d = cpu(base);
    (void)err;
    for (int done = 0; done < count;) {
        int N = count - done < d->rows ? count - done : d->rows;
        d->pass = (struct decoder_rows){.N = N, .sequence = sequence, .first = base->positions[sequence]};
        for (int n = 0; n < N; n++)
            embed(d, n, tokens[done + n], d->pass.first + n);
        team_run(d->team, pass_body, d);
        base->positions[sequence] += N;
        done += N;
    }
    return STATUS_OK;
}

static int cpu_step(struct decoder *base, const int32_t *tokens, int n, struct error *err)
{
    struct cpu_decoder *d = cpu(base);
    (void)err;
    d->pass = (struct decoder_rows){.N = n, .sequence = -1, .logits = true, .backward = !d->pass.backward};
    for (int b = 0; b < n; b++)
        embed(d, b, tokens[b], base->positions[b]);
    team_run(d->team, pass_body, d);
    for (int b = 0; b < n; b++)
        base->positions[b]++;
    return STATUS_OK;
}

static const float *cpu_logits(const struct decoder *base, int b)
{
    return cpu(base)->logits + (size_t)b * (size_t)cpu(base)->Vp;
}

static struct decoder_traffic cpu_traffic(const struct decoder *base, int position)
{
    const struct cpu_decoder *d = cpu(base);
    size_t cache =
        (size_t)base->m->table.layers * (size_t)d->H * (size_t)position * (size_t)(d->D + d->Dp) * sizeof(float);
    return (struct decoder_traffic){.weights = d->weight_bytes, .cache = cache};
}

static char *cpu_describe(const struct decoder *base, char *to, size_t room)
{
    const struct cpu_decoder *d = cpu(base);
    snprintf(to, room, "cpu %s, %d thread%s", d->gemv->name, base->options.threads,
             base->options.threads == 1 ? "" : "s");
    return to;
}

static void cpu_destroy(struct decoder *base)
{
    struct cpu_decoder *d = cpu(base);
    team_destroy(d->team);
    decoder_pack_release(d);
    free(base->positions);
    free(d);
}

int decoder_cpu_create(struct decoder **out, const struct model *m, const struct decoder_options *o, struct error *err)
{
    static const struct decoder_methods methods = {cpu_destroy, cpu_set_norms, cpu_feed,    cpu_step,
                                                   cpu_logits,  cpu_traffic,   cpu_describe};
    struct cpu_decoder *d = memory_alloc(1, sizeof *d);
    d->base = (struct decoder){.methods = &methods,
                               .m = m,
                               .options = *o,
                               .positions = memory_alloc((size_t)o->batch, sizeof *d->base.positions)};
    d->gemv = gemv_best();
    d->kernels = kernels_best();
    int status = decoder_pack(d, err);
    if (!status)
        status = team_create(&d->team, o->threads, err);
    if (status) {
        cpu_destroy(&d->base);
        return status;
    }
    *out = &d->base;
    return STATUS_OK;
}
