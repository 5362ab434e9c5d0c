/* A model: its configuration, its parameters in one block, and the backend it lives on. */
#ifndef TAPER_CORE_MODEL_MODEL_H
#define TAPER_CORE_MODEL_MODEL_H

#include "core/ops/ops.h"
#include "core/model/params.h"
#include "core/base/safetensors.h"

struct model {
    struct config cfg; /* finished */
    const struct ops *ops;
    struct backend *be; /* not owned */
    struct param_table table;
    float *params; /* [table.total], backend memory */
    float *c;      /* [site_count], backend memory: the frozen scalar of each tapered site; 1 before calibration */
    struct step_scalars *scalars; /* backend memory */
};

/* Allocate; parameters are zero. On failure nothing is left allocated. */
int model_create(struct model *m, const struct config *cfg, const struct ops *ops, struct backend *be,
                 struct error *err);
/* The same of a folded model; `folded` as in params_create_folded. It runs forward only. */
int model_create_folded(struct model *m, const struct config *cfg, enum taper_sites folded, const struct ops *ops,
                        struct backend *be, struct error *err);
void model_destroy(struct model *m); /* fine on a zeroed one */

/* Initial parameters from config_seed_weights, c = 1. */
int model_initialize(struct model *m, struct error *err);

/* Parameters and c from tensors named PREFIX + table name (PREFIX "" or "param/"). All missing or misshapen tensors are
 * named. Sites tapered here and without c in the file keep c = 1. */
int model_read(struct model *m, const struct safetensors *f, const char *prefix, struct error *err);

/* Host copies of the parameter block and of c; the caller frees them. */
float *model_download(const struct model *m, const float *block);
float *model_download_c(const struct model *m);

void model_set_scalars(struct model *m, const struct step_scalars *host);

/* The place of a parameter row in a block of the table's layout (params, gradients ...); NULL for NO_PARAM. */
float *model_row(const struct model *m, float *block, int row);

#endif
