/* What follows from the step number alone: the gate, its phase, the learning rate. Steps count from 1. */
#ifndef TAPER_CORE_MODEL_SCHEDULE_H
#define TAPER_CORE_MODEL_SCHEDULE_H

#include "core/config/config.h"
#include "core/ops/ops.h"

/* Last step of calibration (k_warm) and first step at gate 0 (k_end), in steps. */
int64_t schedule_gate_warmup(const struct config *cfg);
int64_t schedule_gate_end(const struct config *cfg);

/* The gate g of step k, docs/equations.md section 1; 1 at every step when no site is tapered. */
double schedule_gate(const struct config *cfg, int64_t k);

/* The learning rate of step k: linear warm-up, then cosine or linear to lr_final * lr at the last step, or constant. */
double schedule_lr(const struct config *cfg, int64_t k);

/* Is the aux loss on at step k? (k > k_warm, lambda above 0) */
bool schedule_aux(const struct config *cfg, int64_t k);

enum gate_phase schedule_phase(double gate);

#endif
