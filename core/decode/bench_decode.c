#include "core/decode/bench_decode.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/memory.h"
#include "core/model/transformer.h"

static const char *const kind_names[] = {[BENCH_DECODE] = "decode", [BENCH_LAST_TOKEN] = "last-token"};
static const char *const variant_names[] = {
    [BENCH_BASELINE] = "baseline", [BENCH_UNFUSED] = "unfused", [BENCH_FUSED] = "fused"};

const char *bench_kind_name(enum bench_kind kind)
{
    return kind_names[kind];
}

const char *bench_variant_name(enum bench_variant variant)
{
    return variant_names[variant];
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct bench_time bench_summarize(double *ms, int count)
{
    qsort(ms, (size_t)count, sizeof *ms, by_size);
    double median = count % 2 ? ms[count / 2] : 0.5 * (ms[count / 2 - 1] + ms[count / 2]);
    return (struct bench_time){.median = median, .low = ms[(count - 1) / 4], .high = ms[count - 1 - (count - 1) / 4]};
}

/* ------------------------------------------------------------------------------------------- the model */

/* Rows of the same name and shape are copied; what the source has no row for keeps its initial value: gains are 1. */
static void copy_rows(const struct model *from, const struct model *to, const float *source, float *host)
{
    for (int i = 0; i < to->table.count; i++) {
        const struct param *p = &to->table.rows[i];
        bool norm = strstr(p->name, "_norm.") != NULL;
        int row = norm ? NO_PARAM : params_find(&from->table, p->name);
        if (row == NO_PARAM && i == to->table.lm_head)
            row = from->table.lm_head;
        for (size_t j = 0; norm && j < p->size; j++)
            host[p->offset + j] = p->init == INIT_ONE ? 1.0f : 0.0f;
        if (row != NO_PARAM)
            memcpy(host + p->offset, source + from->table.rows[row].offset, p->size * sizeof *host);
    }
}

int bench_model_create(struct model *out, const struct model *from, enum taper_sites sites, struct error *err)
{
    struct config cfg = from->cfg;
    cfg.sites = sites;
    cfg.method = METHOD_GATE; /* what FakeLN leaves is timed as the taper that it is, by the same decoder */
    cfg.bias = from->table.blocks[0].qkv_bias != NO_PARAM;
    cfg.tied = from->table.lm_head == from->table.tok_embed;
    int status = model_create(out, &cfg, from->ops, from->be, err);
    if (status)
        return error_wrap(err, "bench");
    float *source = model_download(from, from->params), *host = memory_alloc(out->table.total, sizeof *host);
    float *c = memory_alloc((size_t)out->table.site_count, sizeof *c);
    copy_rows(from, out, source, host);
    for (int i = 0; i < out->table.site_count; i++)
        c[i] = 1;
    out->ops->upload(out->be, out->params, host, out->table.total * sizeof *host);
    out->ops->upload(out->be, out->c, c, (size_t)out->table.site_count * sizeof *c);
    status = out->ops->sync(out->be, err);
    free(source);
    free(host);
    free(c);
    if (status)
        model_destroy(out);
    return status;
}

/* -------------------------------------------------------------------------------------------- in turns */

/* One timed piece of work in a variant; *ms set. */
typedef int bench_work(void *arg, enum bench_variant variant, double *ms, struct error *err);

/* Every round times each variant once, beginning with another one: drift and neighbours hit all alike. */
static int run_rounds(const struct bench_options *o, bench_work *work, void *arg, struct bench_result *out,
                      struct error *err)
{
    double *times = memory_alloc((size_t)o->repeats * BENCH_VARIANTS, sizeof *times), discarded;
    int status = STATUS_OK;
    for (int round = -o->warmups; !status && round < o->repeats; round++)
        for (int i = 0; !status && i < BENCH_VARIANTS; i++) {
            int v = (i + round + o->warmups) % BENCH_VARIANTS;
            status = work(arg, (enum bench_variant)v, round < 0 ? &discarded : &times[v * o->repeats + round], err);
        }
    for (int v = 0; !status && v < BENCH_VARIANTS; v++)
        out->ms[v] = bench_summarize(times + (size_t)v * (size_t)o->repeats, o->repeats);
    out->repeats = o->repeats;
    free(times);
    return status;
}

/* Fixed ids: what is read from the token table does not depend on the variant. */
static int32_t some_token(const struct model *m, int64_t i)
{
    return (int32_t)((i * 7919 + 13) % m->cfg.vocab);
}

/* -------------------------------------------------------------------------------------------- decoding */

struct decoding {
    struct decoder *decoder;
    struct model *m;
    int batch, prefix, tokens;
    int32_t *ids; /* [batch] */
};

static int decode_once(void *arg, enum bench_variant variant, double *ms, struct error *err)
{
    struct decoding *d = arg;
    for (int b = 0; b < d->batch; b++)
        decoder_rewind(d->decoder, b, d->prefix);
    model_set_gate(d->m, variant == BENCH_BASELINE ? 1 : 0);
    decoder_set_norms(d->decoder, variant == BENCH_FUSED);
    double begin = now_ms();
    for (int t = 0; t < d->tokens; t++) {
        for (int b = 0; b < d->batch; b++)
            d->ids[b] = some_token(d->m, (int64_t)t * d->batch + b);
        int status = decoder_step(d->decoder, d->ids, d->batch, err);
        if (status)
            return status;
    }
    *ms = (now_ms() - begin) / d->tokens;
    return STATUS_OK;
}

/* All sequences at once, as many calls as there are tokens: where a call costs more than its work. */
static int fill_cache_together(struct decoding *d, struct error *err)
{
    int status = STATUS_OK;
    for (int t = 0; !status && t < d->prefix; t++) {
        for (int b = 0; b < d->batch; b++)
            d->ids[b] = some_token(d->m, (int64_t)t * d->batch + b);
        status = decoder_step(d->decoder, d->ids, d->batch, err);
    }
    return status;
}

static int fill_cache(struct decoding *d, struct error *err)
{
    if (d->m->ops->deferred)
        return fill_cache_together(d, err);
    int32_t *ids = memory_alloc((size_t)d->prefix, sizeof *ids);
    int status = STATUS_OK;
    for (int b = 0; !status && b < d->batch; b++) {
        for (int t = 0; t < d->prefix; t++)
            ids[t] = some_token(d->m, (int64_t)t * d->batch + b);
        status = decoder_feed(d->decoder, b, ids, d->prefix, err);
    }
    free(ids);
    return status;
}

int bench_decode(struct model *m, const struct bench_options *o, int batch, int context, struct bench_result *out,
                 struct error *err)
{
    struct decoding d = {.m = m, .batch = batch, .tokens = o->tokens, .prefix = context - o->tokens};
    *out = (struct bench_result){0};
    if (o->tokens < 1 || d.prefix < o->tokens)
        return error_set(err, STATUS_BAD_INPUT, "bench: %d timed tokens are more than half of a context of %d",
                         o->tokens, context);
    int status = decoder_create(
        &d.decoder, m,
        &(struct decoder_options){
            .batch = batch, .context = context, .threads = o->threads, .weights = o->weights, .kind = o->decoder},
        err);
    if (status)
        return error_wrap(err, "bench");
    d.ids = memory_alloc((size_t)batch, sizeof *d.ids);
    status = fill_cache(&d, err);
    if (!status)
        status = run_rounds(o, decode_once, &d, out, err);
    for (int v = 0; !status && v < BENCH_VARIANTS; v++)
        out->tokens_per_s[v] = 1e3 * batch / out->ms[v].median;
    out->traffic = decoder_traffic(d.decoder, context - o->tokens / 2);
    decoder_describe(d.decoder, out->device, sizeof out->device);
    decoder_destroy(d.decoder);
    free(d.ids);
    return status;
}

/* ------------------------------------------------------------------------------------------- last token */

struct last_token {
    struct model *m;
    enum bench_variant variant;
    struct activations acts;
    float *rows, *logits, *ce; /* [B,C], [B,V], [B] */
    int32_t *targets;          /* [B] */
};

/* What is recorded and replayed where the backend can: the work without the waiting. */
static void run_last_token(void *arg)
{
    struct last_token *l = arg;
    struct model *m = l->m;
    const struct ops *ops = m->ops;
    const int B = l->acts.B, T = l->acts.T, C = (int)m->cfg.d_model;
    const struct pass pass = {.bare = l->variant == BENCH_FUSED, .grad_scale = 1};
    const float *y = transformer_forward(m, &l->acts, &pass);
    for (int b = 0; b < B; b++)
        ops->copy(m->be, l->rows + (size_t)b * (size_t)C, y + ((size_t)b * (size_t)T + (size_t)T - 1) * (size_t)C,
                  (size_t)C * sizeof *y);
    ops->head(m->be, &(struct head_pass){
                         .y = l->rows,
                         .weight = model_row(m, m->params, m->table.lm_head),
                         .targets = l->targets,
                         .ce = l->ce,
                         .logits = l->logits,
                         .N = B,
                         .C = C,
                         .V = (int)m->cfg.vocab,
                     });
}

enum { KEY_LAST_TOKEN = 48 }; /* of the backend's recordings, one a variant */

static int last_token_once(void *arg, enum bench_variant variant, double *ms, struct error *err)
{
    struct last_token *l = arg;
    const struct ops *ops = l->m->ops;
    model_set_gate(l->m, variant == BENCH_BASELINE ? 1 : 0);
    double begin = now_ms();
    l->variant = variant;
    ops->replay(l->m->be, KEY_LAST_TOKEN + (int)variant, l->m->epoch, run_last_token, l);
    int status = ops->sync(l->m->be, err);
    *ms = now_ms() - begin;
    return status;
}

static int open_last_token(struct last_token *l, int batch, int context, struct error *err)
{
    struct model *m = l->m;
    const struct ops *ops = m->ops;
    const size_t B = (size_t)batch, N = B * (size_t)context;
    int status = activations_create(&l->acts, m, batch, context, false, err);
    if (status)
        return status;
    l->rows = ops->alloc(m->be, B * (size_t)m->cfg.d_model * sizeof *l->rows, err);
    l->logits = l->rows ? ops->alloc(m->be, B * (size_t)m->cfg.vocab * sizeof *l->logits, err) : NULL;
    l->ce = l->logits ? ops->alloc(m->be, B * sizeof *l->ce, err) : NULL;
    l->targets = l->ce ? ops->alloc(m->be, B * sizeof *l->targets, err) : NULL;
    if (!l->targets)
        return STATUS_FAILED;
    int32_t *ids = memory_alloc(N, sizeof *ids);
    for (size_t n = 0; n < N; n++)
        ids[n] = some_token(m, (int64_t)n);
    ops->upload(m->be, l->acts.tokens, ids, N * sizeof *ids);
    memset(ids, 0xff, B * sizeof *ids); /* -1: no target */
    ops->upload(m->be, l->targets, ids, B * sizeof *ids);
    status = ops->sync(m->be, err);
    free(ids);
    return status;
}

int bench_last_token(struct model *m, const struct bench_options *o, int batch, int context, struct bench_result *out,
                     struct error *err)
{
    struct last_token l = {.m = (struct model *)m};
    void **owned[] = {(void **)&l.rows, (void **)&l.logits, (void **)&l.ce, (void **)&l.targets};
    *out = (struct bench_result){0};
    if (context < 1 || context > m->cfg.context || batch < 1)
        return error_set(err, STATUS_BAD_INPUT, "bench: want 1 to %lld tokens of context, got %d",
                         (long long)m->cfg.context, context);
    int status = open_last_token(&l, batch, context, err);
    if (!status) {
        m->ops->forget_graphs(m->be); /* of other shapes; and these before their memory goes */
        status = run_rounds(o, last_token_once, &l, out, err);
        m->ops->forget_graphs(m->be);
    }
    for (int v = 0; !status && v < BENCH_VARIANTS; v++)
        out->tokens_per_s[v] = 1e3 * batch * context / out->ms[v].median;
    snprintf(out->device, sizeof out->device, "%s ops", m->ops->name);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        if (*owned[i])
            m->ops->release(m->be, *owned[i]);
    activations_destroy(&l.acts, m);
    return status ? error_wrap(err, "bench") : STATUS_OK;
}
