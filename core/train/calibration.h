/* Calibration: the averages over steps that give each site its c, and the anchor its target. docs/equations.md,
 * sections 1 and 5. */
#ifndef TAPER_CORE_TRAIN_CALIBRATION_H
#define TAPER_CORE_TRAIN_CALIBRATION_H

#include "core/train/trainer.h"

/* Numbers in a set of the sites' sums: [site_count][SITE_SUMS]. */
size_t calibration_count(const struct model *m);

/* The updates of the averages that a step makes: one, or with FakeLN one a forward pass. */
size_t calibration_forwards(const struct trainer *t);

/* Enqueue these updates, from the sums of a step of so many tokens; a skipped step makes none. */
void calibration_average(struct trainer *t, double tokens);

/* Does the calibration of a site, or of the target scale, end with step k? */
bool calibration_ends(const struct trainer *t, int64_t k);

/* After such a step: freeze what was averaged, the target s_tgt with its bias corrected. Waits for the step. */
int calibration_freeze(struct trainer *t, struct error *err);

/* As long as both of a block's attention sites are real they are one norm, which is measured at the first: give the
 * second its numbers. sums: [site_count][SITE_SUMS], host memory. */
void calibration_share(const struct model *m, double *sums);

/* c of a site as it stands: frozen, or the running estimate while calibrating; NaN where nothing is tapered. ema: the
 * averages up to this step, c: [site_count]; both in host memory. */
double calibration_c(const struct trainer *t, const double *ema, const float *c, int site);

/* The sigma_avg of a site that FakeLN has removed. */
double calibration_removed_scale(const struct trainer *t, int site);

/* The sums of every site over the whole step, [site_count][SITE_SUMS], on the heap; the caller frees them. */
double *calibration_read_sums(struct trainer *t);

#endif
