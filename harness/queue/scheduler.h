/* The scheduler: takes runs from the store's queue, starts them where there are slots, and records how they end.
 *
 * The store is the queue; in memory are only the attempts that are live. The daemon and `taper run` use the same code.
 * Order: priority, then first come first served. A run that needs more slots than are free waits for them, and those
 * behind it in the same pool wait too; one that needs more than the pool will ever have is passed over.
 *
 * What follows an attempt, by its outcome (core/base/outcome.h), whatever its log says:
 *   done                     done
 *   input                    failed: another attempt would find the same
 *   diverged                 failed: training is deterministic and would diverge again
 *   paused                   as its search decides (store_search.h): paused, or queued again to go on
 *   stopped                  queued again; counts for nothing
 *   failed, signal, timeout  counts against `retries`: queued again after retry_delay * 2^failures (at most ten
 *                            minutes), or failed
 *   memory                   the same; beside other runs it is as for disk, since nobody knows who took it
 *   disk                     queued again; counts for nothing, but waits longer each time in a row (a minute at most).
 *                            A failure while the home's disk is full is this too
 *   could not be started     the same, but for what is wrong with the run itself, which is as for input
 *   lost, node, never let go the same
 *   preempted                queued again; counts for nothing
 *   time-limit               (a batch system's) the same as long as a checkpoint went further than that of any attempt
 *                            before, else as for failed
 *   revoked                  cancelled: somebody ended it there
 *   refused, dependency      failed: the batch system will never run it as it is
 *   cancel was asked for     cancelled, unless it got done all the same
 *
 * Runs with `pack` above 1 share a worker with those of equal shape that the queue holds then (store_queue_mates). Each
 * has its own end, but for a signal or memory that ends the process: whose fault it was cannot be known, so it counts
 * for none of the pack. A run that failed in a pack, or whose pack was ended so, is tried again by itself. The slot is
 * free when all of the pack are gone.
 *
 * A run that failed on a GPU is tried on another one, if there is one that would do; until that is free, runs behind it
 * may pass. A GPU on which aside_after different runs in a row failed within half a minute of their start is set aside:
 * it gets no runs until somebody takes it back, also after a restart. What is a run's own (bad input, diverged, or it
 * fails on another GPU too, where others get done) does not count, nor what is the machine's. All of a pack count as
 * one.
 *
 * On a GPU a run is promised the memory that it will need (core/model/gpu_memory.h): runs that share one fit beside
 * each other, one that does not waits, and one that no GPU can hold ends as input.
 *
 * While the store cannot be written (disk full, another writer), everything waits and is tried again: attempts go on,
 * ends are remembered, no new attempt starts. When a worker cannot be started, or meets a full disk, nothing is started
 * for half a second, and twice as long each time in a row. All on the loop's thread. */
#ifndef TAPER_HARNESS_QUEUE_SCHEDULER_H
#define TAPER_HARNESS_QUEUE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "harness/queue/executor.h"
#include "harness/base/home.h"
#include "harness/queue/slots.h"
#include "harness/store/store.h"

enum { SCHEDULER_JOURNAL_MS = 200, SCHEDULER_TROUBLE_MS = 500, SCHEDULER_ASIDE_MOST = 100 };

struct scheduler_options {
    uv_loop_t *loop;
    const struct home *home;
    struct store *store;
    /* NULL-terminated; their callbacks are set by the scheduler. New attempts go to the first; the others are there for
     * attempts that an earlier process gave them. An attempt of an executor that is not here is left alone. */
    struct executor *const *executors;
    const char *sweep;                        /* only this sweep's runs; NULL: all */
    double grace;                             /* seconds between a stop and the kill */
    double retry_delay;                       /* seconds before the first retry */
    uint64_t min_free;                        /* bytes that must be free on the home's disk for an attempt to start */
    int aside_after;                          /* a GPU is set aside after so many failures there; 0: never */
    void (*log)(void *arg, const char *text); /* a line for the log */
    void (*changed)(void *arg);               /* runs changed state, or were measured */
    void *arg;
};

struct scheduler;

struct scheduler *scheduler_create(const struct scheduler_options *options);

/* Stop caring: live attempts go on by themselves. NULL is fine. The loop must run once more. */
void scheduler_destroy(struct scheduler *s);

/* Take over the attempts that an earlier process left starting or running. Before anything else. */
int scheduler_recover(struct scheduler *s, struct error *err);

/* Look at the queue again, soon (after a submit, retry, resume). */
void scheduler_kick(struct scheduler *s);

/* End the attempts whose cancel was asked for (after a cancel). */
void scheduler_cancel(struct scheduler *s);

/* End the attempts of runs that nothing wants to run now, the queue or all their sweeps being paused: each checkpoints,
 * and is queued again (after a pause). Returns how many it asked. */
int scheduler_pause(struct scheduler *s);

/* Start nothing any more; with `stop` also end what is live, which is then queued again. */
void scheduler_drain(struct scheduler *s, bool stop, enum executor_stop how);

/* A GPU that was set aside is taken back, in the store already (its whole id). */
void scheduler_use_device(struct scheduler *s, const char *device);

/* Live attempts (also those whose end is not recorded yet). */
int scheduler_live(const struct scheduler *s);

/* Those of them whose processes are still there. */
int scheduler_unfinished(const struct scheduler *s);

/* Why it cannot go on; "" when it can. */
const char *scheduler_trouble(const struct scheduler *s);

/* The pools of the executor that new attempts go to (waiting.h). A new reference. */
json_t *scheduler_pools(const struct scheduler *s);

/* The live attempts: [{"run":..,"attempt":..,"slot":..,"pack":..,"state":"running|stopping|ended"}]. A new reference.
 */
json_t *scheduler_to_json(const struct scheduler *s);

#endif
