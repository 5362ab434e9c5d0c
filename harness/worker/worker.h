/* What a worker's child processes do: the training of a run or of several, and the steps after it. */
#ifndef TAPER_HARNESS_WORKER_WORKER_H
#define TAPER_HARNESS_WORKER_WORKER_H

#include <jansson.h>

#include "core/base/error.h"
#include "harness/worker/supervisor.h"

enum { WORKER_STEPS_MOST = 8, WORKER_WORDS_MOST = 8 };

/* One run of a worker. */
struct worker_run {
    const char *dir;
    int attempt;
    double timeout;      /* seconds; 0: none */
    int64_t until;       /* the step to train up to (train.h); 0: to the end */
    const json_t *data;  /* the digests that its data must have (train.h); NULL: any */
    const json_t *after; /* what to do after training, a JSON object as in harness/spec/spec.h; NULL: nothing */
};

/* What the worker was told. */
struct worker_job {
    const struct worker_run *runs;
    int count;
    const char *device;  /* "cpu", a GPU's opaque id, NULL: as the configuration says */
    int threads;         /* for all runs; 0: as the configuration says */
    const char *payload; /* a program to run instead of the training, with the attempt's number; NULL: train */
    const char *program; /* the path of taper */
};

/* The steps of one run after its training. */
struct worker_after {
    struct supervisor_step steps[WORKER_STEPS_MOST];
    char *words[WORKER_STEPS_MOST][WORKER_WORDS_MOST]; /* argument vectors */
    int count;
};

struct worker_plan {
    struct worker_job job;
    struct supervisor_step first;
    char *payload[3];            /* its argument vector */
    struct worker_after *after;  /* [job.count] */
    struct supervisor_run *runs; /* [job.count], for the supervisor */
};

/* The steps of a job: the training (its argument vector is given), then what each run's `after` asks for, as a verb of
 * taper. A step whose verb is not in that build fails when its turn comes, and says so. The runs and texts of the job
 * and the vector must outlive the plan, and plan must not be moved. A payload is one run's. */
int worker_plan_init(struct worker_plan *plan, const struct worker_job *job, char *const *training, struct error *err);
void worker_plan_fini(struct worker_plan *plan);

/* The training of a job in its supervisor's child: of one run, in the working directory; or of several at once, each on
 * a thread of its own (and those it starts), with its own backend, directory, journal, checkpoint and stop flag, each
 * end reported on SUPERVISOR_REPORT. Returns the exit status. */
int worker_train(const struct worker_job *job);

/* Pin the process, and what it starts, to a list of processors such as "0-3,8". */
int worker_pin(const char *processors, struct error *err);

#endif
