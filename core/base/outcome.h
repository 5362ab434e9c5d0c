/* How an attempt at a run ended: one list from the training to the database.
 *
 * The training says it by its status (error.h), a process of ours by its exit status, exit.json, the scheduler and
 * attempt.cause by its name. No text of a log ever decides it. */
#ifndef TAPER_CORE_BASE_OUTCOME_H
#define TAPER_CORE_BASE_OUTCOME_H

#include <stdbool.h>

#include "core/base/error.h"

enum outcome {
    /* By itself: each is the exit status of the same number. */
    OUTCOME_DONE,
    OUTCOME_FAILED,
    OUTCOME_INPUT,    /* a file, key or argument was wrong */
    OUTCOME_STOPPED,  /* asked to, state saved */
    OUTCOME_DIVERGED, /* a loss, gradient, weight or evaluation was not finite */
    OUTCOME_MEMORY,   /* the host's or a GPU's ran out, or would have */
    OUTCOME_DISK,     /* a file could not be written: full, or broken */
    OUTCOME_PAUSED,   /* trained up to the step that was asked for, state saved */
    /* As those around it saw it. */
    OUTCOME_SIGNAL,
    OUTCOME_TIMEOUT,
    OUTCOME_LOST,  /* gone without a word: the machine went down, or somebody killed what watches over it */
    OUTCOME_START, /* it could not be started */
    OUTCOME_CANCELLED,
    /* As a batch system ended it. */
    OUTCOME_PREEMPTED,  /* for a job of higher priority */
    OUTCOME_TIME_LIMIT, /* of the job, which is not the run's own (OUTCOME_TIMEOUT) */
    OUTCOME_NODE,       /* the node failed */
    OUTCOME_REVOKED,    /* somebody cancelled the job there */
    OUTCOME_REFUSED,    /* it takes no such job: a partition, an account, a node that is not there */
    OUTCOME_DEPENDENCY, /* what the job waited for will never be */
    OUTCOME_COUNT
};

/* "done", "failed", ...: a string that stays. */
const char *outcome_name(enum outcome outcome);

/* By its name. False when there is none of that name (NULL is fine). */
bool outcome_parse(const char *name, enum outcome *outcome);

/* Of an exit status. ours: of this program, all of whose statuses are known; of any other those up to 3 mean what they
 * mean for ours, and the others are failures. */
enum outcome outcome_of_exit(int code, bool ours);

#endif
