/* A home: the directory that holds one database, its daemon's files and the run directories.
 *
 * HOME/taper.db  taper.lock  taper.sock  daemon.log  daemon.pid  runs/RUN/{config.json,data.json,log.txt,journal.jsonl,
 * checkpoint.safetensors,folded.safetensors,samples.txt}  sweeps/SWEEP.yaml. Which home: --home, else TAPER_HOME, else
 * results/home where there is one here, else $XDG_DATA_HOME/taper, else ~/.local/share/taper. Nothing inside a home
 * names the home's own path, so it may be moved while nobody writes to it. */
#ifndef TAPER_HARNESS_BASE_HOME_H
#define TAPER_HARNESS_BASE_HOME_H

#include <stdbool.h>

#include "core/base/error.h"

struct home {
    char *dir; /* absolute */
    char *database, *lock, *socket, *log, *pid, *runs, *sweeps;
    bool made;  /* there was none before */
    bool alone; /* a database file and no home: to be read only; dir is where it lies */
};

/* given: the value of --home, NULL when not given. With create the directory and runs/ are made; without,
 * STATUS_BAD_INPUT when there is no such directory. */
int home_init(struct home *home, const char *given, bool create, struct error *err);
/* The same without create, for who only reads: a database file will do. */
int home_init_reader(struct home *home, const char *given, struct error *err);

/* Say on standard error that the home was made, if it was: it may not be the one that was meant. */
void home_announce(const struct home *home);

void home_fini(struct home *home); /* fine on a zeroed one */

/* runs/RUN, and runs/RUN/NAME; on the heap, the caller frees them. */
char *home_run_dir(const struct home *home, const char *run);
char *home_run_file(const struct home *home, const char *run, const char *name);

#endif
