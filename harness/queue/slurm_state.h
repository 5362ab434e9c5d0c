/* What Slurm says of its jobs, as squeue, scontrol and sacct print it. */
#ifndef TAPER_HARNESS_QUEUE_SLURM_STATE_H
#define TAPER_HARNESS_QUEUE_SLURM_STATE_H

#include <stdbool.h>

#include "core/base/outcome.h"

enum { SLURM_ID = 32, SLURM_NAME = 128, SLURM_TOKEN = 64 };

enum slurm_phase {
    SLURM_PENDING,
    SLURM_RUNNING, /* also suspended: it is on a node */
    SLURM_ENDING,  /* its processes are being ended */
    SLURM_OVER,
};

struct slurm_row {
    char id[SLURM_ID];
    char name[SLURM_NAME];
    enum slurm_phase phase;
    enum outcome outcome; /* of one that is over, when its worker left no word */
    char state[24];       /* PENDING, RUNNING, ... */
    char reason[120];     /* "" when there is none */
    char nodes[120];
    double used, limit; /* seconds it has run, and may; 0: unlimited or unknown */
    int code;           /* exit status, where scontrol said it; 0: none, or unknown */
};

/* For squeue --format, and the words before it. */
#define SLURM_FORMAT "%i|%j|%T|%r|%N|%M|%l"

/* The next line of squeue's answer, and where the one after it begins. False at the end; lines that are none of ours
 * are passed over. */
bool slurm_row_next(const char **at, struct slurm_row *row);

/* One job of `scontrol --oneliner show job`, and of `sacct -n -P -X -o JobID,JobName,State`. */
bool slurm_row_of_scontrol(const char *text, struct slurm_row *row);
bool slurm_row_of_sacct(const char *text, struct slurm_row *row);

/* "1-02:03:04", "02:03", "UNLIMITED" to seconds. */
double slurm_seconds(const char *text);

/* A job that waits for a reason that never passes: how it ends. OUTCOME_COUNT: it may start yet. */
enum outcome slurm_never(const struct slurm_row *row);

/* sbatch's words: whether no later try can do better, whatever else happens in the cluster. */
bool slurm_refuses(const char *text);

#endif
