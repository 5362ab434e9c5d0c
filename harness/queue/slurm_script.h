/* What Slurm is given for a worker: sbatch's words, and the batch script, which is kept in the run directory. */
#ifndef TAPER_HARNESS_QUEUE_SLURM_SCRIPT_H
#define TAPER_HARNESS_QUEUE_SLURM_SCRIPT_H

#include "harness/queue/executor.h"

struct slurm_script {
    const char *name;    /* of the job */
    const char *token;   /* TAPER_TOKEN */
    const char *program; /* this program, where the nodes find it too */
    const char *payload; /* NULL: train */
};

/* Write the script for a launch into its first run directory, and say how to submit it: words are sbatch's, ending with
 * NULL, at most `most` with it; each on the heap, none when it fails. */
int slurm_script_write(const struct slurm_script *script, const struct executor_launch *launch, char **words, int most,
                       struct error *err);

/* Ask Slurm whether it would take a job with these options (a JSON object, spec_slurm.h), and wait for the answer,
 * which is sbatch's line in text (room bytes). STATUS_BAD_INPUT: it would not. STATUS_FAILED: it could not be asked. */
int slurm_script_try(const char *options, const char *device, double grace, char *text, size_t room, struct error *err);

#endif
