/* A database made again beside a lost one, out of what a home's directories still say (`taper rebuild`).
 *
 *   store_rebuild_open, store_submit for every sweep that is known, store_rebuild_add for the other runs, for every run
 *   store_rebuild_run, then store_rebuild_finish and store_close. */
#ifndef TAPER_HARNESS_STORE_STORE_REBUILD_H
#define TAPER_HARNESS_STORE_STORE_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/outcome.h"
#include "harness/store/intake.h"
#include "harness/store/store.h"

/* The sweep of runs that no other names. */
#define STORE_RECOVERED "recovered"

/* Take the home's lock and make an empty database, HOME/taper.db.rebuild; one left by a killed rebuild is removed.
 * STATUS_BAD_INPUT when taper.db has content and `force` is not given, or would be kept under a name that is taken. */
int store_rebuild_open(struct store **out, const struct home *home, bool force, struct error *err);

/* Put it in the place of HOME/taper.db, which stays as taper.db.old if it had content. Then only store_close. */
int store_rebuild_finish(struct store *s, const struct home *home, struct error *err);

/* Is there a run of this name? */
int store_rebuild_has(struct store *s, const char *run, bool *has, struct error *err);

/* Add a run to the sweep STORE_RECOVERED, queued, by its name and its finished configuration. */
int store_rebuild_add(struct store *s, const char *run, const struct config *cfg, struct error *err);

/* What the run's directory says beside the journal. */
struct store_rebuild_files {
    int64_t changed;      /* when the journal was last written; UTC us. Stands for times that nobody knows any more */
    int ended;            /* the attempt that exit.json is about; 0: there is none */
    enum outcome outcome; /* how that one ended */
};

/* Take in the run's journal, make rows for the attempts that it knows, and set the state: done when the last one's last
 * word is that and exit.json does not say otherwise, else queued. */
int store_rebuild_run(struct store *s, struct intake *in, const char *run, const struct store_rebuild_files *files,
                      enum run_state *state, struct error *err);

#endif
