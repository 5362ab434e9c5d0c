/* Shared by the files of the worker; nothing else includes it. */
#ifndef TAPER_HARNESS_WORKER_WORKER_INTERNAL_H
#define TAPER_HARNESS_WORKER_WORKER_INTERNAL_H

#include "core/config/config.h"
#include "harness/worker/worker.h"

/* The configuration of the run in `dir`, with its share of the slot's threads, checked against the slot. */
int worker_load_config(const struct worker_job *job, const char *dir, struct config *cfg, struct error *err);

/* The training of one run in the working directory: a supervisor's step, arg a struct worker_job. */
int worker_train(void *arg, int report);

/* The training of several at once, each on a thread of its own (and those it starts), with its own backend, directory,
 * journal, checkpoint and stop flag. Reports each run's end. */
int worker_train_pack(void *arg, int report);

#endif
