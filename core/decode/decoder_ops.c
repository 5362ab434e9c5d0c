/* Decoding over the ops table: one token a sequence at a time, on whatever backend the model lives. */
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder_internal.h"
#include "core/base/memory.h"

struct ops_decoder {
    struct decoder base;
    bool bare;
    void *block;                     /* the one allocation behind what follows, backend memory */
    float *h, *y, *delta;            /* [B,C] */
    float *qkv, *att;                /* [B,3A], [B,A] */
    float *qk, *value;               /* [B,2A], [B,A] q and k, and v, where they may be apart */
    float *pre, *act;                /* [B,O], [B,F] */
    float *logits, *ce;              /* [B,V], [B] */
    float *scale, *mean;             /* [B] */
    float *keys, *values;            /* [layers][B,H,S,D] */
    int32_t *tokens, *targets, *pos; /* [B] */
    float *host_logits;              /* [B,V], host memory */
    int fresh;                       /* rows of logits that nobody has asked for yet: they are not in host_logits */
};

static struct ops_decoder *ops_of(const struct decoder *d)
{
    return (struct ops_decoder *)d;
}

/* Rows first..first+n-1 of the batch. */
struct part {
    int first, n;
};

/* ------------------------------------------------------------------------------------------- forward */

static enum op_act activation_of(const struct config *cfg)
{
    return cfg->mlp == MLP_SWIGLU ? ACT_SWIGLU : cfg->mlp == MLP_GELU_TANH ? ACT_GELU_TANH : ACT_GELU;
}

/* The stream takes in the branch before, where there is one; returns what the next projection reads. */
static const float *norm(struct ops_decoder *d, struct part p, int i, const float *delta)
{
    const struct model *m = d->base.m;
    const struct param_site *s = &m->table.sites[i];
    const int C = (int)m->cfg.d_model;
    if (s->absent || (d->bare && s->tapered)) {
        if (delta)
            m->ops->residual_add(m->be, d->h, d->h, delta, (size_t)p.n * (size_t)C);
        return d->h;
    }
    m->ops->norm_forward(m->be, &(struct norm_forward){
                                    .site = model_site(m, i),
                                    .in = d->h,
                                    .delta = delta,
                                    .h = d->h,
                                    .y = d->y,
                                    .scale = m->site_phase[i] == PHASE_FOLDED ? NULL : d->scale,
                                    .mean = m->cfg.norm == NORM_LAYER ? d->mean : NULL,
                                    .N = p.n,
                                    .C = C,
                                });
    return d->y;
}

/* Rows first..first+O-1 of a weight. */
static void linear_rows(struct ops_decoder *d, struct part p, int weight, int bias, int first, int O, const float *in,
                        float *pre, float *out, enum op_act act)
{
    const struct model *m = d->base.m;
    const int I = (int)m->table.rows[weight].shape[1];
    const float *b = model_row(m, m->params, bias);
    m->ops->linear_forward(m->be, &(struct linear_forward){
                                      .in = in,
                                      .weight = model_row(m, m->params, weight) + (size_t)first * (size_t)I,
                                      .bias = b ? b + first : NULL,
                                      .pre = pre,
                                      .out = out,
                                      .act = act,
                                      .N = p.n,
                                      .I = I,
                                      .O = O,
                                  });
}

static void linear(struct ops_decoder *d, struct part p, int weight, int bias, const float *in, float *pre, float *out,
                   enum op_act act)
{
    linear_rows(d, p, weight, bias, 0, (int)d->base.m->table.rows[weight].shape[0], in, pre, out, act);
}

/* Where V reads another vector than Q and K, its third of the rows goes by itself. */
static void project_qkv(struct ops_decoder *d, struct part p, int l)
{
    const struct model *m = d->base.m;
    const struct param_block *b = &m->table.blocks[l];
    const int A = (int)config_attn(&m->cfg);
    const float *y = norm(d, p, b->attn_site, l ? d->delta : NULL);
    if (d->bare || !model_values_apart(m, l)) {
        linear(d, p, b->qkv, b->qkv_bias, y, d->qkv, NULL, ACT_NONE);
        return;
    }
    linear_rows(d, p, b->qkv, b->qkv_bias, 0, 2 * A, y, d->qk, NULL, ACT_NONE);
    y = norm(d, p, b->value_site, NULL);
    linear_rows(d, p, b->qkv, b->qkv_bias, 2 * A, A, y, d->value, NULL, ACT_NONE);
    m->ops->join_columns(m->be, d->qkv, d->qk, d->value, p.n, 2 * A, A);
}

static void layer(struct ops_decoder *d, struct part p, int l)
{
    const struct model *m = d->base.m;
    const struct config *cfg = &m->cfg;
    const struct param_block *b = &m->table.blocks[l];
    const size_t one = (size_t)d->base.options.context * (size_t)config_attn(cfg); /* a sequence's keys in a layer */
    const size_t at = ((size_t)l * (size_t)d->base.options.batch + (size_t)p.first) * one;
    project_qkv(d, p, l);
    m->ops->decode_attention(m->be, &(struct decode_attention){
                                        .qkv = d->qkv,
                                        .k_cache = d->keys + at,
                                        .v_cache = d->values + at,
                                        .out = d->att,
                                        .pos = d->pos,
                                        .rope = model_rope(cfg),
                                        .B = p.n,
                                        .H = (int)cfg->heads,
                                        .D = (int)config_head(cfg),
                                        .S = d->base.options.context,
                                    });
    linear(d, p, b->out, b->out_bias, d->att, d->delta, NULL, ACT_NONE);
    linear(d, p, b->in, b->in_bias, norm(d, p, b->mlp_site, d->delta), d->pre, d->act, activation_of(cfg));
    linear(d, p, b->mlp_out, b->mlp_out_bias, d->act, d->delta, NULL, ACT_NONE);
}

/* Each sequence stands at its own position, which is looked up like a token: nothing here depends on where they are
 * but the contents of d->pos. */
static void embed(struct ops_decoder *d, struct part p)
{
    const struct model *m = d->base.m;
    const int C = (int)m->cfg.d_model;
    const float *tok = model_row(m, m->params, m->table.tok_embed), *pos = model_row(m, m->params, m->table.pos_embed);
    m->ops->embed_forward(m->be, d->h, d->tokens, tok, NULL, p.n, 1, C);
    if (!pos)
        return;
    m->ops->embed_forward(m->be, d->delta, d->pos, pos, NULL, p.n, 1, C);
    m->ops->residual_add(m->be, d->h, d->h, d->delta, (size_t)p.n * (size_t)C);
}

struct forward_call {
    struct ops_decoder *d;
    struct part part;
    bool logits;
};

static void run_forward(void *arg)
{
    const struct forward_call *call = arg;
    struct ops_decoder *d = call->d;
    const struct part p = call->part;
    const struct model *m = d->base.m;
    embed(d, p);
    for (int l = 0; l < m->table.layers; l++)
        layer(d, p, l);
    if (!call->logits)
        return;
    m->ops->head(m->be, &(struct head_pass){
                            .y = norm(d, p, m->table.final_site, d->delta),
                            .weight = model_row(m, m->params, m->table.lm_head),
                            .bias = model_row(m, m->params, m->table.head_bias),
                            .targets = d->targets,
                            .ce = d->ce,
                            .logits = d->logits,
                            .N = p.n,
                            .C = (int)m->cfg.d_model,
                            .V = (int)m->cfg.vocab,
                        });
}

/* The keys of a backend's recordings that are the decoder's; training uses those below. */
enum { KEY_FIRST = 32, KEY_BARE = 1, KEY_LOGITS = 2, KEY_NORMED = 4 };

/* Whose recordings a thread's last decoding left in its backend: they hold that decoder's addresses. */
static _Thread_local const struct ops_decoder *recorded;

static void forget_recordings(struct ops_decoder *d)
{
    d->base.m->ops->forget_graphs(d->base.m->be);
}

/* The whole batch is one recording for each kind of norms; a part of it is run as it stands. */
static void forward(struct ops_decoder *d, struct part p, const int32_t *tokens, bool logits)
{
    const struct model *m = d->base.m;
    struct forward_call call = {d, p, logits};
    m->ops->upload(m->be, d->tokens, tokens, (size_t)p.n * sizeof *tokens);
    m->ops->upload(m->be, d->pos, d->base.positions + p.first, (size_t)p.n * sizeof *d->base.positions);
    if (p.n != d->base.options.batch) {
        run_forward(&call);
        return;
    }
    if (recorded != d)
        forget_recordings(d);
    recorded = d;
    int key = KEY_FIRST + (logits ? KEY_LOGITS : 0) + (d->bare ? KEY_BARE : 0);
    key += model_largest_gate(m) > 0 ? KEY_NORMED : 0; /* a bench has both in turns */
    m->ops->replay(m->be, key, m->epoch, run_forward, &call);
}

static int ops_feed(struct decoder *base, int sequence, const int32_t *tokens, int count, struct error *err)
{
    for (int i = 0; i < count; i++) {
        forward(ops_of(base), (struct part){sequence, 1}, tokens + i, false);
        base->positions[sequence]++;
    }
    return base->m->ops->sync(base->m->be, err);
}

static int ops_step(struct decoder *base, const int32_t *tokens, int n, struct error *err)
{
    struct ops_decoder *d = ops_of(base);
    forward(d, (struct part){0, n}, tokens, true);
    for (int b = 0; b < n; b++)
        base->positions[b]++;
    d->fresh = n;
    return base->m->ops->sync(base->m->be, err);
}

/* Logits come to the host when they are asked for: a whole vocabulary a sequence takes longer than many a step. */
static const float *ops_logits(const struct decoder *base, int b)
{
    struct ops_decoder *d = ops_of(base);
    const size_t V = (size_t)base->m->cfg.vocab, count = (size_t)d->fresh * V;
    if (count)
        base->m->ops->download(base->m->be, d->host_logits, d->logits, count * sizeof *d->logits);
    d->fresh = 0;
    return d->host_logits + (size_t)b * V;
}

static void ops_set_norms(struct decoder *base, bool bare)
{
    ops_of(base)->bare = bare;
}

static struct decoder_traffic ops_traffic(const struct decoder *base, int position)
{
    const struct config *cfg = &base->m->cfg;
    /* Tables that are only looked up are not read through: the token table when the head is its own, and positions. */
    int64_t read = base->m->table.parameters - (base->m->table.pos_embed == NO_PARAM ? 0 : cfg->context * cfg->d_model);
    if (base->m->table.lm_head != base->m->table.tok_embed)
        read -= cfg->vocab * cfg->d_model;
    return (struct decoder_traffic){.weights = (size_t)read * sizeof(float),
                                    .cache = (size_t)(2 * cfg->layers * config_attn(cfg) * position) * sizeof(float)};
}

static char *ops_describe(const struct decoder *base, char *to, size_t room)
{
    snprintf(to, room, "%s ops", base->m->ops->name);
    return to;
}

/* ------------------------------------------------------------------------------------------- memory */

static void *carve(char *base, size_t *used, size_t bytes)
{
    void *at = base ? base + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return at;
}

/* Counts with base NULL, then hands out the parts of the block. */
static size_t lay_out(struct ops_decoder *d, char *base)
{
    const struct config *cfg = &d->base.m->cfg;
    const size_t B = (size_t)d->base.options.batch, C = (size_t)cfg->d_model, F = (size_t)cfg->d_ff;
    const size_t A = (size_t)config_attn(cfg), cache = (size_t)cfg->layers * B * A * (size_t)d->base.options.context;
    const size_t apart = config_fakeln(cfg) ? B * A : 0;
    const struct {
        float **at;
        size_t count;
    } parts[] = {{&d->h, B * C},      {&d->y, B * C},
                 {&d->delta, B * C},  {&d->qkv, 3 * B * A},
                 {&d->att, B * A},    {&d->pre, (cfg->mlp == MLP_SWIGLU ? 2 : 1) * B * F},
                 {&d->act, B * F},    {&d->logits, B * (size_t)cfg->vocab},
                 {&d->ce, B},         {&d->scale, B},
                 {&d->mean, B},       {&d->keys, cache},
                 {&d->values, cache}, {&d->qk, 2 * apart},
                 {&d->value, apart}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i].at = carve(base, &used, parts[i].count * sizeof(float));
    d->tokens = carve(base, &used, B * sizeof(int32_t));
    d->targets = carve(base, &used, B * sizeof(int32_t));
    d->pos = carve(base, &used, B * sizeof(int32_t));
    return used;
}

static void ops_destroy(struct decoder *base)
{
    struct ops_decoder *d = ops_of(base);
    if (recorded == d) {
        forget_recordings(d);
        recorded = NULL;
    }
    if (d->block)
        base->m->ops->release(base->m->be, d->block);
    free(d->host_logits);
    free(base->positions);
    free(d);
}

int decoder_ops_create(struct decoder **out, const struct model *m, const struct decoder_options *o, struct error *err)
{
    static const struct decoder_methods methods = {ops_destroy, ops_set_norms, ops_feed,    ops_step,
                                                   ops_logits,  ops_traffic,   ops_describe};
    struct ops_decoder *d = memory_alloc(1, sizeof *d);
    const size_t B = (size_t)o->batch, V = (size_t)m->cfg.vocab;
    d->base = (struct decoder){.methods = &methods, .m = m, .options = *o, .positions = memory_alloc(B, sizeof(int))};
    d->block = m->ops->alloc(m->be, lay_out(d, NULL), err);
    if (!d->block) {
        ops_destroy(&d->base);
        return STATUS_FAILED;
    }
    lay_out(d, d->block);
    int32_t *none = memory_alloc(B, sizeof *none);
    memset(none, 0xff, B * sizeof *none); /* -1: no target */
    m->ops->upload(m->be, d->targets, none, B * sizeof *none);
    d->host_logits = memory_alloc(B * V, sizeof *d->host_logits);
    int status = m->ops->sync(m->be, err);
    free(none);
    if (status) {
        ops_destroy(&d->base);
        return status;
    }
    *out = &d->base;
    return STATUS_OK;
}
