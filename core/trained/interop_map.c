/* Names and layouts of the classes, for both directions. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/trained/interop_internal.h"
#include "core/base/memory.h"

const char *interop_class_name(enum interop_class class)
{
    static const char *const names[] = {[INTEROP_GPT2] = "GPT2LMHeadModel", [INTEROP_LLAMA] = "LlamaForCausalLM"};
    return names[class];
}

/* What a tensor is, before its name. columns 0: a vector. */
struct place {
    enum interop_how how;
    int row, site;
    int64_t first, rows, columns, repeat, head;
};

static void add(struct interop_map *map, struct place p, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(struct interop_map *map, struct place p, const char *format, ...)
{
    map->tensors = memory_resize(map->tensors, (size_t)map->count + 1, sizeof *map->tensors);
    struct interop_tensor *t = &map->tensors[map->count++];
    *t = (struct interop_tensor){.how = p.how,
                                 .row = p.row,
                                 .site = p.site,
                                 .first = p.first,
                                 .repeat = p.repeat,
                                 .head = p.head,
                                 .rank = p.columns ? 2 : 1,
                                 .shape = {p.rows, p.columns ? p.columns : 1}};
    if (p.how == INTEROP_TRANSPOSED) {
        t->shape[0] = p.columns;
        t->shape[1] = p.rows;
    }
    t->count = (size_t)(t->shape[0] * t->shape[1]);
    va_list args;
    va_start(args, format);
    vsnprintf(t->name, sizeof t->name, format, args);
    va_end(args);
}

static void add_gpt2(struct interop_map *map, const struct config *cfg, const struct param_table *table)
{
    const int64_t C = cfg->d_model, F = cfg->d_ff;
    add(map, (struct place){.row = table->tok_embed, .rows = cfg->vocab, .columns = C}, "transformer.wte.weight");
    add(map, (struct place){.row = table->pos_embed, .rows = cfg->context, .columns = C}, "transformer.wpe.weight");
    for (int l = 0; l < table->layers; l++) {
        const struct param_block *b = &table->blocks[l];
        const struct {
            const char *name;
            int weight, bias;
            int64_t O, I;
        } linears[] = {{"attn.c_attn", b->qkv, b->qkv_bias, 3 * C, C},
                       {"attn.c_proj", b->out, b->out_bias, C, C},
                       {"mlp.c_fc", b->in, b->in_bias, F, C},
                       {"mlp.c_proj", b->mlp_out, b->mlp_out_bias, C, F}};
        for (int i = 0; i < 4; i++) {
            if (i % 2 == 0) {
                add(map, (struct place){.how = INTEROP_NORM_GAIN, .site = i ? b->mlp_site : b->attn_site, .rows = C},
                    "transformer.h.%d.ln_%d.weight", l, 1 + i / 2);
                add(map, (struct place){.how = INTEROP_NORM_SHIFT, .site = i ? b->mlp_site : b->attn_site, .rows = C},
                    "transformer.h.%d.ln_%d.bias", l, 1 + i / 2);
            }
            add(map,
                (struct place){
                    .how = INTEROP_TRANSPOSED, .row = linears[i].weight, .rows = linears[i].O, .columns = linears[i].I},
                "transformer.h.%d.%s.weight", l, linears[i].name);
            add(map, (struct place){.row = linears[i].bias, .rows = linears[i].O}, "transformer.h.%d.%s.bias", l,
                linears[i].name);
        }
    }
    add(map, (struct place){.how = INTEROP_NORM_GAIN, .site = table->final_site, .rows = C}, "transformer.ln_f.weight");
    add(map, (struct place){.how = INTEROP_NORM_SHIFT, .site = table->final_site, .rows = C}, "transformer.ln_f.bias");
}

/* Keys or values: a matrix (columns I) or a bias (0) of key_heads heads there. */
static struct place shared_place(const struct config *cfg, const struct interop_extras *extras, int row, int64_t first,
                                 int64_t I)
{
    const int64_t D = config_head(cfg), columns = I ? I : 1;
    struct place p = {.row = row, .first = first * columns, .rows = extras->key_heads * D, .columns = I};
    if (extras->key_heads != cfg->heads) {
        p.how = INTEROP_REPEATED;
        p.repeat = cfg->heads / extras->key_heads;
        p.head = D * columns;
    }
    return p;
}

static void add_llama(struct interop_map *map, const struct config *cfg, const struct param_table *table,
                      const struct interop_extras *extras)
{
    const int64_t C = cfg->d_model, A = config_attn(cfg), F = cfg->d_ff;
    add(map, (struct place){.row = table->tok_embed, .rows = cfg->vocab, .columns = C}, "model.embed_tokens.weight");
    for (int l = 0; l < table->layers; l++) {
        const struct param_block *b = &table->blocks[l];
        const struct {
            const char *name;
            int weight, bias;
            int64_t first, O, I; /* first row */
        } linears[] = {
            {"self_attn.q_proj", b->qkv, b->qkv_bias, 0, A, C},     {"self_attn.k_proj", b->qkv, b->qkv_bias, A, A, C},
            {"self_attn.v_proj", b->qkv, b->qkv_bias, 2 * A, A, C}, {"self_attn.o_proj", b->out, b->out_bias, 0, C, A},
            {"mlp.gate_proj", b->in, b->in_bias, 0, F, C},          {"mlp.up_proj", b->in, b->in_bias, F, F, C},
            {"mlp.down_proj", b->mlp_out, b->mlp_out_bias, 0, C, F}};
        add(map, (struct place){.how = INTEROP_NORM_GAIN, .site = b->attn_site, .rows = C},
            "model.layers.%d.input_layernorm.weight", l);
        for (int i = 0; i < 7; i++) {
            struct place weight = {.row = linears[i].weight,
                                   .first = linears[i].first * linears[i].I,
                                   .rows = linears[i].O,
                                   .columns = linears[i].I};
            struct place bias = {.row = linears[i].bias, .first = linears[i].first, .rows = linears[i].O};
            if (i == 1 || i == 2) { /* k and v */
                weight = shared_place(cfg, extras, linears[i].weight, linears[i].first, linears[i].I);
                bias = shared_place(cfg, extras, linears[i].bias, linears[i].first, 0);
            }
            add(map, weight, "model.layers.%d.%s.weight", l, linears[i].name);
            if (extras->biases)
                add(map, bias, "model.layers.%d.%s.bias", l, linears[i].name);
        }
        add(map, (struct place){.how = INTEROP_NORM_GAIN, .site = b->mlp_site, .rows = C},
            "model.layers.%d.post_attention_layernorm.weight", l);
    }
    add(map, (struct place){.how = INTEROP_NORM_GAIN, .site = table->final_site, .rows = C}, "model.norm.weight");
}

void interop_map_create(struct interop_map *map, enum interop_class class, const struct config *cfg,
                        const struct param_table *table, const struct interop_extras *extras)
{
    *map = (struct interop_map){0};
    if (class == INTEROP_GPT2)
        add_gpt2(map, cfg, table);
    else
        add_llama(map, cfg, table, extras);
    if (table->lm_head != table->tok_embed)
        add(map, (struct place){.row = table->lm_head, .rows = cfg->vocab, .columns = cfg->d_model}, "lm_head.weight");
}

void interop_map_destroy(struct interop_map *map)
{
    free(map->tensors);
    *map = (struct interop_map){0};
}
