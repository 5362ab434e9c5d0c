/* A sweep in the foreground: the engine on its own, without a socket, until the sweep's runs have ended.
 *
 * On a terminal the progress is redrawn in place, otherwise each change is a line; both on standard error. The first
 * INT or TERM has the workers checkpoint and end, the second kills them and ends within a second, whatever the database
 * waits for. */
#ifndef TAPER_HARNESS_DAEMON_FOREGROUND_H
#define TAPER_HARNESS_DAEMON_FOREGROUND_H

#include <jansson.h>

#include "harness/daemon/daemon_engine.h"

/* Queue `submit` (the body of a submit request; borrowed) and run it. STATUS_OK: all done. STATUS_STOPPED: interrupted,
 * can be gone on with. STATUS_FAILED: a run failed or was cancelled. STATUS_BAD_INPUT: the queue is
 * paused; nothing was queued. */
int foreground_run(const struct engine_options *options, const char *home, const json_t *submit, struct error *err);

#endif
