/* A model in training: gradients, moments, calibration, and the one step that advances them all. */
#ifndef TAPER_CORE_TRAIN_TRAINER_H
#define TAPER_CORE_TRAIN_TRAINER_H

#include "core/train/probe.h"
#include "core/model/schedule.h"
#include "core/model/transformer.h"

/* A step whose update was left out. */
struct skipped_step {
    int64_t step;
    double ce, aux, grad_norm;
};

struct trainer {
    struct model *model;  /* not owned */
    float *grads, *m, *v; /* blocks of the parameters' layout, backend memory */
    double *norm_sq;      /* [1], backend memory */
    double *ema;          /* [site_count][SITE_SUMS], backend memory: EMAs over the steps of calibration, a forward pass
                           * at a time with FakeLN; not bias corrected */
    double *forward_sums; /* [accumulate][site_count][SITE_SUMS], backend memory: of each forward pass, with FakeLN */
    double *sums;         /* [TOKEN_SUMS] of the step, backend memory */
    struct step_outcome *outcome; /* backend memory */
    int32_t *missed;              /* [table.counters], backend memory: updates that skipped steps did not make */
    int32_t *batch;               /* [2][accumulate][N], backend memory: the step's tokens, then their targets */
    int32_t *split;               /* the same in host memory, on its way */
    struct activations acts;
    schedule_site *schedule; /* of the sites' gates: schedule_of unless set otherwise before the first step */
    double *gates;           /* [site_count], host memory: of the step at hand */
    int32_t *counts;         /* [table.counters] likewise */

    /* State that a checkpoint holds besides params, c, m, v and ema. On a deferred backend the counts take in skipped
     * steps until trainer_settle. */
    int64_t step;       /* steps done */
    int64_t *adam_step; /* [table.counters], host memory */
    int64_t ema_updates;
    double target;                     /* s_tgt: frozen at k_warm, or given; NaN before */
    int64_t logged;                    /* the last step whose row is in the journal; 0: none */
    int64_t skipped, skipped_in_a_row; /* steps without an update: of the whole run, and up to the last one */

    struct skipped_step last_skipped; /* as far as is known; step 0: none in this process */
};

/* What a step measured. */
struct step_report {
    int64_t step;
    double lr, gate, grad_norm; /* gate: the mean over the tapered sites; global norm before clipping, over what is on
                                 * the graph; NaN when not read */
    bool logged;                /* stats and sites are filled; else stats.ce alone is, or NaN when not read */
    struct step_stats stats;
    struct site_stats *sites; /* [site_count], the caller's; may be NULL */
};

/* Allocate for micro-batches of `batch` windows of T tokens. The model must outlive it. */
int trainer_create(struct trainer *t, struct model *model, int batch, int T, struct error *err);
void trainer_destroy(struct trainer *t); /* fine on a zeroed one */

/* Begin to send the batch of a step to come: [accumulate][batch][T+1] token ids, host memory, free again at once. At
 * most STAGED_MOST are on their way. */
void trainer_stage(struct trainer *t, const int32_t *windows);

/* Step t->step + 1, on the batch that was staged first; with windows, they are staged now (nothing else may be). With
 * `logged` the probe runs and fills the report.
 *
 * When loss or gradient is not finite nothing is updated. On the CPU that is the end: t->step stays, and
 * STATUS_DIVERGED names the step. On a deferred backend the step counts as done and the run goes on without its update;
 * two in a row are the end. What is read back there is read at logged steps and where a site's calibration ends alone:
 * elsewhere the call returns at once, and what went wrong shows at the next trainer_settle. */
int trainer_step(struct trainer *t, const int32_t *windows, bool logged, struct step_report *report, struct error *err);

/* Put the model's sites where step k has them: for what is done between steps. */
void trainer_set_gates(struct trainer *t, int64_t k);

/* Wait for the steps so far and take in what became of them: before a checkpoint, and whenever the counts must be
 * right. STATUS_DIVERGED when steps that are not finite stopped the run, with the first one's number; t->step is then
 * the last good one. */
int trainer_settle(struct trainer *t, struct error *err);

/* Go on from a state that skipped steps led to, the last so many of them in a row. */
void trainer_resume_skipped(struct trainer *t, int64_t skipped, int64_t in_a_row);

/* How a step that was not finite reads in a message: "not finite: loss ..., aux ..., gradient norm ... (lr ..., gate
 * ...)". */
void trainer_describe_skipped(const struct trainer *t, char *to, size_t room);

/* One micro-batch [batch][T+1] forward and backward with everything measured and nothing updated, at the gates
 * ([site_count], host memory), target and c given: for `taper debug step`. Gradients are in t->grads afterwards,
 * per-token arrays in t->acts. */
int trainer_debug_pass(struct trainer *t, const int32_t *windows, const double *gates, double target, bool aux,
                       float *logits, struct error *err);

/* The means over the tokens of the last pass of trainer_debug_pass: [site_count][SITE_SUMS], host. */
void trainer_site_means(struct trainer *t, double *out);

#endif
