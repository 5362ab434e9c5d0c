/* How things stand, as `status --json` and `show --json` print it: what the database knows, and what else there is to
 * ask. The store has this program's views (store_own_views). */
#ifndef TAPER_HARNESS_DAEMON_STANDING_H
#define TAPER_HARNESS_DAEMON_STANDING_H

#include "harness/store/status.h"

/* status_collect with "daemon" (what it says of itself; null: none answers) and "waiting" (queue/waiting.h). */
int standing_collect(struct store *store, const struct home *home, const char *sweep, json_t **out, struct error *err);

/* status_run with "submitted_as" in the attempts that a batch system got. id: a whole one. */
int standing_run(struct store *store, const struct home *home, const char *id, json_t **out, struct error *err);

#endif
