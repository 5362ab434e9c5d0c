/* What a run's directory holds (docs/formats.md). */
#ifndef TAPER_CORE_BASE_RUNDIR_H
#define TAPER_CORE_BASE_RUNDIR_H

#include "core/base/error.h"

#define RUNDIR_CONFIG     "config.json"
#define RUNDIR_DATA       "data.json" /* digests of what the training reads */
#define RUNDIR_LOG        "log.txt"
#define RUNDIR_JOURNAL    "journal.jsonl"
#define RUNDIR_CHECKPOINT "checkpoint.safetensors"
#define RUNDIR_BEFORE     "checkpoint.before.safetensors"    /* the one before it, while the training goes on */
#define RUNDIR_UNCOVERED  "checkpoint.uncovered.safetensors" /* set aside: the journal lacks rows it stands on */
#define RUNDIR_DAMAGED    ".damaged"                         /* behind the name of one set aside as not whole */
#define RUNDIR_FOLDED     "folded.safetensors"
#define RUNDIR_SAMPLES    "samples.txt"
#define RUNDIR_EXIT       "exit.json"
#define RUNDIR_BATCH      "batch-%d.sh" /* an attempt's script for a batch system */
#define RUNDIR_BATCH_OUT  "batch.out"   /* what those printed */
#define RUNDIR_TOKENIZER  "tokenizer"   /* a directory */
#define RUNDIR_LOCK       "lock"        /* where the directory itself cannot be locked */

/* Be the only one who writes in a directory, which is there: until *lock, a close-on-exec descriptor, is closed.
 * STATUS_STOPPED: another is. */
int rundir_lock(const char *dir, int *lock, struct error *err);

#endif
