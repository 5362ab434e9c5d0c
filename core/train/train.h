/* One training run: from a finished configuration to a trained, evaluated, checkpointed model in a directory.
 *
 * The directory gets journal.jsonl (journal.h), checkpoint.safetensors (checkpoint.h), config.json and, at the end,
 * samples.txt. A run that finds a checkpoint of its own goes on from it, bit for bit as if it had never stopped
 * (same thread count). It knows nothing of databases or daemons.
 *
 * Several runs may go on at once in one process, each on a thread of its own and with its own directory, stop flag and
 * backend; what they do depends on their own configurations alone. Memory of the host that runs out ends them all. */
#ifndef TAPER_CORE_TRAIN_TRAIN_H
#define TAPER_CORE_TRAIN_TRAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "core/config/config.h"

struct trainer;

/* What a progress line shows; called after every step, from the training thread. */
struct train_progress {
    int64_t step, steps;
    double loss; /* of the last logged step; NaN before */
    double gate;
    double tokens_per_s; /* over the last few steps */
    double seconds_left;
    const char *phase; /* "train", "eval", "sample", "profile", or what is made of the data */
};

struct train_options {
    const char *dir; /* made when missing */
    /* Gives a run with init.from its weights (core/trained/initial.h), once, when it begins; NULL without. */
    int (*begin)(void *arg, struct trainer *t, struct error *err);
    void *begin_arg;
    const char *device; /* device: cuda: UUID of the GPU; NULL: the first visible one */
    const json_t *data; /* digests that its data must have, named as in data.json; NULL: any */
    int attempt;        /* counts from 1; 0: one more than the journal's last */
    int64_t until;      /* evaluate and checkpoint after this step and return STATUS_PAUSED; 0, or no step before the
                           last: train to the end. What is trained does not depend on it. */
    bool fresh;         /* refuse a directory that already holds a run */
    bool profile;       /* print the time of each part of the step to stderr at the end */
    const atomic_int *stop; /* non-zero: checkpoint at the next step's end and return STATUS_STOPPED; a signal handler
                               or another thread may set it. NULL: never */
    void (*progress)(void *arg, const struct train_progress *p); /* NULL for none */
    void *progress_arg;
};

struct train_result {
    int64_t step;    /* last step done */
    double val_loss; /* NaN when not evaluated */
    int64_t params;  /* parameters in the model (a tied head counts once) */
};

/* Returns STATUS_OK (done; also when the run was done before), STATUS_STOPPED (stop flag; resumable),
 * STATUS_PAUSED (at `until`; resumable), STATUS_BAD_INPUT
 * (configuration, text, tokenizer or checkpoint), STATUS_DIVERGED (a loss, gradient, weight or
 * validation loss that is not finite, with the step), STATUS_MEMORY, STATUS_DISK, STATUS_FAILED (anything else). The
 * last good checkpoint survives every one of them. */
int train_run(const struct config *cfg, const struct train_options *options, struct train_result *result,
              struct error *err);

#endif
