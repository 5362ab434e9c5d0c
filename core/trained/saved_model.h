/* Model files: a model without the state of its training, in one safetensors file (docs/formats.md, "Folded
 * checkpoints"). Any checkpoint reads as one; folding and importing write them.
 *
 * Tensors: every parameter under its name, SITE.c [1] of tapered sites, state/step [1] (I64).
 * __metadata__: config (JSON), folded (none, internal, all; none when absent), version, and what the writer adds. */
#ifndef TAPER_CORE_TRAINED_SAVED_MODEL_H
#define TAPER_CORE_TRAINED_SAVED_MODEL_H

#include "core/model/params.h"
#include "core/base/safetensors.h"

struct saved_model {
    struct safetensors file;
    struct config cfg;
    enum taper_sites folded;
    int64_t step;
    struct param_table table;
};

/* Open and check everything but the numbers: the configuration, every tensor's shape, and that there is no other. All
 * tensors that are missing, misshapen or unknown are named in one error. A directory stands for the
 * checkpoint.safetensors in it. On failure nothing is left open. */
int saved_model_open(struct saved_model *m, const char *path, struct error *err);
void saved_model_close(struct saved_model *m); /* fine on a zeroed one */

/* STATUS_BAD_INPUT naming every tensor of the model that holds a NaN or an infinity, and the first place of it. */
int saved_model_check_finite(const struct saved_model *m, struct error *err);

struct saved_model_content {
    const struct config *cfg;
    const struct param_table *table; /* its `folded` is written */
    const float *params;             /* [table.total], host memory */
    const float *c;                  /* [site_count], host memory */
    int64_t step;
    const json_t *metadata; /* further strings of __metadata__; NULL for none */
};

/* Write a model file whole, or leave what was there. */
int saved_model_write(const char *path, const struct saved_model_content *content, struct error *err);

/* "none", "internal", "all". */
const char *saved_model_sites_name(enum taper_sites sites);

#endif
