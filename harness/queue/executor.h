/* Where attempts run: an interface, so that a batch system can stand where local processes do. A new one is a file of
 * its own and a row of executors.c.
 *
 * A job is one worker with the attempts of one run, or of the runs of a pack. It is started held, each of its attempts
 * named by a handle (text that means something to its executor alone), and let go once the handles are in the database.
 * So whatever is killed when, no attempt runs that nobody knows of. A start that takes its time returns at once, and
 * its answer comes later, so that neither the loop nor the database waits for it. After a restart the handles are
 * adopted, one by one, by the executor whose name the attempt has. Each attempt started or adopted ends in exactly one
 * call of on_end, made from the loop; the job's last only when every process of it is gone, the others when nothing
 * writes in their directories any more. Everything happens on the loop's thread. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include "core/base/outcome.h"
#include "harness/queue/slots.h"

struct executor_run {
    const char *dir; /* the run directory, absolute; config.json is there */
    int attempt;
    double timeout;    /* seconds; 0: none */
    int64_t until;     /* the step to train up to; 0: to the end */
    const char *data;  /* digests that its data must have, as JSON; NULL: any */
    const char *after; /* what to do after training, as JSON; NULL: nothing */
};

struct executor_launch {
    const struct executor_run *runs;
    int count;
    const char *device;     /* "cpu", or a GPU's opaque id */
    const char *processors; /* "0-3,8": processors to be pinned to; NULL: any */
    int threads;            /* for all of them; 0: as many as the process may use */
    double grace;           /* seconds */
    const char *options;    /* a JSON object of what a batch system is to be told (spec_slurm.h); NULL: nothing */
};

struct executor_job;

/* What the store keeps. The texts live as long as the job. */
struct executor_started {
    char *const *handles;     /* one a run */
    int64_t pid, pid_started; /* 0: this executor has none here */
    const char *boot_id;      /* NULL likewise */
    bool waits;               /* once let go it waits for its turn there: on_news says when it runs */
};

/* What is heard of an attempt between its start and its end. NULL: as before. */
struct executor_news {
    const char *handle; /* by which it is found from now on */
    const char *host;   /* where it runs */
    const char *text;   /* where it stands, for people */
    bool runs;          /* it waits no longer */
};

struct executor_end {
    enum outcome outcome;       /* OUTCOME_START: it never did anything */
    int code, signal;           /* -1: none */
    bool asked;                 /* it was asked to stop */
    int64_t cpu_us, peak_bytes; /* -1: unknown */
    const char *text;           /* a line for people; lives until the callback returns */
};

enum executor_stop {
    EXECUTOR_STOP, /* checkpoint and end; killed when the grace is over */
    EXECUTOR_KILL, /* end at once */
};

enum { EXECUTOR_ALL = -1 }; /* every run of a job */

struct executor {
    const char *name;
    int most;     /* runs a job may have */
    bool apart;   /* each job has its own memory: what runs out there is no other job's doing */
    bool foreign; /* a payload runs, not our training */
    /* place: of the run among those of the launch, from 0. */
    void (*on_end)(void *arg, struct executor_job *job, int place, const struct executor_end *end);
    /* The answer to a start that was not answered at once, once a job, from the loop: it is held and has handles, or
     * (started NULL) nothing was started, and why. The job is gone then. */
    void (*on_start)(void *arg, struct executor_job *job, const struct executor_started *started,
                     const struct error *why);
    /* Of an attempt that was started or adopted. False when it could not be recorded: it is told again later. */
    bool (*on_news)(void *arg, struct executor_job *job, int place, const struct executor_news *news);
    void (*on_log)(void *arg, const char *text); /* a line for the log */
    void *arg;                                   /* set all before the first start */

    /* The pool, in slots of a device (enum device_kind): what it has for one run at most, what is free now, taking and
     * giving. regain takes again what a grant of this name had, for an adopted attempt. refresh: ask anew who uses
     * what. executor_use_slots fills these for an executor whose pool is this machine's. */
    int (*widest)(struct executor *ex, int device);
    int (*room)(struct executor *ex, int device);
    bool (*take)(struct executor *ex, const struct slots_wish *wish, struct slots_grant *grant);
    void (*give)(struct executor *ex, const struct slots_grant *grant);
    void (*regain)(struct executor *ex, const char *name, struct slots_grant *grant);
    void (*refresh)(struct executor *ex);
    struct slots *slots; /* that machine's; NULL: the pool is elsewhere. Owned */

    /* Begin to start a job, held. Where that is a matter of a moment *started has the answer; else it is left alone,
     * and on_start follows, never before this returns. On failure nothing was started and no on_start comes. The launch
     * is read before it returns. */
    int (*start)(struct executor *ex, const struct executor_launch *launch, struct executor_job **job,
                 struct executor_started *started, struct error *err);
    /* Let it go, once it has handles. */
    void (*release)(struct executor *ex, struct executor_job *job);
    /* Take over what an earlier process started: the job, which is the same for all of a pack, and the place in it. All
     * of a pack are taken over before the loop runs. Also right when it is gone: on_end says how it went. Fails
     * (STATUS_BAD_INPUT) only on a handle that is not this executor's. */
    int (*adopt)(struct executor *ex, const char *handle, const char *dir, int attempt, struct executor_job **job,
                 int *place, struct error *err);
    /* Ask a run, or EXECUTOR_ALL, to end; on_end follows. Not before the answer to its start. May be asked again. A
     * held job is dropped, whole. EXECUTOR_KILL is for all: what shares a process cannot be killed in part. */
    void (*stop)(struct executor *ex, struct executor_job *job, int place, enum executor_stop how);
    /* Forget all jobs (they go on), and release everything once the loop has run its closing callbacks. */
    void (*destroy)(struct executor *ex);
};

struct executor_options {
    const char *program; /* what to run as `PROGRAM worker ...`; NULL: this program */
    const char *payload; /* run this instead of the training, given the attempt's number (for tests and for work that
                            is not ours, and never in packs); NULL: train */
    struct slots_options slots; /* of this machine; owns and arg are the executor's to set */
    const char *home;           /* the home's directory; NULL: none */
    int jobs_most;              /* that wait in a batch system's queue; 0: its default */
};

/* Processes of this machine. Never NULL. */
struct executor *executor_local_create(uv_loop_t *loop, const struct executor_options *options);

/* Batch jobs of Slurm (slurm.md). Never NULL; the check is whether it can work here (STATUS_BAD_INPUT). */
struct executor *executor_slurm_create(uv_loop_t *loop, const struct executor_options *options);
int executor_slurm_check(struct error *err);

/* The pool of an executor is these slots, which it owns from now on (slots_destroy them last in destroy). */
void executor_use_slots(struct executor *ex, struct slots *slots);

/* The executors there are, in the order of preference; NULL past the last. */
struct executor_kind {
    const char *name;
    struct executor *(*create)(uv_loop_t *loop, const struct executor_options *options);
    int (*check)(struct error *err); /* NULL: it works everywhere */
};
const struct executor_kind *executor_kind_at(int i);

#endif
