#include "core/generate.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/schedule.h"
#include "core/transformer.h"

/* What a generation carries from token to token. */
struct generation {
    struct model *m;
    struct activations acts;
    struct pass pass;
    float *logits;      /* [V], backend */
    int32_t *drawn;     /* [1], backend */
    int32_t *ids;       /* every id so far, host */
    int64_t count;
};

static int encode_prompt(struct generation *g, const struct tokenizer *tokenizer, const struct generate_options *o,
                         struct error *err)
{
    struct encoder *encoder;
    size_t length = strlen(o->prompt), count = 0;
    uint32_t *ids = memory_alloc(length, sizeof *ids);
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

/* The whole window forward, then the head on its last token. */
static int32_t next_token(struct generation *g, const struct generate_options *o)
{
    struct model *m = g->m;
    const struct ops *ops = m->ops;
    int64_t T = g->count < m->cfg.context ? g->count : m->cfg.context, C = m->cfg.d_model;
    int32_t token;
    g->acts.T = g->acts.N = (int)T;
    ops->upload(m->be, g->acts.tokens, g->ids + g->count - T, (size_t)T * sizeof *g->ids);
    transformer_forward(m, &g->acts, &g->pass);
    ops->head(m->be, &(struct head_pass){
        .y = g->acts.y + (T - 1) * C, .weight = model_row(m, m->params, m->table.lm_head), .targets = g->acts.targets,
        .ce = g->acts.ce, .logits = g->logits, .N = 1, .C = (int)C, .V = (int)m->cfg.vocab,
    });
    ops->sample(m->be, &(struct sample_tokens){
        .logits = g->logits, .tokens = g->drawn, .temperature = (float)o->temperature, .top_p = (float)o->top_p,
        .top_k = o->top_k, .seed = o->seed, .position = (uint64_t)g->count, .B = 1, .V = (int)m->cfg.vocab,
    });
    ops->download(m->be, &token, g->drawn, sizeof token);
    return token;
}

static int draw_tokens(struct generation *g, const struct tokenizer *tokenizer, const struct generate_options *o,
                       struct error *err)
{
    const uint32_t end = tokenizer_end_of_text(tokenizer);
    int status = o->sink(o->arg, (const unsigned char *)o->prompt, strlen(o->prompt), err);
    for (int64_t i = 0; !status && i < o->tokens; i++) {
        int32_t token = next_token(g, o);
        size_t length;
        status = g->m->ops->sync(g->m->be, err);
        if (status || (uint32_t)token == end)
            break;
        g->ids[g->count++] = token;
        const unsigned char *bytes = tokenizer_decode_bytes(tokenizer, (uint32_t)token, &length);
        status = o->sink(o->arg, bytes, length, err);
    }
    return status;
}

int generate(struct model *m, const struct tokenizer *tokenizer, double gate, const struct generate_options *options,
             struct error *err)
{
    struct generation g = {.m = m, .pass = {.phase = schedule_phase(gate), .grad_scale = 1}};
    struct step_scalars scalars = {.gate = (float)gate};
    const int32_t none = -1;
    int status = activations_create(&g.acts, m, 1, (int)m->cfg.context, false, err);
    if (status)
        return status;
    g.logits = m->ops->alloc(m->be, (size_t)m->cfg.vocab * sizeof *g.logits, err);
    g.drawn = g.logits ? m->ops->alloc(m->be, sizeof *g.drawn, err) : NULL;
    status = g.drawn ? encode_prompt(&g, tokenizer, options, err) : STATUS_FAILED;
    if (!status) {
        model_set_scalars(m, &scalars);
        m->ops->upload(m->be, g.acts.targets, &none, sizeof none);
        status = draw_tokens(&g, tokenizer, options, err);
    }
    free(g.ids);
    if (g.logits)
        m->ops->release(m->be, g.logits);
    if (g.drawn)
        m->ops->release(m->be, g.drawn);
    activations_destroy(&g.acts, m);
    return status;
}
