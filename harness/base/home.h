/* A home: the directory that holds one database, its daemon's files and the run directories.
 *
 * HOME/taper.db  taper.lock  taper.sock  daemon.log  daemon.pid  runs/RUN/{config.json,data.json,log.txt,journal.jsonl,
 * checkpoint.safetensors,folded.safetensors,samples.txt}  sweeps/SWEEP.yaml. Which home: --home, else TAPER_HOME, else
 * results/home. Nothing inside a home names the home's own path, so it may be moved while nobody writes to it. */
#ifndef TAPER_HARNESS_BASE_HOME_H
#define TAPER_HARNESS_BASE_HOME_H

#include <stdbool.h>

#include "core/base/error.h"

struct home {
    char *dir; /* absolute */
    char *database, *lock, *socket, *log, *pid, *runs, *sweeps;
};

/* given: the value of --home, NULL when not given. With create the directory and runs/ are made; without,
 * STATUS_BAD_INPUT when there is no such directory. */
int home_init(struct home *home, const char *given, bool create, struct error *err);
void home_fini(struct home *home); /* fine on a zeroed one */

/* runs/RUN, and runs/RUN/NAME; on the heap, the caller frees them. */
char *home_run_dir(const struct home *home, const char *run);
char *home_run_file(const struct home *home, const char *run, const char *name);

#endif
