#include <stdlib.h>

#include "harness/verbs/commands.h"
#include "harness/worker/worker_words.h"

static int worker_exec(int argc, char **argv, struct error *err)
{
    struct worker_words w;
    int status = worker_words_read(&w, &cmd_worker, argc, argv, err);
    if (status)
        return status;
    if (w.train)
        exit(worker_train(&w.job)); /* its statuses are finer than an error's */
    status = worker_supervise(&w, err);
    worker_words_fini(&w);
    return status;
}

const struct command cmd_worker = {
    .name = "worker",
    .operands = "RUNDIR...",
    .brief = "carry out one attempt of a run, or of several (started by the daemon)",
    .about = "Trains the run whose config.json is in RUNDIR, then does what is to be done after. The process "
             "supervises:\n"
             "the work is done in children of it, and it ends when all of them are gone. RUNDIR/exit.json says "
             "how it went.\n"
             "Several runs (a pack) are trained at once in one process, each as if it were alone; what follows "
             "the training is\n"
             "done run by run once all are trained. TERM: checkpoint and end; USR1: end at once; the first "
             "real-time signal,\n"
             "sent with a number: checkpoint and end the run of that place, from 0.\n",
    .options = worker_options,
    .exec = worker_exec,
};
