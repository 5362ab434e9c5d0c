#include "core/model/params.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/rng.h"

enum { ALIGN_FLOATS = 16 };

static int add(struct param_table *t, enum param_init init, enum param_group group, int64_t rows, int64_t columns,
               const char *format, ...) __attribute__((format(printf, 6, 7)));

/* columns 0: a vector. */
static int add(struct param_table *t, enum param_init init, enum param_group group, int64_t rows, int64_t columns,
               const char *format, ...)
{
    t->rows = memory_resize(t->rows, (size_t)t->count + 1, sizeof *t->rows);
    struct param *p = &t->rows[t->count];
    *p = (struct param){
        .rank = columns ? 2 : 1, .shape = {rows, columns ? columns : 1}, .init = init, .group = group, .site = -1};
    p->offset = t->total;
    p->size = (size_t)(rows * p->shape[1]);
    t->total += (p->size + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
    t->parameters += (int64_t)p->size;
    va_list args;
    va_start(args, format);
    vsnprintf(p->name, sizeof p->name, format, args);
    va_end(args);
    return t->count++;
}

static void add_block(struct param_table *t, const struct config *cfg, int i)
{
    const int64_t C = cfg->d_model, A = config_attn(cfg), F = cfg->d_ff, wide = cfg->mlp == MLP_SWIGLU ? 2 * F : F;
    /* The shift of a folded LayerNorm moves into the projection behind it. */
    const bool plain = cfg->bias, behind = plain || (cfg->norm == NORM_LAYER && t->folded != SITES_NONE);
    const struct {
        const char *name;
        int64_t O, I;
        enum param_init init;
        bool biased;
        int *weight, *bias;
    } linears[] = {
        {"attn.qkv", 3 * A, C, INIT_NORMAL, behind, &t->blocks[i].qkv, &t->blocks[i].qkv_bias},
        {"attn.out", C, A, INIT_RESIDUAL, plain, &t->blocks[i].out, &t->blocks[i].out_bias},
        {"mlp.in", wide, C, INIT_NORMAL, behind, &t->blocks[i].in, &t->blocks[i].in_bias},
        {"mlp.out", C, F, INIT_RESIDUAL, plain, &t->blocks[i].mlp_out, &t->blocks[i].mlp_out_bias},
    };
    for (size_t l = 0; l < sizeof linears / sizeof linears[0]; l++) {
        *linears[l].weight = add(t, linears[l].init, GROUP_ALWAYS, linears[l].O, linears[l].I, "blocks.%d.%s.weight", i,
                                 linears[l].name);
        *linears[l].bias = !linears[l].biased ? NO_PARAM
                                              : add(t, INIT_ZERO, GROUP_ALWAYS, linears[l].O, 0, "blocks.%d.%s.bias", i,
                                                    linears[l].name);
    }
}

/* A vector of a site. */
static int add_vector(struct param_table *t, int site, enum param_init init, enum param_group group, int64_t C,
                      const char *what)
{
    int row = add(t, init, group, C, 0, "%.40s.%s", t->sites[site].name, what);
    t->rows[row].site = site;
    return row;
}

/* FakeLN's: one gamma and one beta all along, which V's site shares with Q's and K's. */
static void add_kept_vectors(struct param_table *t, const struct config *cfg, int i)
{
    struct param_site *site = &t->sites[i];
    if (site->kind == SITE_VALUE) {
        const struct param_site *shared = &t->sites[t->blocks[site->block].attn_site];
        site->gamma = shared->gamma;
        site->beta = shared->beta;
    } else {
        site->gamma = add_vector(t, i, INIT_ONE, GROUP_ALWAYS, cfg->d_model, "gamma");
        if (cfg->norm == NORM_LAYER)
            site->beta = add_vector(t, i, INIT_ZERO, GROUP_ALWAYS, cfg->d_model, "beta");
    }
    site->gamma_tilde = site->tapered ? site->gamma : NO_PARAM;
    site->beta_tilde = site->tapered ? site->beta : NO_PARAM;
}

static void add_site(struct param_table *t, const struct config *cfg, enum site_kind kind, int block)
{
    static const char *const names[] = {[SITE_ATTN] = "attn", [SITE_VALUE] = "value", [SITE_MLP] = "mlp"};
    const int i = t->site_count++;
    struct param_site *site = &t->sites[i];
    const bool final = kind == SITE_FINAL, shifted = cfg->norm == NORM_LAYER;
    *site = (struct param_site){.kind = kind, .block = block};
    if (final)
        snprintf(site->name, sizeof site->name, "final_norm");
    else
        snprintf(site->name, sizeof site->name, "blocks.%d.%s_norm", block, names[kind]);
    site->gamma = site->beta = site->gamma_tilde = site->beta_tilde = NO_PARAM;
    site->gamma_counter = site->tilde_counter = COUNTER_ALWAYS;
    site->absent = t->folded == SITES_ALL || (t->folded == SITES_INTERNAL && !final);
    if (site->absent)
        return;
    site->tapered = cfg->sites == SITES_ALL || (cfg->sites == SITES_INTERNAL && !final);
    if (config_fakeln(cfg)) {
        add_kept_vectors(t, cfg, i);
        return;
    }
    const enum param_group group = site->tapered ? GROUP_GAMMA : GROUP_ALWAYS;
    if (site->tapered) {
        site->gamma_counter = t->counters++;
        site->tilde_counter = t->counters++;
    }
    site->gamma = add_vector(t, i, INIT_ONE, group, cfg->d_model, "gamma");
    if (shifted)
        site->beta = add_vector(t, i, INIT_ZERO, group, cfg->d_model, "beta");
    if (site->tapered)
        site->gamma_tilde = add_vector(t, i, INIT_ONE, GROUP_TILDE, cfg->d_model, "gamma_tilde");
    if (site->tapered && shifted)
        site->beta_tilde = add_vector(t, i, INIT_ZERO, GROUP_TILDE, cfg->d_model, "beta_tilde");
}

/* In data-flow order. */
static void add_sites(struct param_table *t, const struct config *cfg)
{
    for (int i = 0; i < t->layers; i++) {
        t->blocks[i].attn_site = t->blocks[i].value_site = t->site_count;
        add_site(t, cfg, SITE_ATTN, i);
        if (config_fakeln(cfg)) {
            t->blocks[i].value_site = t->site_count;
            add_site(t, cfg, SITE_VALUE, i);
        }
        t->blocks[i].mlp_site = t->site_count;
        add_site(t, cfg, SITE_MLP, i);
    }
    t->final_site = t->site_count;
    add_site(t, cfg, SITE_FINAL, -1);
}

static int counter_of(const struct param_table *t, const struct param *p)
{
    if (p->site < 0)
        return COUNTER_ALWAYS;
    const struct param_site *site = &t->sites[p->site];
    return p->group == GROUP_TILDE ? site->tilde_counter : site->gamma_counter;
}

/* Neighbours updated alike become one segment; the padding between them holds zeros and stays zero. */
static void find_segments(struct param_table *t)
{
    t->segments = memory_alloc((size_t)t->count, sizeof *t->segments);
    for (int i = 0; i < t->count; i++) {
        const struct param *p = &t->rows[i];
        const bool decay = p->rank >= 2;
        const int counter = counter_of(t, p);
        struct param_segment *last = t->segment_count ? &t->segments[t->segment_count - 1] : NULL;
        if (last && last->decay == decay && last->counter == counter)
            last->size = p->offset + p->size - last->offset;
        else
            t->segments[t->segment_count++] = (struct param_segment){p->offset, p->size, decay, counter};
    }
}

void params_create(struct param_table *t, const struct config *cfg)
{
    params_create_folded(t, cfg, SITES_NONE);
}

void params_create_folded(struct param_table *t, const struct config *cfg, enum taper_sites folded)
{
    *t = (struct param_table){.layers = (int)cfg->layers, .folded = folded, .counters = COUNTER_ALWAYS + 1};
    t->blocks = memory_alloc((size_t)t->layers, sizeof *t->blocks);
    t->sites = memory_alloc(3 * (size_t)t->layers + 1, sizeof *t->sites);
    t->tok_embed = add(t, INIT_NORMAL, GROUP_ALWAYS, cfg->vocab, cfg->d_model, "tok_embed.weight");
    t->pos_embed = cfg->pos != POS_LEARNED
                       ? NO_PARAM
                       : add(t, INIT_NORMAL, GROUP_ALWAYS, cfg->context, cfg->d_model, "pos_embed.weight");
    for (int i = 0; i < t->layers; i++)
        add_block(t, cfg, i);
    t->lm_head = cfg->tied && folded != SITES_ALL
                     ? t->tok_embed
                     : add(t, INIT_NORMAL, GROUP_ALWAYS, cfg->vocab, cfg->d_model, "lm_head.weight");
    t->head_bias = folded == SITES_ALL && cfg->norm == NORM_LAYER
                       ? add(t, INIT_ZERO, GROUP_ALWAYS, cfg->vocab, 0, "lm_head.bias")
                       : NO_PARAM;
    add_sites(t, cfg);
    find_segments(t);
}

void params_destroy(struct param_table *t)
{
    free(t->rows);
    free(t->blocks);
    free(t->sites);
    free(t->segments);
    *t = (struct param_table){0};
}

int params_find(const struct param_table *t, const char *name)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].name, name) == 0)
            return i;
    return NO_PARAM;
}

void params_initialize(const struct param_table *t, const struct config *cfg, float *block)
{
    memset(block, 0, t->total * sizeof *block);
    for (int i = 0; i < t->count; i++) {
        const struct param *p = &t->rows[i];
        struct rng_stream stream = {.seed = (uint64_t)config_seed_weights(cfg), .use = RNG_INIT, .second = (uint64_t)i};
        float *to = block + p->offset;
        double std = cfg->init_std / (p->init == INIT_RESIDUAL ? sqrt(2.0 * (double)cfg->layers) : 1.0);
        if (p->init == INIT_NORMAL || p->init == INIT_RESIDUAL)
            rng_normal_fill(&stream, to, p->size, std);
        else
            for (size_t j = 0; j < p->size; j++)
                to[j] = p->init == INIT_ONE ? 1.0f : 0.0f;
    }
}
