/* Shared by the files of the scheduler; nothing else includes it. */
#ifndef TAPER_HARNESS_QUEUE_SCHEDULER_INTERNAL_H
#define TAPER_HARNESS_QUEUE_SCHEDULER_INTERNAL_H

#include "harness/store/intake.h"
#include "harness/queue/scheduler.h"
#include "harness/store/store_queue.h"

/* A worker's runs: one, or a pack. They have its slot until the end of the last of them is recorded, which is when all
 * of its processes are gone. */
struct crew {
    struct executor_job *executing; /* NULL: nothing was started */
    struct slots_grant grant;
    int size; /* runs it was started with */
    int live; /* of these, not settled yet */
    struct executor *executor;
    bool starting; /* its executor has not answered yet: nothing can be asked of it */
    bool fresh;    /* begun in this turn of the loop: the store may yet refuse it */
    bool held;     /* it is to be let go once that is committed */
    bool unknown;  /* the store refused it: it ends without a trace */
    bool given;    /* its slot is free again */
    bool blamed;   /* its GPU was, for one of its runs: their worker was the same */
};

/* One live attempt. */
struct job {
    struct job *next;
    struct crew *crew;
    int place; /* in the crew, as the executor counts */
    char run[CONFIG_ID];
    int attempt;
    bool stopping;           /* asked to end */
    bool ended;              /* gone, but the store does not know yet */
    struct verdict *verdict; /* scheduler_end.c: what its end comes to, which is not committed yet; else NULL */
    bool adopted;
    bool runs;      /* its executor said that it waits no longer */
    uint64_t begun; /* uv_hrtime */
    struct executor_end end;
    char text[256]; /* end.text */
};

struct scheduler {
    struct scheduler_options o;
    struct intake *intake;
    struct job *jobs;
    bool draining;
    char trouble[512]; /* why the store cannot be used; "": it can, for all that is known */
    int64_t trouble_since;
    enum store_trouble trouble_kind;
    bool told;          /* the log knows of it */
    char short_of[256]; /* the memory that the first run of the queue waits for; "": it does not */
    char held[512];     /* why nothing could be started the last time; "": it could */
    enum outcome held_why;
    int64_t held_since;
    uint64_t held_until; /* uv_now */
    int holds;           /* in a row */
    uv_timer_t fill_timer, journal_timer, trouble_timer, delay_timer;
    char host[256], *libraries;
    int64_t clock_base;   /* UTC us when clock_begin was read */
    uint64_t clock_begin; /* uv_hrtime */
    int open_handles;
    bool turning;                    /* the turn's transaction is open */
    struct device_failures *failing; /* scheduler_devices.c */
    int failing_count;
};

void scheduler_log(struct scheduler *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void scheduler_changed(struct scheduler *s);

/* A call on the store failed, or there is no room: remember, tell once, try again later. */
void scheduler_fault(struct scheduler *s, enum store_trouble kind, const char *text);
/* The machine, or the place, had not what a worker needs (processes, descriptors, a directory that can be written):
 * start nothing for half a second, twice as long each time in a row, a minute at most. */
void scheduler_hold(struct scheduler *s, enum outcome why, const char *text);
/* Milliseconds for which nothing is started yet; 0: go on. */
uint64_t scheduler_held(const struct scheduler *s);
/* A worker was started. */
void scheduler_unhold(struct scheduler *s);

/* UTC in us by a clock that nobody sets: right when the scheduler began, and steady since. All delays are by it. */
int64_t scheduler_clock(const struct scheduler *s);

/* Bytes free on the home's disk. */
uint64_t scheduler_room(const struct scheduler *s);

/* Record the end of a job that has ended, in the group that is open. *plain is cleared unless its run is done, and
 * nothing but the run is concerned. */
int scheduler_record_end(struct scheduler *s, struct job *job, bool *plain, struct error *err);
/* It is committed: do what follows from it; the job is gone. Or it is not: as before. */
void scheduler_conclude(struct scheduler *s, struct job *job);
void scheduler_unrecord(struct job *job);

/* All of that for one job by itself. True: it is gone from the list. False: to be tried again. */
bool scheduler_settle(struct scheduler *s, struct job *job);

/* An attempt that could not be started ends so, which the next turn records. What is wrong with the run itself
 * (STATUS_BAD_INPUT) ends the run; anything else is the machine's, counts for nothing, and holds the queue. */
void scheduler_refuse(struct scheduler *s, struct job *job, const struct error *why);

/* scheduler_turn.c: record what has ended and start what there is room for. */
void scheduler_on_turn(uv_timer_t *timer);

/* Open the turn's transaction, if it is not open yet; false: the store is in trouble. */
bool scheduler_open_turn(struct scheduler *s);

/* What began in this turn: it is committed, and what is held is let go, and then told of; or it could not be, and ends
 * without a trace. */
void scheduler_let_go(struct scheduler *s);
void scheduler_tell_starts(struct scheduler *s);
void scheduler_abandon(struct scheduler *s);

/* The answer to a start (executor.h). */
void scheduler_on_start(void *arg, struct executor_job *executing, const struct executor_started *started,
                        const struct error *why);

/* Ask the live attempts of a crew to end, one (its place) or EXECUTOR_ALL; one that is still starting ends when it has
 * started. */
void scheduler_stop(struct crew *crew, int place, enum executor_stop how);

/* What is heard of it meanwhile, and lines for the log (executor.h). */
bool scheduler_on_news(void *arg, struct executor_job *executing, int place, const struct executor_news *news);
void scheduler_on_log(void *arg, const char *text);

void scheduler_on_end(void *arg, struct executor_job *executing, int place, const struct executor_end *end);

/* The journals of all live attempts; false when the store is in trouble. */
bool scheduler_intake(struct scheduler *s);

/* What an attempt that has ended so says of its GPU, which may be set aside for it. */
void scheduler_judge_device(struct scheduler *s, const struct job *job, enum outcome cause);

/* The GPUs that an earlier process set aside are so again. */
int scheduler_recover_devices(struct scheduler *s, struct error *err);

enum taking {
    TAKING_DONE,
    TAKING_WAITS,  /* nothing is free that would do: it is waited for, by all behind the run too */
    TAKING_PASSED, /* only the GPU that it failed on is: those behind it may have that */
    TAKING_NEVER,  /* no GPU is large enough: it is the run that is wrong */
};

/* What is being started together. */
struct start {
    struct crew *crew;
    struct store_run runs[SPEC_PACK_MOST]; /* the first is given */
    struct job *jobs[SPEC_PACK_MOST];
    int count;
};

/* Begin the first run of the queue, with those that may share its worker, in the turn's transaction. TAKING_DONE: they
 * are on their way. TAKING_NEVER: they could not be started, which is to be recorded before others are tried; or the
 * store is in trouble. */
enum taking scheduler_start(struct scheduler *s, struct executor *ex, struct start *start);

/* Take from an executor's pool what a run needs to start; short_of says it when that is memory. never: why, of
 * TAKING_NEVER. */
enum taking scheduler_take(struct scheduler *s, struct executor *ex, const struct store_run *run,
                           struct slots_grant *grant, struct error *never);

/* Promise a run of a crew the memory that it needs of its GPU, if it has one; the first of them also what the process
 * takes. */
void scheduler_promise(struct scheduler *s, struct crew *crew, const char *run, bool first);

/* How many of the runs that may join a crew (the first ones) fit beside it on its GPU; these have their memory
 * promised. */
int scheduler_fit_mates(struct scheduler *s, struct crew *crew, const struct store_run *mates, int count);

/* A live attempt by what its executor calls it; place EXECUTOR_ALL: any of the job. NULL: there is none. */
struct job *scheduler_find(const struct scheduler *s, const struct executor_job *executing, int place);

/* A new job of a crew, in the list. */
struct job *scheduler_add(struct scheduler *s, struct crew *crew, int place, const char *run, int attempt);

/* Its slot is free, and it may be asked twice; one less of a crew: with its last it is gone, and its slot free. */
void scheduler_give(struct crew *crew);
void scheduler_leave(struct crew *crew);

/* Out of the list, and out of its crew. */
void scheduler_forget(struct scheduler *s, struct job *job);

#endif
