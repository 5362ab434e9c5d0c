/* Why queued runs have not started, in words: read from the database, and from what the executor's pools have.
 *
 * A run waits for the first of these that holds: the queue is paused; every sweep that wants it is; a run that it needs
 * is not done; its next attempt's time has not come; it needs more slots than a run can ever have here; the runs ahead
 * of it, or a free slot. The pools are asked of the daemon (waiting_pools_json in its answer to "ping"); who has none,
 * as with no daemon, is told what the database alone says. */
#ifndef TAPER_HARNESS_QUEUE_WAITING_H
#define TAPER_HARNESS_QUEUE_WAITING_H

#include <jansson.h>

#include "harness/queue/executor.h"
#include "harness/store/store.h"

/* {"executor":"local","cpu":{"widest":2,"free":0},"cuda":{"widest":0,"free":0,"missing":"...","aside":[..]}}: the most
 * slots a run can have, those free now, why there are none, and the GPUs that are set aside (slots_aside_json). The
 * scheduler adds "short": the memory that the first run of the queue waits for. A new reference. */
json_t *waiting_pools(struct executor *ex);

/* The queued runs of a sweep (NULL: all), grouped by what they wait for: [{"sweep":..,"runs":..,"why":"paused"|"needs"|
 * "delay"|"slots"|"behind"|"memory"|"free","never":bool,"text":"100 runs of gpuq wait for a GPU: ..."}], a run once for
 * every sweep that wants it. never: nothing but another daemon, or a retry of what is needed, can start them. pools:
 * borrowed; NULL: not known. now: UTC us. A new reference. */
int waiting_collect(struct store *store, const char *sweep, const json_t *pools, int64_t now, json_t **out,
                    struct error *err);

/* Take out of such groups those that only wait for a slot or for their turn: nobody hands out slots now. */
void waiting_drop_startable(json_t *groups);

/* Whether nothing of a sweep, or of a run (exactly one is not NULL), is live and nothing of it that is queued can ever
 * start; text then says why (room bytes), else is "". */
int waiting_stuck(struct store *store, const char *sweep, const struct store_run *run, const json_t *pools, int64_t now,
                  char *text, size_t room, struct error *err);

#endif
