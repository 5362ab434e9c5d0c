/* Where attempts run: an interface, so that a batch system can stand where local processes do.
 *
 * An attempt is started held, named by a handle (text that means something to its executor alone), and let go once
 * the handle is in the database. So whatever is killed when, no attempt runs that nobody knows of. After a restart the
 * handle is adopted. Each start or adopt that succeeds ends in exactly one call of on_end, made from the loop and only
 * when every process of the attempt is gone. Everything happens on the loop's thread. */
#ifndef TAPER_HARNESS_EXECUTOR_H
#define TAPER_HARNESS_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include "core/error.h"

struct executor_launch {
    const char *dir; /* the run directory, absolute; config.json is there */
    int attempt;
    const char *device;     /* "cpu", or a GPU's opaque id */
    const char *processors; /* "0-3,8": processors to be pinned to; NULL: any */
    int threads;            /* 0: as many as the process may use */
    double timeout, grace;  /* seconds; timeout 0: none */
    const char *after;      /* what to do after training, as JSON; NULL: nothing */
};

struct executor_job;

/* What the store keeps. The texts live as long as the job. */
struct executor_started {
    struct executor_job *job;
    const char *handle;
    int64_t pid, pid_started; /* 0: this executor has none here */
    const char *boot_id;      /* NULL likewise */
};

enum executor_cause {
    EXECUTOR_EXITED,    /* by itself: code */
    EXECUTOR_SIGNALLED, /* signal */
    EXECUTOR_TIMED_OUT,
    EXECUTOR_LOST,        /* gone without a word: the machine went down, or somebody killed it */
    EXECUTOR_NOT_STARTED, /* it never did anything */
};

struct executor_end {
    enum executor_cause cause;
    int code, signal;           /* -1: none */
    bool asked;                 /* it was asked to stop */
    int64_t cpu_us, peak_bytes; /* -1: unknown */
    const char *text;           /* a line for people; lives until the callback returns */
};

enum executor_stop {
    EXECUTOR_STOP, /* checkpoint and end; killed when the grace is over */
    EXECUTOR_KILL, /* end at once */
};

struct executor {
    const char *name;
    void (*on_end)(void *arg, struct executor_job *job, const struct executor_end *end);
    void *arg; /* set both before the first start */

    /* Start an attempt, held. On failure nothing was started. */
    int (*start)(struct executor *ex, const struct executor_launch *launch, struct executor_started *out,
                 struct error *err);
    /* Let it go. */
    void (*release)(struct executor *ex, struct executor_job *job);
    /* Take over what an earlier process started. Also right when it is gone: on_end says how it went. Fails
     * (STATUS_BAD_INPUT) only on a handle that is not this executor's. */
    int (*adopt)(struct executor *ex, const char *handle, const char *dir, int attempt, struct executor_job **job,
                 struct error *err);
    /* Ask it to end; on_end follows. May be asked again. A held one is dropped. */
    void (*stop)(struct executor *ex, struct executor_job *job, enum executor_stop how);
    /* Whether a process of this machine belongs to one of the jobs. */
    bool (*owns)(struct executor *ex, pid_t pid);
    /* Forget all jobs (they go on), and release everything once the loop has run its closing callbacks. */
    void (*destroy)(struct executor *ex);
};

/* Processes of this machine. program: what to run as `PROGRAM worker ...` (NULL: this program). payload: run this
 * instead of the training, given the attempt's number (for tests and for work that is not ours; NULL: train). Never
 * NULL. */
struct executor *executor_local_create(uv_loop_t *loop, const char *program, const char *payload);

#endif
