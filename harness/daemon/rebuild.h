/* A home's database again, from its sweeps/ and runs/; what `taper rebuild` does. */
#ifndef TAPER_HARNESS_DAEMON_REBUILD_H
#define TAPER_HARNESS_DAEMON_REBUILD_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/error.h"
#include "harness/base/home.h"

struct rebuild_result {
    int sweeps, sweeps_lost; /* submitted again; copies that could not be */
    int runs, done;          /* with a directory; of these done */
    int recovered;           /* in no sweep that is known */
    int lost;                /* directories without a configuration that can be read */
};

/* Make HOME/taper.db, with the queue paused. Holds the home's lock (STATUS_FAILED when another process does). What
 * cannot be taken is said to `out`, a line each, and left out. With `force` a database that has content is kept as
 * taper.db.old; without, STATUS_BAD_INPUT. On failure taper.db is as it was. */
int rebuild_home(const struct home *home, bool force, FILE *out, struct rebuild_result *result, struct error *err);

#endif
