/* What `taper worker` is told on its command line, for the two programs that may be told it: taper, and
 * taper-supervisor, which does nothing else and so starts in a fraction of the time (harness/supervisor.c). */
#ifndef TAPER_HARNESS_WORKER_WORKER_WORDS_H
#define TAPER_HARNESS_WORKER_WORKER_WORDS_H

#include <stdbool.h>

#include "harness/base/command.h"
#include "harness/worker/worker.h"

struct worker_words {
    struct worker_job job;
    bool train; /* this process is the training, not the supervisor of it */
    int go;     /* descriptor of the go byte, -1: do not wait */
    double grace;
    const char *processors; /* to be pinned to; NULL: any */
    struct worker_run *runs;
    json_t *data, *after;
    char **training; /* the training's argument vector */
};

extern const struct option_row worker_options[];

/* Read them; argv[0] is the verb, and the words must outlive w. command: whose usage it is, with these options. */
int worker_words_read(struct worker_words *w, const struct command *command, int argc, char **argv, struct error *err);
void worker_words_fini(struct worker_words *w);

/* Be the supervisor of what they say. Ends the process with its exit status (supervisor.h), and returns only when
 * nothing could be begun. */
int worker_supervise(struct worker_words *w, struct error *err);

#endif
