/* What a worker's child processes do: the training, and the steps after it. */
#ifndef TAPER_HARNESS_WORKER_H
#define TAPER_HARNESS_WORKER_H

#include <jansson.h>

#include "core/error.h"
#include "harness/supervisor.h"

enum { WORKER_STEPS_MOST = 8, WORKER_WORDS_MOST = 8 };

/* What the worker was told. */
struct worker_job {
    int attempt;
    const char *device;  /* "cpu", a GPU's opaque id, NULL: as the configuration says */
    int threads;         /* 0: as the configuration says */
    const char *payload; /* a program to run instead of the training, with the attempt's number; NULL: train */
};

struct worker_plan {
    struct worker_job job;
    struct supervisor_step steps[WORKER_STEPS_MOST];
    char *words[WORKER_STEPS_MOST][WORKER_WORDS_MOST]; /* argument vectors of the steps that are programs */
    int count;
};

/* The steps of a job: the training (in the working directory, which is the run directory by then), then what `after`
 * asks for, a JSON object as in harness/spec.h (NULL: nothing), each as a verb of this program. A step whose verb is
 * not in this build fails when its turn comes, and says so. plan keeps job and must not be moved. */
int worker_plan_init(struct worker_plan *plan, const struct worker_job *job, const json_t *after, struct error *err);
void worker_plan_fini(struct worker_plan *plan);

/* Pin the process, and what it starts, to a list of processors such as "0-3,8". */
int worker_pin(const char *processors, struct error *err);

#endif
