/* How a home stands, read from its database and the times of live journals: for `status`, `show`, and the progress of
 * `taper run`. */
#ifndef TAPER_HARNESS_STORE_STATUS_H
#define TAPER_HARNESS_STORE_STATUS_H

#include <stdio.h>

#include <jansson.h>

#include "harness/base/home.h"
#include "harness/store/store.h"

/* A live run is stalled when its journal has not grown for STATUS_QUIET_S seconds and for the time in which it should
 * have logged STATUS_QUIET_ROWS steps (their time, times log.every); one whose steps are all done is not. */
enum { STATUS_QUIET_S = 30, STATUS_QUIET_ROWS = 10 };

/* {"paused":(the whole queue),
 *  "sweeps":[{"sweep":..,"paused":..,"runs":..,"queued":..,"starting":..,"running":..,"done":..,"failed":..,
 *   "cancelled":..,"gaps":(done, with missing rows),"submitted":us}],
 *  "live":[{"run":..,"sweep":..,"variant":..,"seed":..,"state":..,"attempt":..,"slot":..,"pack":..,"started":us,
 *   "step":..,"steps":..,"loss":..,"ms":..,"seconds_left":..,"quiet":seconds since the journal grew,"stalled":..}],
 *  "failures":[{"run":..,"sweep":..,"variant":..,"attempt":..,"cause":..,"text":..,"ended":us}],
 *  "aside":[{"device":..,"why":..,"since":us}]}
 * sweep: one sweep's part of it, or NULL. Numbers that are not known are null. failures: the latest ten runs that
 * failed for good. aside: GPUs that get no runs. A new reference. Wants this program's views (store_own_views, or a
 * store opened to write). */
int status_collect(struct store *store, const struct home *home, const char *sweep, json_t **out, struct error *err);

/* One run: {"run":{every column},"config":{..},"attempts":[..],
 * "rows":[{"steps":..,"steps_due":..,"evals":..,"evals_due":..}],"evals":[..],"events":[the latest 20]}. */
int status_run(struct store *store, const char *id, json_t **out, struct error *err);

/* The counts of one row of "sweeps" as "3 done (1 with missing rows), 2 running"; to holds 160 bytes. Returns to. */
char *status_counts(const json_t *sweep, char *to);

/* A row of "live" as one line without a newline: id, variant, seed, step, loss, and the time left or, of one that is
 * stalled, for how long there was no step. to holds 256 bytes. */
char *status_live(const json_t *live, char *to);

#endif
