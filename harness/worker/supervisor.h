/* The process around a worker: it outlives the daemon, owns the logs, enforces the time limits, and ends only when
 * every process that the worker started is gone.
 *
 * `taper worker` becomes the supervisor, leader of its own session, and starts one child after the other: the training
 * of its run, or of all runs of a pack at once, then for one run after the other each step after it. It is the reaper
 * of its whole tree (PR_SET_CHILD_SUBREAPER): a process that loses its parent becomes its child, so that "no child
 * left" means that nothing is left, sessions of their own included. Killing it kills the child in charge
 * (PR_SET_PDEATHSIG).
 *
 * Signals: TERM, INT: stop, that is TERM to all, and KILL to all once the grace is over. USR1: KILL to all at once.
 * SUPERVISOR_STOP_ONE with a value (sigqueue, pidfd_send_signal): stop the run of that place alone. The training gets
 * the same signal with the same value; when the run has not ended by the end of the grace, all of the pack is stopped
 * for its sake. A signal and not a file: it leaves nothing behind that a later attempt could trip over, needs no
 * polling, and reaches exactly the process it is meant for, from a daemon that adopted it too.
 *
 * Before it does anything it waits for one byte on the go descriptor; when that closes first it ends without a trace.
 * It holds the lock (rundir_lock) of every run that has not ended, so that no run directory has two writers.
 *
 * When a run ends its DIR/exit.json says how it went (struct supervisor_end), written aside and renamed; in a pack that
 * may be long before the process ends. Its own exit status is the outcome's (0 to 6), 128+signal, or one of enum
 * supervisor_exit; of a pack that of the first run that is not 0. */
#ifndef TAPER_HARNESS_WORKER_SUPERVISOR_H
#define TAPER_HARNESS_WORKER_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/outcome.h"

enum supervisor_exit { SUPERVISOR_TIMEOUT = 124, SUPERVISOR_NOT_STARTED = 125, SUPERVISOR_LOCKED = 126 };

enum { SUPERVISOR_REPORT = 3 };

#define SUPERVISOR_STOP_ONE SIGRTMIN

/* One thing to do: a program. The training finds TERM, INT and SUPERVISOR_STOP_ONE blocked until it can heed them, and
 * that of a pack a socket for its reports (supervisor_tell) open as SUPERVISOR_REPORT. */
struct supervisor_step {
    const char *name;    /* "train", "fold", ... */
    char *const *argv;   /* argv[0] is looked up in PATH when it has no slash */
    const char *program; /* what to execute in place of argv[0], which is then only its name in ps; NULL: argv[0] */
    bool foreign;        /* no program of ours: of its exit statuses only 0 to 3 mean what ours do */
};

struct supervisor_run {
    const char *dir; /* the run directory, made when missing; the working directory of its steps */
    int attempt;
    double timeout; /* seconds from the start to the end of all its steps; 0: none */
    const struct supervisor_step *after;
    int after_count;
};

struct supervisor_plan {
    struct supervisor_step first; /* for all runs together; in a pack its working directory is the first run's */
    const struct supervisor_run *runs;
    int count;
    const char *token; /* who asked for it; repeated in exit.json */
    int go;            /* descriptor of the go byte, -1: do not wait */
    double grace;      /* seconds */
};

/* exit.json. */
struct supervisor_end {
    char token[128];
    int attempt;
    enum outcome outcome;        /* by itself, OUTCOME_SIGNAL or OUTCOME_TIMEOUT */
    int code, signal;            /* exit status, or the signal that ended the step; -1: none */
    bool asked;                  /* a stop was asked for */
    char step[32];               /* the last step that ran */
    int killed;                  /* processes that had to be killed after the step's own process was gone */
    double cpu_user, cpu_system; /* seconds, of all its processes; of a pack's training its share */
    int64_t max_rss;             /* bytes, of the largest process */
    double seconds;              /* by a clock that nobody sets */
    int64_t started, ended;      /* UTC, microseconds */
    char text[200];              /* the log's last line */
};

/* Do all of it. Returns the exit status for the process. */
int supervisor_run(const struct supervisor_plan *plan);

/* What the training of a pack says when one of its runs has ended. */
struct supervisor_report {
    int run;                     /* its place in the plan */
    enum outcome outcome;        /* by itself */
    double cpu_user, cpu_system; /* seconds: its share of the process' */
    int64_t max_rss;             /* bytes, of the process */
    char text[8192];             /* for the run's log, without the last newline; "" for nothing */
};

/* Say it, from any thread. Returns 0, or -1: nobody listens any more. */
int supervisor_tell(int report, const struct supervisor_report *what);

/* Read DIR/exit.json. STATUS_OK, or STATUS_BAD_INPUT when there is none or it cannot be understood. */
int supervisor_end_read(const char *dir, struct supervisor_end *end, struct error *err);

/* Write it (renamed into place, not synced: after a power failure the attempt counts as lost). */
int supervisor_end_write(const char *path, const struct supervisor_end *end, struct error *err);

#endif
