/* How often Slurm is asked, and how long waited for: TAPER_SLURM="poll=5,timeout=60", what is not named at its default.
 */
#ifndef TAPER_HARNESS_QUEUE_SLURM_TUNING_H
#define TAPER_HARNESS_QUEUE_SLURM_TUNING_H

#include "core/base/error.h"

/* Seconds. */
struct slurm_tuning {
    double poll;    /* 5: from one look at the queue to the next, at best */
    double quiet;   /* 60: the same when nothing changes */
    double pace;    /* 1: from one sbatch to the next */
    double timeout; /* 60: for one call */
    double settle;  /* 10: for exit.json, once Slurm says how a job ended that left none */
    double lost;    /* 90: the same when nobody says how it ended */
};

/* text: NULL or "" for the defaults. STATUS_BAD_INPUT names what is wrong in it. */
int slurm_tuning_read(struct slurm_tuning *t, const char *text, struct error *err);

#endif
