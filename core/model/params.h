/* The parameter table: every parameter's name, shape and place in the one flat block.
 *
 * It drives allocation, initialisation, the optimizer's segments, checkpoints and printing. Names and shapes are those
 * of the checkpoint format (docs/formats.md). Gradients and Adam's moments are blocks of the same layout. */
#ifndef TAPER_CORE_MODEL_PARAMS_H
#define TAPER_CORE_MODEL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ops/ops.h"

enum { PARAM_NAME = 64, NO_PARAM = -1, COUNTER_ALWAYS = 0 };

/* Where in a block a norm stands; the final norm stands behind the last block. FakeLN removes the attention norm twice:
 * SITE_ATTN is then what Q and K read, SITE_VALUE what V reads, of one gamma and one beta. */
enum site_kind { SITE_ATTN, SITE_VALUE, SITE_MLP, SITE_FINAL };

enum param_init { INIT_NORMAL, INIT_RESIDUAL, INIT_ZERO, INIT_ONE }; /* RESIDUAL: NORMAL / sqrt(2 layers) */

struct param {
    char name[PARAM_NAME];
    int rank; /* 1 or 2 */
    int64_t shape[2];
    size_t offset; /* in floats, a multiple of 16 */
    size_t size;   /* product of the shape */
    enum param_init init;
    enum param_group group;
    int site; /* whose vector it is; -1: of none */
};

/* A place where a norm stands. The table has them in data-flow order, and nobody but it knows where in that order one
 * is: final_site, or a block's attn_site, value_site and mlp_site. */
struct param_site {
    char name[PARAM_NAME]; /* "blocks.0.attn_norm", "blocks.0.value_norm", "final_norm" */
    enum site_kind kind;
    int block; /* -1: the final one */
    bool tapered;
    bool absent; /* folded away: what joins the stream here still does, but nothing is normalised or scaled */
    /* Rows of the table, NO_PARAM where there is none. Where FakeLN removes a site gamma_tilde is gamma itself, and
     * beta_tilde beta: what is left of the norm goes on with them. */
    int gamma, beta, gamma_tilde, beta_tilde;
    int gamma_counter, tilde_counter; /* Adam step counts of gamma and beta, and of the other two; a plain norm's gamma
                                         has COUNTER_ALWAYS */
};

struct param_block {
    int qkv, qkv_bias, out, out_bias, in, in_bias, mlp_out, mlp_out_bias; /* rows */
    int attn_site, value_site, mlp_site; /* sites; value_site is attn_site where V has none of its own */
};

struct param_table {
    struct param *rows;
    int count;
    size_t total;                      /* floats of the block, padding included */
    int64_t parameters;                /* floats that are parameters */
    int tok_embed, pos_embed, lm_head; /* rows; lm_head is tok_embed when tied */
    int head_bias;                     /* row; only a folded final LayerNorm makes one */
    enum taper_sites folded;           /* which sites are absent */
    struct param_block *blocks;        /* [layers] */
    struct param_site *sites;          /* [site_count] */
    int layers, site_count, final_site;
    int counters;                   /* Adam step counts: COUNTER_ALWAYS, then those of the sites */
    struct param_segment *segments; /* maximal runs updated alike */
    int segment_count;
};

/* Build the table of a finished configuration. */
void params_create(struct param_table *t, const struct config *cfg);

/* The same with sites folded away (docs/formats.md, "Folded checkpoints"). `folded` is SITES_NONE or cfg->sites. With
 * LayerNorm the projections behind an absent site have a bias whatever cfg says; an absent final site unties the head.
 */
void params_create_folded(struct param_table *t, const struct config *cfg, enum taper_sites folded);
void params_destroy(struct param_table *t); /* fine on a zeroed one */

/* The row of a name, NO_PARAM when unknown. */
int params_find(const struct param_table *t, const char *name);

/* Initial values into a host block of t->total floats: N(0, init_std^2) from the RNG_INIT stream of the row, residual
 * projections divided by sqrt(2 layers), gains 1, biases and shifts 0. */
void params_initialize(const struct param_table *t, const struct config *cfg, float *block);

#endif
