#include "core/decode/generate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/memory.h"
#include "core/decode/sampler.h"
#include "core/model/schedule.h"
#include "core/model/transformer.h"

/* What a generation carries from token to token. */
struct generation {
    struct model *m;
    struct sampler *sampler;
    int32_t *ids;         /* every id so far */
    int64_t count, start; /* start: of the window in the cache */

    struct decoder *decoder; /* with the cache ... */

    struct activations acts;       /* ... or without it */
    float *device_logits, *logits; /* [V] */
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int64_t generate_window_start(int64_t count, int64_t context)
{
    int64_t jump = context / 2 > 0 ? context / 2 : 1, over = count - context;
    return over <= 0 ? 0 : (over + jump - 1) / jump * jump;
}

static int encode_prompt(struct generation *g, const struct tokenizer *tokenizer, const struct generate_options *o,
                         struct error *err)
{
    struct encoder *encoder;
    size_t length = strlen(o->prompt), count = 0;
    uint32_t *ids = memory_alloc(tokenizer_room(tokenizer, length), sizeof *ids);
    int status = encoder_create(&encoder, tokenizer, err);
    if (!status) {
        status = tokenizer_encode(encoder, o->prompt, length, ids, &count, err);
        encoder_destroy(encoder);
    }
    g->ids = memory_alloc(count + 1 + (size_t)o->tokens, sizeof *g->ids);
    for (size_t i = 0; i < count; i++)
        g->ids[i] = (int32_t)ids[i];
    g->count = (int64_t)count;
    if (g->count == 0)
        g->ids[g->count++] = (int32_t)tokenizer_end_of_text(tokenizer);
    free(ids);
    return status;
}

/* ------------------------------------------------------------------------------------------- without the cache */

static int open_plain(struct generation *g, struct error *err)
{
    struct model *m = g->m;
    const size_t V = (size_t)m->cfg.vocab;
    const int32_t none = -1;
    int status = activations_create(&g->acts, m, 1, (int)m->cfg.context, false, err);
    g->device_logits = status ? NULL : m->ops->alloc(m->be, V * sizeof *g->device_logits, err);
    if (!g->device_logits)
        return STATUS_FAILED;
    g->logits = memory_alloc(V, sizeof *g->logits);
    m->ops->upload(m->be, g->acts.targets, &none, sizeof none);
    return m->ops->sync(m->be, err);
}

/* The whole window forward, then the head on its last token. */
static int plain_logits(struct generation *g, const float **logits, struct error *err)
{
    struct model *m = g->m;
    const struct ops *ops = m->ops;
    const int64_t start = generate_window_start(g->count, m->cfg.context), T = g->count - start, C = m->cfg.d_model;
    const struct pass pass = {.grad_scale = 1};
    g->acts.T = g->acts.N = (int)T;
    ops->upload(m->be, g->acts.tokens, g->ids + start, (size_t)T * sizeof *g->ids);
    const float *y = transformer_forward(m, &g->acts, &pass);
    ops->head(m->be, &(struct head_pass){
                         .y = y + (T - 1) * C,
                         .weight = model_row(m, m->params, m->table.lm_head),
                         .bias = model_row(m, m->params, m->table.head_bias),
                         .targets = g->acts.targets,
                         .ce = g->acts.ce,
                         .logits = g->device_logits,
                         .N = 1,
                         .C = (int)C,
                         .V = (int)m->cfg.vocab,
                     });
    ops->download(m->be, g->logits, g->device_logits, (size_t)m->cfg.vocab * sizeof *g->logits);
    *logits = g->logits;
    return ops->sync(m->be, err);
}

/* ------------------------------------------------------------------------------------------- with the cache */

static int cached_logits(struct generation *g, const float **logits, struct error *err)
{
    const int64_t start = generate_window_start(g->count, g->m->cfg.context);
    if (start != g->start) { /* the window moved: every position in the cache is another one now */
        decoder_rewind(g->decoder, 0, 0);
        g->start = start;
    }
    const int have = decoder_position(g->decoder, 0);
    const int32_t *next = g->ids + start + have;
    int status = decoder_feed(g->decoder, 0, next, (int)(g->count - start) - have - 1, err);
    if (!status)
        status = decoder_step(g->decoder, g->ids + g->count - 1, 1, err);
    *logits = decoder_logits(g->decoder, 0);
    return status;
}

/* ------------------------------------------------------------------------------------------- */

static int draw_tokens(struct generation *g, const struct tokenizer *tokenizer, const struct generate_options *o,
                       struct generate_result *result, struct error *err)
{
    const uint32_t end = tokenizer_end_of_text(tokenizer);
    double begin = seconds();
    int status = o->sink(o->arg, (const unsigned char *)o->prompt, strlen(o->prompt), err);
    for (int64_t i = 0; !status && i < o->tokens; i++) {
        const float *logits;
        size_t length;
        status = o->no_cache ? plain_logits(g, &logits, err) : cached_logits(g, &logits, err);
        if (i == 0) {
            result->prompt_s = seconds() - begin;
            begin = seconds();
        }
        if (status)
            break;
        int32_t token = sampler_draw(g->sampler, logits, (uint64_t)g->count, 0);
        if ((uint32_t)token == end)
            break;
        g->ids[g->count++] = token;
        result->drawn++;
        const unsigned char *bytes = tokenizer_decode_bytes(tokenizer, (uint32_t)token, &length);
        if (!bytes)
            return error_set(err, STATUS_BAD_INPUT, "token %d: not in the tokenizer's vocabulary of %u", token,
                             tokenizer_vocab_size(tokenizer));
        status = o->sink(o->arg, bytes, length, err);
    }
    result->draw_s = seconds() - begin;
    return status;
}

static int open_decoder(struct generation *g, const struct generate_options *o, struct error *err)
{
    return decoder_create(&g->decoder, g->m,
                          &(struct decoder_options){.batch = 1, .threads = o->threads, .weights = o->weights}, err);
}

int generate(struct model *m, const struct tokenizer *tokenizer, const struct generate_options *options,
             struct generate_result *result, struct error *err)
{
    struct generation g = {.m = m};
    struct generate_result scratch = {0};
    const struct sampler_options sampling = {
        .temperature = options->temperature, .top_p = options->top_p, .top_k = options->top_k, .seed = options->seed};
    /* Rows of the head beyond the tokenizer only pad it: no text is in them. */
    const int64_t entries = tokenizer_vocab_size(tokenizer), drawable = entries < m->cfg.vocab ? entries : m->cfg.vocab;
    result = result ? result : &scratch;
    *result = (struct generate_result){0};
    g.sampler = sampler_create(&sampling, (int)drawable);
    int status = encode_prompt(&g, tokenizer, options, err);
    result->prompt = g.count;
    if (!status)
        status = options->no_cache ? open_plain(&g, err) : open_decoder(&g, options, err);
    if (!status)
        status = draw_tokens(&g, tokenizer, options, result, err);
    decoder_destroy(g.decoder);
    sampler_destroy(g.sampler);
    if (g.device_logits)
        m->ops->release(m->be, g.device_logits);
    activations_destroy(&g.acts, m);
    free(g.logits);
    free(g.ids);
    return status;
}
