/* The runs of one worker, as every executor keeps them. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_MEMBERS_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_MEMBERS_H

#include "harness/queue/executor.h"

/* An attempt of a run. */
struct member {
    char *dir;
    int place, attempt;
    bool asked;    /* it alone was asked to stop */
    bool reported; /* its end is told */
};

/* Zeroed: none. */
struct members {
    struct member *at;
    char **handles; /* one a member, by which the store has the executor find it again */
    int count;
};

/* handle is taken over; it may be NULL and follow later. */
void members_add(struct members *m, const char *dir, int place, int attempt, char *handle);
void members_release(struct members *m);

/* Those whose end is not told. */
int members_unreported(const struct members *m);

/* Tell the end of one to who asked for it. */
void member_report(struct executor *executor, struct executor_job *job, struct member *m,
                   const struct executor_end *end);

#endif
