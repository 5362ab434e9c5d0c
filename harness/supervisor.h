/* The process around a worker: it outlives the daemon, owns the log, enforces the time limit, and ends only when every
 * process that the worker started is gone.
 *
 * `taper worker` becomes the supervisor, leader of its own session, and forks one child after the other: the training,
 * then each step after it. It is the reaper of its whole tree (PR_SET_CHILD_SUBREAPER): a process that loses its
 * parent becomes its child, so that "no child left" means that nothing is left, sessions of their own included.
 * Killing it kills the child in charge (PR_SET_PDEATHSIG).
 *
 * Signals: TERM, INT: stop, that is TERM to all, and KILL to all once the grace is over. USR1: KILL to all at once.
 * Before it does anything it waits for one byte on the go descriptor; when that closes first it ends without a trace.
 * It holds a lock on DIR/lock meanwhile, so that no run directory has two writers.
 *
 * At the end DIR/exit.json says how it went (struct supervisor_end), written aside and renamed. Its own exit status is
 * the worker's (0 to 3), 128+signal, or one of enum supervisor_exit. */
#ifndef TAPER_HARNESS_SUPERVISOR_H
#define TAPER_HARNESS_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

enum supervisor_exit { SUPERVISOR_TIMEOUT = 124, SUPERVISOR_NOT_STARTED = 125, SUPERVISOR_LOCKED = 126 };

/* One thing to do: a function called in the forked child, whose result is the exit status, or a program. */
struct supervisor_step {
    const char *name; /* "train", "fold", ... */
    int (*call)(void *arg);
    void *arg;
    char *const *argv; /* when call is NULL; argv[0] is looked up in PATH when it has no slash */
};

struct supervisor_plan {
    const char *dir; /* the run directory, made when missing; it becomes the working directory */
    int attempt;
    const char *token;     /* who asked for it; repeated in exit.json */
    int go;                /* descriptor of the go byte, -1: do not wait */
    double timeout, grace; /* seconds; timeout 0: none */
    const struct supervisor_step *steps;
    int count;
};

enum supervisor_cause { SUPERVISOR_EXITED, SUPERVISOR_SIGNALLED, SUPERVISOR_TIMED_OUT, SUPERVISOR_FAILED };

/* exit.json. */
struct supervisor_end {
    char token[128];
    int attempt;
    enum supervisor_cause cause;
    int code, signal;            /* exit status, or the signal that ended the step */
    bool asked;                  /* a stop was asked for */
    char step[32];               /* the last step that ran */
    int killed;                  /* processes that had to be killed after the step's own process was gone */
    double cpu_user, cpu_system; /* seconds, of all its processes */
    int64_t max_rss;             /* bytes, of the largest process */
    double seconds;              /* by a clock that nobody sets */
    int64_t started, ended;      /* UTC, microseconds */
    char text[200];              /* the log's last line */
};

/* Do all of it. Returns the exit status for the process. */
int supervisor_run(const struct supervisor_plan *plan);

/* Read DIR/exit.json. STATUS_OK, or STATUS_BAD_INPUT when there is none or it cannot be understood. */
int supervisor_end_read(const char *dir, struct supervisor_end *end, struct error *err);

/* Write it (renamed into place, not synced: after a power failure the attempt counts as lost). `name` in the working
 * directory. */
int supervisor_end_write(const char *name, const struct supervisor_end *end, struct error *err);

#endif
