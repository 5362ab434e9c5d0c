/* What a worker is started with: its arguments and its environment. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_WORDS_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_WORDS_H

#include "harness/queue/executor.h"
#include "harness/spec/spec.h"

enum { EXECUTOR_RUNS_MOST = SPEC_PACK_MOST };

struct executor_words {
    char *words[32 + EXECUTOR_RUNS_MOST]; /* ends with a NULL */
    char **environment;                   /* the same: variables, and of this process' own what workers are passed */
    char *variables[8];
    int count, changed;
};

/* `taper worker` for a launch of at most EXECUTOR_RUNS_MOST runs: waiting on the descriptor `go`, with `token` as
 * TAPER_TOKEN; payload may be NULL, and program too: else it is the path of this program for the worker. */
void executor_words_init(struct executor_words *a, const struct executor_launch *launch, int go, const char *token,
                         const char *payload, const char *program);
void executor_words_fini(struct executor_words *a);

#endif
