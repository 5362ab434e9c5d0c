/* Shared by the files of the Slurm executor; nothing else includes it. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_SLURM_INTERNAL_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_SLURM_INTERNAL_H

#include "harness/queue/executor_members.h"
#include "harness/queue/slurm_calls.h"
#include "harness/queue/slurm_script.h"
#include "harness/queue/slurm_state.h"
#include "harness/queue/slurm_tuning.h"

enum job_phase {
    JOB_NEW,       /* its start is not answered yet */
    JOB_NAMED,     /* it has handles, and is not to be submitted before it is released */
    JOB_WAITS,     /* for its turn to be submitted */
    JOB_SUBMITTED, /* sbatch has not answered yet */
    JOB_UNSURE,    /* sbatch failed or never answered, or we are new here: is there a job of the name? */
    JOB_HELD,      /* in Slurm's queue, not to run before it is let go there */
    JOB_LIVE,      /* let go */
};

struct executor_job {
    struct executor_slurm *owner;
    struct executor_job *next;
    enum job_phase phase;
    char id[SLURM_ID]; /* "" until there is one */
    char name[SLURM_NAME], token[SLURM_TOKEN];
    char *words[SLURM_WORDS_MOST]; /* sbatch's, ending with NULL; none of an adopted one */
    struct members runs;
    double grace;
    bool adopted;
    bool closed;          /* every end is told; it goes once its calls are answered */
    bool busy;            /* a call about it is out, and the next has to wait for it */
    int calls;            /* that have not answered */
    double due;           /* seconds by the loop's clock: not before this the next call about it */
    int tries;            /* calls in a row that failed */
    uint64_t since;       /* looks at the queue that had begun when it came into its phase: only later ones count */
    int absent;           /* of these, in a row, those that had no job of the name */
    bool asked, kill;     /* to stop */
    double stopped;       /* when Slurm was first told to end it; 0: not yet */
    bool ran;             /* it has been on a node */
    bool known;           /* row is what Slurm last said of it */
    struct slurm_row row; /* while known */
    double missing, over; /* since when it is not in the list, and since when it is over; 0: it is not */
    bool gone;            /* Slurm knows no such job, and said so */
    bool asked_why;       /* Slurm was asked for the exit status, or the accounting for the end */
    enum outcome never;   /* it was ended since it could never start or was requeued there; OUTCOME_COUNT: not so */
    char told[256];       /* the last news, and the handle's last part in them */
    char told_where[SLURM_ID + 8];
    int64_t journal; /* bytes of its runs' journals when last looked at: a sign of life */
};

enum { SLURM_STRAYS = 16 };

struct executor_slurm {
    struct executor base; /* first */
    uv_loop_t *loop;
    struct slurm_tuning tuning;
    int jobs_most;
    char *program, *payload, *user;
    char tag[16]; /* of the home: what the names of its jobs have in common */
    struct slurm_calls *calls;
    struct executor_job *jobs; /* in the order they came */
    uv_timer_t tick;
    double submitted; /* when sbatch was last called */
    bool submitting, polling;
    uint64_t looks;       /* at the queue, begun */
    double poll, period;  /* when to look next, and how long after that */
    double looked, files; /* when the last look began; when to look for exit.json next */
    int unreachable;      /* looks in a row that failed */
    double unreachable_since;
    char strays[SLURM_STRAYS][SLURM_ID]; /* the last jobs that were nobody's */
    unsigned stray;
    int cancels; /* of such jobs, that have not answered */
    bool no_accounting;
    bool destroyed;
};

/* ------------------------------------------------------------------------------------------ executor_slurm.c */

/* Seconds by the loop's clock. */
double slurm_now(const struct executor_slurm *ex);

/* Look at the queue as soon as the pace allows, and often. */
void slurm_hurry(struct executor_slurm *ex);

/* A call about one job; it stays in memory until the answer, and `busy` until then. */
void slurm_ask(struct executor_job *job, const char *const *words, slurm_on_reply *on_reply);

/* First in every answer: false when all of the job is told already, so that nobody wants to know. */
bool slurm_answered(struct executor_job *job);

/* Wait longer each time in a row before the next call. */
void slurm_back_off(struct executor_job *job);

/* Into another phase, from which only looks count that begin later. */
void slurm_enter(struct executor_job *job, enum job_phase phase);

/* A line for the log. */
void slurm_say(struct executor_slurm *ex, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where the job stands, for the store and for people; told when it has changed. */
void slurm_tell(struct executor_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ----------------------------------------------------------------------------------- executor_slurm_submit.c */

/* The next sbatch, if it is time for one. */
void slurm_submit_next(struct executor_slurm *ex);

/* A look at the queue that counts has come, with a job of that name (row) or without (NULL). */
void slurm_looked_up(struct executor_job *job, const struct slurm_row *row);

/* Let a held one go in Slurm. */
void slurm_let_go(struct executor_job *job);

/* ------------------------------------------------------------------------------------ executor_slurm_watch.c */

/* Look at the queue, if it is time to. */
void slurm_poll(struct executor_slurm *ex);

/* What is due for a job that is in Slurm's queue, or was. */
void slurm_watch(struct executor_job *job);

/* Look for exit.json of what runs, if it is time to. */
void slurm_look_at_files(struct executor_slurm *ex);

/* -------------------------------------------------------------------------------------- executor_slurm_end.c */

/* Whether every run that has no end yet has left its word; for all but the last of a pack that end is told here. */
bool slurm_words_left(struct executor_job *job);

/* Tell the ends: what the runs left, seen together with what Slurm says; without a word Slurm's, or (unknown: it says
 * nothing either) lost. The job is closed then. */
void slurm_report(struct executor_job *job, const char *text);

/* The same end for every run that has none yet, whatever it left. */
void slurm_report_all(struct executor_job *job, enum outcome outcome, const char *text);

/* Bytes of the journals of its runs. */
int64_t slurm_journal_bytes(const struct executor_job *job);

#endif
