/* Model files: a model without the state of its training, in one safetensors file (docs/formats.md, "Folded
 * checkpoints"). Any checkpoint reads as one; folding and importing write them.
 *
 * Tensors: every parameter under its name, SITE.c [1] of tapered sites, state/step [1] (I64).
 * __metadata__: config (JSON), folded (none, internal, all; none when absent), version, and what the writer adds. */
#ifndef TAPER_CORE_MODELFILE_H
#define TAPER_CORE_MODELFILE_H

#include "core/params.h"
#include "core/tensorfile.h"

struct modelfile {
    struct tensorfile file;
    struct config cfg;
    enum taper_sites folded;
    int64_t step;
    struct param_table table;
};

/* Open and check everything but the numbers: the configuration, every tensor's shape, and that there is no other. All
 * tensors that are missing, misshapen or unknown are named in one error. A directory stands for the
 * checkpoint.safetensors in it. On failure nothing is left open. */
int modelfile_open(struct modelfile *m, const char *path, struct error *err);
void modelfile_close(struct modelfile *m); /* fine on a zeroed one */

/* STATUS_BAD_INPUT naming every tensor of the model that holds a NaN or an infinity, and the first place of it. */
int modelfile_check_finite(const struct modelfile *m, struct error *err);

struct modelfile_content {
    const struct config *cfg;
    const struct param_table *table; /* its `folded` is written */
    const float *params;             /* [table.total], host memory */
    const float *c;                  /* [site_count], host memory */
    int64_t step;
    const json_t *metadata; /* further strings of __metadata__; NULL for none */
};

/* Write a model file whole, or leave what was there. */
int modelfile_write(const char *path, const struct modelfile_content *content, struct error *err);

/* "none", "internal", "all". */
const char *modelfile_sites_name(enum taper_sites sites);

#endif
