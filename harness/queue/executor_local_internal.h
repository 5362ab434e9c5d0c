/* Shared by the files of the local executor; nothing else includes it. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_LOCAL_INTERNAL_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_LOCAL_INTERNAL_H

#include <signal.h>

#include "harness/base/process.h"
#include "harness/queue/executor_members.h"

struct executor_job {
    struct executor_local *owner;
    struct executor_job *next;
    struct process_id id;
    char token[128]; /* "ATTEMPT-NONCE", of the first attempt, in the environment of all that it starts */
    struct members runs;
    int pidfd, go; /* -1 when there is none */
    bool pack;     /* its handles have a place, and a run can be stopped by that */
    bool child;    /* ours to reap */
    bool ended;    /* the supervisor is gone (a child not yet reaped) */
    double grace;
    siginfo_t exit;
    uv_poll_t watch;
    uv_timer_t timer; /* sweeping once it has ended; before: a stop that does not come to an end */
    uv_timer_t look;  /* for runs of a pack that end before the others */
    int open_handles;
};

struct executor_local {
    struct executor base; /* first */
    uv_loop_t *loop;
    char *program, *payload;
    int self; /* this program, for a worker that is another one; -1: it is the same */
    struct executor_job *jobs;
};

/* Out of the list; its memory goes with its last handle. */
void local_job_close(struct executor_job *job);

/* uv callbacks; data is the job. The supervisor is gone; what it left is to be killed again; runs of a pack may have
 * ended before the others; a stop has not come to an end. */
void local_job_on_ended(uv_poll_t *watch, int status, int events);
void local_job_on_sweep(uv_timer_t *timer);
void local_job_on_look(uv_timer_t *timer);
void local_job_on_stuck(uv_timer_t *timer);

#endif
