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

    /* The taper as it stands: each site's gate, and the branch that follows from it. Passes, evaluation and decoding
     * take the sites as they are; model_set_gates and model_begin_step move them. */
    double *site_gate;           /* [site_count], host memory; 1 where nothing is tapered */
    enum gate_phase *site_phase; /* [site_count], host memory */
    uint64_t epoch;              /* names the phases of all sites: where it differs, recorded work is other work */

    /* What a step reads, backend memory, sent in one piece. */
    struct step_scalars *scalars;
    float *gates;       /* [site_count] */
    int32_t *adam_step; /* [table.counters] */
    void *step_host;    /* the piece as it was sent last, host memory */
};

/* Allocate; parameters are zero, every gate is 1 (0 where the model is folded). On failure nothing is left allocated.
 */
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

/* Set the gates of the tapered sites for passes that update nothing. gates: [site_count], host memory. */
void model_set_gates(struct model *m, const double *gates);

/* The same with one gate for all. */
void model_set_gate(struct model *m, double gate);

/* Set what a step of training reads: gates as above, adam_step [table.counters], host memory. */
void model_begin_step(struct model *m, const struct step_scalars *scalars, const double *gates,
                      const int32_t *adam_step);

/* The largest gate of a tapered site: 0 when all are at 0 or folded away, 1 when nothing is tapered. */
double model_largest_gate(const struct model *m);

/* The size of what a step reads. */
size_t model_step_bytes(const struct param_table *t);

/* Rotary positions as the attention ops take them; theta 0 where the configuration has none. */
struct rope model_rope(const struct config *cfg);

/* Does V read another vector than Q and K, since FakeLN has removed one of the two sites there, or both? */
bool model_values_apart(const struct model *m, int layer);

/* Site i as the norm ops take it. */
struct norm_site model_site(const struct model *m, int i);

/* The place of a parameter row in a block of the table's layout (params, gradients ...); NULL for NO_PARAM. */
float *model_row(const struct model *m, float *block, int row);

#endif
