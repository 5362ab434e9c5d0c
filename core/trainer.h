/* A model in training: gradients, moments, calibration, and the one step that advances them all. */
#ifndef TAPER_CORE_TRAINER_H
#define TAPER_CORE_TRAINER_H

#include "core/probe.h"
#include "core/transformer.h"

struct trainer {
    struct model *model; /* not owned */
    float *grads, *m, *v;/* blocks of the parameters' layout, backend memory */
    double *norm_sq;     /* [1], backend memory */
    double *ema;         /* [site_count][SITE_SUMS], backend memory: EMAs over steps 1..k_warm, not bias corrected */
    struct activations acts;
    struct probe probe;
    int32_t *scratch;    /* [2N], host: a micro-batch's inputs and targets, split */

    /* State that a checkpoint holds besides params, c, m, v and ema. */
    int64_t step;                     /* steps done */
    int64_t adam_step[GROUP_COUNT];
    int64_t ema_updates;
    double target;                    /* s_tgt: frozen at k_warm, or given; NaN before */
};

/* What a step measured. */
struct step_report {
    int64_t step;
    double lr, gate, grad_norm; /* global norm before clipping, over what is on the graph */
    bool logged;                /* stats and sites are filled; else stats.ce alone is */
    struct step_stats stats;
    struct site_stats *sites;   /* [site_count], the caller's; may be NULL */
};

/* Allocate for micro-batches of `batch` windows of T tokens. The model must outlive it. */
int trainer_create(struct trainer *t, struct model *model, int batch, int T, struct error *err);
void trainer_destroy(struct trainer *t); /* fine on a zeroed one */

/* Step t->step + 1. windows: [accumulate][batch][T+1] token ids, host memory. With `logged` the probe runs and fills
 * the report. When loss or gradient is not finite nothing is updated, t->step stays, and STATUS_FAILED names the step. */
int trainer_step(struct trainer *t, const int32_t *windows, bool logged, struct step_report *report, struct error *err);

/* One micro-batch [batch][T+1] forward and backward with everything measured and nothing updated, at the gate, target
 * and c given: for `taper debug step`. Gradients are in t->grads afterwards, per-token arrays in t->acts. */
int trainer_debug_pass(struct trainer *t, const int32_t *windows, double gate, double target, bool aux, float *logits,
                       struct error *err);

/* The calibration means over the tokens of the last pass of trainer_debug_pass: [site_count][SITE_SUMS], host. */
void trainer_site_means(struct trainer *t, double *out);

#endif
