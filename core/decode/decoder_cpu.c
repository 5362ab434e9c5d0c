/* The forward of the CPU decoder. A pass is a list of stages, each of as many parts as there are threads; a part of one
 * stage needs what all parts of the stages before it made, and whatever it keeps is the part's, since any thread may do
 * it (core/base/team.h). There are two ways through a layer:
 *
 *   shared  many rows: a part is a share of the output of each projection; four stages a layer, and one more for each
 *           norm of more than a few rows.
 *   split   few rows, where meetings cost as much as work: a part takes its heads, and its part of the MLP, from the
 *           stream to its part of the branch's sum, and each adds up all of these in a stream of its own; two stages a
 *           layer. It needs heads that fall into whole blocks. */
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

/* Rows begin..end-1 of what the projections behind site i read, made of the stream h: rows of Cp floats. */
static void norm_rows(const struct cpu_decoder *d, int i, const float *h, float *y, size_t begin, size_t end)
{
    const struct decoder_norm *norm = &d->norms[i];
    const struct config *cfg = &d->base.m->cfg;
    for (size_t n = begin; n < end; n++)
        d->gemv->norm(y + n * (size_t)d->Cp, h + n * (size_t)d->Cp, norm->scaled, norm->plain, norm->shift,
                      cfg->norm == NORM_LAYER, (float)cfg->norm_eps, d->C);
}

/* A few rows cost less than a stage: every part norms them all for itself. */
static bool norms_apart(const struct cpu_decoder *d, int i)
{
    return !d->norms[i].absent && d->pass.N > OWN_ROWS;
}

static void norm_stage(struct cpu_decoder *d, int i, int part)
{
    size_t begin, end;
    parallel_share((size_t)d->pass.N, 1, part, d->base.options.threads, &begin, &end);
    norm_rows(d, i, d->h, d->y, begin, end);
}

/* What a part reads behind site i; where norms_apart, after its stage. */
static const float *normed(struct cpu_decoder *d, int i, const float *h, int part)
{
    if (d->norms[i].absent)
        return h;
    if (norms_apart(d, i))
        return d->y;
    float *y = d->own_y + (size_t)part * OWN_ROWS * (size_t)d->Cp;
    norm_rows(d, i, h, y, 0, (size_t)d->pass.N);
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

/* A part's share of the outputs, added to the stream: its own rows, or of all parts by columns the same blocks, in the
 * order in which join_parts adds them. */
static void project_shared(const struct cpu_decoder *d, const struct packed *p, const float *x, int x_stride, int part)
{
    const struct place at = {.x = x, .y = d->h, .x_stride = x_stride, .y_stride = d->Cp, .add = true};
    const int parts = d->base.options.threads;
    size_t first, last;
    if (!p->columns) {
        project(d, p, part, 0, p->parts[part].blocks, &at);
        return;
    }
    parallel_share((size_t)p->blocks, 1, part, parts, &first, &last);
    for (int i = 0; i < parts; i++)
        project(d, p, i, (int)first, (int)(last - first), &at);
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
static void attend(struct cpu_decoder *d, int layer, int n, int sequence, int t, int h, int part)
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
        .scores = d->scores + (size_t)part * S,
        .out = d->att + (size_t)n * (size_t)d->Cp + (size_t)h * D,
        .factor = 1 / sqrtf((float)d->D),
        .count = t + 1,
        .D = d->D,
    });
}

/* Head h of every row of a sequence, earlier positions first: later ones look at them. */
static void attend_sequence(struct cpu_decoder *d, int layer, int sequence, int h, int part)
{
    const struct decoder_rows *pass = &d->pass;
    if (pass->sequence < 0) {
        attend(d, layer, sequence, sequence, d->base.positions[sequence], h, part);
        return;
    }
    for (int n = 0; n < pass->N; n++)
        attend(d, layer, n, pass->sequence, pass->first + n, h, part);
}

/* q, k and v of a part's outputs. */
static void project_qkv(struct cpu_decoder *d, int layer, const float *x, int part)
{
    project(d, &d->qkv[layer], part, 0, d->qkv[layer].parts[part].blocks,
            &(struct place){.x = x, .y = d->q, .x_stride = d->Cp, .y_stride = d->Qp});
}

/* A part's heads of every row: with by_head those it projected itself, else a share of all rows' and heads. */
static void attend_part(struct cpu_decoder *d, int layer, int part)
{
    const int parts = d->base.options.threads, sequences = d->pass.sequence < 0 ? d->pass.N : 1;
    size_t begin, end;
    if (d->by_head) {
        parallel_share((size_t)d->H, 1, part, parts, &begin, &end);
        for (int s = 0; s < sequences; s++)
            for (size_t h = begin; h < end; h++)
                attend_sequence(d, layer, s, (int)h, part);
        return;
    }
    parallel_share((size_t)sequences * (size_t)d->H, 1, part, parts, &begin, &end);
    for (size_t i = begin; i < end; i++)
        attend_sequence(d, layer, (int)i / d->H, (int)i % d->H, part);
}

/* ------------------------------------------------------------------------------------------- the MLP and the head */

/* The activations of a part of the MLP, from the stream to what goes down again. */
static void expand(struct cpu_decoder *d, int layer, const float *x, int part)
{
    const int mlp = d->base.m->cfg.mlp;
    const struct packed_part *own = &d->in[layer].parts[part];
    const int begin = own->first, end = own->first + own->blocks;
    project(d, &d->in[layer], part, 0, own->blocks,
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

/* Every other token goes through the head from its end: what the cache still holds of it is then met before it is
 * driven out. A model a little larger than the cache would otherwise find nothing of itself there. */
static void project_head(const struct cpu_decoder *d, const float *x, int part)
{
    enum { CHUNK = 32 }; /* blocks in a row, so that the processor still sees a stream */
    const struct place at = {.x = x, .y = d->logits, .x_stride = d->Cp, .y_stride = d->Vp};
    const int blocks = d->head.parts[part].blocks;
    for (int done = 0; done < blocks; done += CHUNK) {
        const int count = blocks - done < CHUNK ? blocks - done : CHUNK;
        project(d, &d->head, part, d->pass.backward ? blocks - done - count : done, count, &at);
    }
}

/* ------------------------------------------------------------------------------------------- shared */

static void norm_attention(struct cpu_decoder *d, int l, int part)
{
    norm_stage(d, d->base.m->table.blocks[l].attn_site, part);
}

static void norm_mlp(struct cpu_decoder *d, int l, int part)
{
    norm_stage(d, d->base.m->table.blocks[l].mlp_site, part);
}

static void norm_head(struct cpu_decoder *d, int l, int part)
{
    (void)l;
    norm_stage(d, d->base.m->table.final_site, part);
}

static void shared_qkv(struct cpu_decoder *d, int l, int part)
{
    project_qkv(d, l, normed(d, d->base.m->table.blocks[l].attn_site, d->h, part), part);
    if (d->by_head)
        attend_part(d, l, part);
}

static void shared_out(struct cpu_decoder *d, int l, int part)
{
    project_shared(d, &d->out[l], d->att, d->Cp, part);
}

static void shared_expand(struct cpu_decoder *d, int l, int part)
{
    expand(d, l, normed(d, d->base.m->table.blocks[l].mlp_site, d->h, part), part);
}

static void shared_mlp_out(struct cpu_decoder *d, int l, int part)
{
    project_shared(d, &d->mlp_out[l], d->act, d->Ap, part);
}

static void shared_head(struct cpu_decoder *d, int l, int part)
{
    (void)l;
    project_head(d, normed(d, d->base.m->table.final_site, d->h, part), part);
}

/* ------------------------------------------------------------------------------------------- split */

static float *part_stream(const struct cpu_decoder *d, int part)
{
    return d->own_h + (size_t)part * OWN_ROWS * (size_t)d->Cp;
}

/* The part's own sum of a branch, for all to see. It is written again only a layer later, when all have been past the
 * stage after the other branch. */
static void project_part(struct cpu_decoder *d, const struct packed *p, const float *x, int x_stride, int branch,
                         int part)
{
    const size_t at = (size_t)branch * (size_t)d->base.options.threads + (size_t)part;
    float *y = d->sums + at * OWN_ROWS * (size_t)d->Cp;
    project(d, p, part, 0, p->blocks, &(struct place){.x = x, .y = y, .x_stride = x_stride, .y_stride = d->Cp});
}

/* Every part adds all of them, in the same order, to a stream of its own. */
static float *join_parts(struct cpu_decoder *d, int branch, int part)
{
    const int parts = d->base.options.threads, count = d->pass.N * d->Cp;
    float *h = part_stream(d, part);
    for (int p = 0; p < parts; p++) {
        const float *sum = d->sums + (size_t)(branch * parts + p) * OWN_ROWS * (size_t)d->Cp;
        for (int i = 0; i < count; i++)
            h[i] += sum[i];
    }
    return h;
}

/* The stream as it comes into layer l: embedded, or with the last layer's MLP. */
static const float *enter(struct cpu_decoder *d, int l, int part)
{
    if (l > 0)
        return join_parts(d, 1, part);
    float *h = part_stream(d, part);
    return memcpy(h, d->h, (size_t)d->pass.N * (size_t)d->Cp * sizeof *h);
}

static void split_attention(struct cpu_decoder *d, int l, int part)
{
    project_qkv(d, l, normed(d, d->base.m->table.blocks[l].attn_site, enter(d, l, part), part), part);
    attend_part(d, l, part);
    project_part(d, &d->out[l], d->att, d->Cp, 0, part);
}

static void split_mlp(struct cpu_decoder *d, int l, int part)
{
    expand(d, l, normed(d, d->base.m->table.blocks[l].mlp_site, join_parts(d, 0, part), part), part);
    project_part(d, &d->mlp_out[l], d->act, d->Ap, 1, part);
}

static void split_head(struct cpu_decoder *d, int l, int part)
{
    project_head(d, normed(d, d->base.m->table.final_site, enter(d, l, part), part), part);
}

/* ------------------------------------------------------------------------------------------- a pass */

static void then(struct cpu_decoder *d, void (*work)(struct cpu_decoder *, int, int), int layer)
{
    d->stages[d->stage_count++] = (struct decoder_stage){work, layer};
}

static void list_shared_layer(struct cpu_decoder *d, int l)
{
    if (norms_apart(d, d->base.m->table.blocks[l].attn_site))
        then(d, norm_attention, l);
    then(d, shared_qkv, l);
    if (!d->by_head)
        then(d, attend_part, l);
    then(d, shared_out, l);
    if (norms_apart(d, d->base.m->table.blocks[l].mlp_site))
        then(d, norm_mlp, l);
    then(d, shared_expand, l);
    then(d, shared_mlp_out, l);
}

static void list_stages(struct cpu_decoder *d)
{
    const struct param_table *table = &d->base.m->table;
    const bool split = d->by_head && d->pass.N <= OWN_ROWS;
    d->stage_count = 0;
    for (int l = 0; l < table->layers && !split; l++)
        list_shared_layer(d, l);
    for (int l = 0; l < table->layers && split; l++) {
        then(d, split_attention, l);
        then(d, split_mlp, l);
    }
    if (!d->pass.logits)
        return;
    if (!split && norms_apart(d, table->final_site))
        then(d, norm_head, table->layers);
    then(d, split ? split_head : shared_head, table->layers);
}

static void do_stage(void *arg, int stage, int part, int parts)
{
    struct cpu_decoder *d = arg;
    (void)parts;
    d->stages[stage].work(d, d->stages[stage].layer, part);
}

static void run_pass(struct cpu_decoder *d)
{
    list_stages(d);
    parallel_stages(d->base.options.threads, d->stage_count, do_stage, d);
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
        run_pass(d);
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
    run_pass(d);
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
    if (status) {
        cpu_destroy(&d->base);
        return status;
    }
    *out = &d->base;
    return STATUS_OK;
}
