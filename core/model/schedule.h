/* What follows from the step number alone: the gates, the learning rate. Steps count from 1. */
#ifndef TAPER_CORE_MODEL_SCHEDULE_H
#define TAPER_CORE_MODEL_SCHEDULE_H

#include "core/config/config.h"
#include "core/model/params.h"

/* Last step of calibration (k_warm) and first step at gate 0 (k_end), in steps. */
int64_t schedule_gate_warmup(const struct config *cfg);
int64_t schedule_gate_end(const struct config *cfg);

/* The gate g of step k, docs/equations.md section 1, of the site that is first; 1 at every step when no site is
 * tapered.
 */
double schedule_gate(const struct config *cfg, int64_t k);

/* The learning rate of step k: linear warm-up, then cosine or linear to lr_final * lr at the last step, or constant. */
double schedule_lr(const struct config *cfg, int64_t k);

/* Is the aux loss on at step k? (k > k_warm, lambda above 0) */
bool schedule_aux(const struct config *cfg, int64_t k);

/* The gate of a tapered site at step k. What moves the sites apart is told here and nowhere else: training, evaluation,
 * decoding, folding and exchange take each site as it is. */
typedef double schedule_site(const struct config *cfg, const struct param_table *table, int site, int64_t k);
schedule_site schedule_site_gate, schedule_site_fakeln;

/* The one that a configuration asks for. */
schedule_site *schedule_of(const struct config *cfg);

/* The first step without a site of FakeLN. */
int64_t schedule_removal(const struct config *cfg, const struct param_table *table, int site);

/* The first step at which a tapered site's gate is 0; INT64_MAX where it never is. */
int64_t schedule_gone(const struct config *cfg, const struct param_table *table, int site);

/* The last step of a tapered site's calibration: what is averaged there is frozen after it. */
int64_t schedule_calibrated(const struct config *cfg, const struct param_table *table, int site);

/* The last step of all calibration, the target scale's included. */
int64_t schedule_calibration_end(const struct config *cfg, const struct param_table *table);

/* The gates of all sites at step k by a schedule: [site_count]. */
void schedule_gates(schedule_site *schedule, const struct config *cfg, const struct param_table *table, int64_t k,
                    double *gates);

/* Their mean over the tapered sites: a gate that all have is itself; 1 when no site is tapered. */
double schedule_mean_gate(schedule_site *schedule, const struct config *cfg, const struct param_table *table,
                          int64_t k);

#endif
