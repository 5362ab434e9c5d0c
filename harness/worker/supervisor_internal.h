/* Shared by the files of the supervisor; nothing else includes it. */
#ifndef TAPER_HARNESS_WORKER_SUPERVISOR_INTERNAL_H
#define TAPER_HARNESS_WORKER_SUPERVISOR_INTERNAL_H

#include <sys/resource.h>

#include "harness/base/log_writer.h"
#include "harness/worker/supervisor.h"

/* A run and what is known of its end. */
struct member {
    const struct supervisor_run *run;
    struct supervisor_end end;
    struct log_writer log;
    char *dir; /* absolute; "." where there is one run */
    int lock;  /* rundir_lock */
    bool told; /* its part of the first step is over; end says how */
    bool over; /* exit.json is written */
    bool timed_out;
    double kill_at, timeout_at; /* 0: not due */
};

struct supervisor {
    const struct supervisor_plan *plan;
    struct member *members;
    int signals, output, report; /* signalfd, our ends of the steps' output and of the reports */
    pid_t child;                 /* the step's own process; 0 once it is gone */
    int status;                  /* of that, when it is gone */
    int current;                 /* whose step it is; -1: all runs' */
    bool stopping, killing;
    int killed;
    double begin, kill_at; /* kill_at: of all; 0: not due */
    sigset_t inherited;
};

/* Seconds by a clock that goes on while the machine sleeps and is never set back. */
double supervisor_now(void);

/* Open, lock and time all runs. */
int members_open(struct supervisor *s, struct error *err);

/* Bytes of a step's output: into the log of the run whose step it is, or of all runs still in the first one. */
void members_log(struct supervisor *s, const char *bytes, size_t size);

/* A line of ours, with the time, into one log. */
void member_note(struct member *m, const char *text);

/* Runs whose part of the first step is not over. */
int members_busy(const struct supervisor *s);

/* Read what the training has reported. */
void members_hear(struct supervisor *s);

/* The first step's process is gone: so ended every run that it did not report. */
void members_conclude(struct supervisor *s);

/* A step of its own is over, as s->status says; `before` is what our children had used when it began. */
void member_step_ended(struct supervisor *s, struct member *m, const struct rusage *before);

/* It is asked to end while none of its steps is running, or one is about to: the rest is for another attempt. */
void member_stopped_between(struct supervisor *s, struct member *m);

/* A step of its own could not be started; the log says why. */
void member_not_started(struct supervisor *s, struct member *m);

/* Nothing of it is left to do: exit.json. */
void member_finish(struct supervisor *s, struct member *m);

/* The exit status for the process. */
int members_exit_status(const struct supervisor *s);

void members_close(struct supervisor *s);

#endif
