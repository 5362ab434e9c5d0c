/* Questions to the store that only the scheduler has. Reads alone. */
#ifndef TAPER_HARNESS_STORE_STORE_QUEUE_H
#define TAPER_HARNESS_STORE_STORE_QUEUE_H

#include "harness/store/store.h"

/* The longest that a retry may be put off. A not_before further ahead than this was written by a clock that has been
 * set back since, and holds nothing. */
enum { STORE_DELAY_MOST_S = 600 };

/* The next run to start: queued, its delay over, the queue not paused, wanted by a sweep that is not paused, the run it
 * needs (if any) done, for `device` (enum device_kind) and at most `slots` slots. With a sweep only the runs that this
 * one wants. skip: leave out so many from the front. *found tells whether there is one. now: UTC us. */
int store_queue_next(struct store *s, const char *sweep, int device, int64_t slots, int64_t now, int skip,
                     struct store_run *run, bool *found, struct error *err);

/* The runs that may share a worker with `run`, in the order of the queue: those that could start now as it could, of
 * equal device, shape, pack, slots, priority and options of Slurm's. Up to `most` of them into mates; *count says how
 * many. */
int store_queue_mates(struct store *s, const char *sweep, const struct store_run *run, int64_t now, int most,
                      struct store_run *mates, int *count, struct error *err);

/* The earliest not_before in the future among the queued; 0: none. */
int store_queue_delay(struct store *s, int64_t now, int64_t *when, struct error *err);

/* A run's configuration, the digests of its data ({"corpus":..,"tokenizer":..}, null where not known), what to do after
 * it and what its jobs are given on Slurm, as JSON; on the heap. *after and *slurm are NULL for nothing. */
int store_queue_texts(struct store *s, const char *run, char **config, char **data, char **after, char **slurm,
                      struct error *err);

/* Whether an attempt has a checkpoint of a step that none before it had, of this training. */
bool store_queue_progress(struct store *s, const char *run, int attempt);

/* How many attempts in a row, before this one and ending with it (which is taken to), ended so within ten seconds of
 * their start. */
int store_queue_quick_in_a_row(struct store *s, const char *run, int attempt, enum outcome outcome);

struct store_queue_sweeps {
    char (*names)[SPEC_NAME]; /* on the heap */
    size_t count;
};

/* The fail-fast sweeps that want a run. */
void store_queue_fail_fast(struct store *s, const char *run, struct store_queue_sweeps *out);

/* Every sweep there is. */
void store_queue_sweeps(struct store *s, struct store_queue_sweeps *out);

/* Whether a run (a whole id) would not be started now: the queue is paused, or every sweep that wants it is. */
int store_queue_holds(struct store *s, const char *run, bool *paused, struct error *err);

#endif
