/* A scheduler over a real store in a home of its own, and an executor that does what the test says. */
#ifndef TAPER_TESTS_SUPPORT_SCHEDULER_BED_H
#define TAPER_TESTS_SUPPORT_SCHEDULER_BED_H

#include "harness/queue/scheduler.h"

enum { SCRIPTED_JOBS_MOST = 256, SCRIPTED_PACK_MOST = 8 };

/* One attempt is one job here, except in a pack: there the job is its first attempt's, and the others know it. */
struct executor_job {
    struct executor_job *first; /* itself, or the pack's */
    int place;
    char dir[512], handle[32];
    char *handles[SCRIPTED_PACK_MOST];
    int attempt, threads;
    bool answered; /* of the first: on_start was called */
    bool released, stopped, killed, over;
};

struct scripted {
    struct executor base;
    struct executor_job jobs[SCRIPTED_JOBS_MOST];
    int count;
    bool refuse; /* the next starts fail */
    bool waits;  /* starts are answered by the next turn of the loop, and what is let go waits for its turn, until the
                    test says that it runs */
    bool slow;   /* they are answered only by bed_answers; else, and without waits, at once */
    uv_timer_t answer;
};

/* All a test has; made anew for each. */
struct scheduler_bed {
    char folder[64];
    uv_loop_t loop;
    struct home home;
    struct store *store;
    struct scripted executor;
    struct scheduler *scheduler;
    int gpu_runs;     /* slots of a GPU, of those that TAPER_NVML shows; a test sets these before bed_open ... */
    const char *base; /* ... and the sweeps' base, as YAML, before bed_submit; NULL: a small model on the CPU */
};

extern struct scheduler_bed bed;

/* The executors of the next bed_open; the scripted one unless set. NULL-terminated. */
extern struct executor *const *bed_executors;

/* cmocka's setup and teardown of a test: the home. */
int bed_make(void **state);
int bed_drop(void **state);

/* The scheduler with so many CPU slots; close it and open it again for a restart. All of these fail the test when they
 * fail. */
void bed_open(int slots, double retry_delay);
void bed_close(void);

/* A sweep of seeds first..last, with more lines of YAML. */
void bed_submit(const char *name, int first, int last, const char *rest);

/* Let the loop do what is due. */
void bed_turn(void);

/* Turn the loop until `count` jobs have been started in all, ten seconds at most. */
void bed_until_started(int count);

/* A slow start is answered: it is held, or (why) nothing was started. */
void bed_answers(int job, const char *why);

/* A job ends: how, by which signal (-1: none), and the last line of its log. */
void bed_ends_with(int job, enum outcome outcome, int signal, const char *text);
void bed_ends(int job, enum outcome outcome);

/* The run of a job as the store has it, and what its state must be. */
struct store_run bed_run(int job);
void bed_state_is(int job, enum run_state want);

#endif
