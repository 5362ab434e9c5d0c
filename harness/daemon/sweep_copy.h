/* HOME/sweeps/SWEEP.yaml: each sweep's text as it was last submitted, kept outside the database for the day that the
 * database is lost. The first line is a comment that holds, as JSON, what the text alone does not say:
 *   # {"path": as given, "directory": that its relative paths start from}
 * Everything behind it is the text, byte for byte. */
#ifndef TAPER_HARNESS_DAEMON_SWEEP_COPY_H
#define TAPER_HARNESS_DAEMON_SWEEP_COPY_H

#include <stddef.h>

#include <jansson.h>

#include "core/base/error.h"
#include "harness/base/home.h"

/* Written whole or not at all, and only when it is not there as it should be. */
int sweep_copy_write(const struct home *home, const char *sweep, const char *text, size_t size, const char *path,
                     const char *directory, struct error *err);

/* A copy as the request that submits it again (a new reference). STATUS_BAD_INPUT when it is no copy. */
int sweep_copy_read(const char *file, json_t **request, struct error *err);

#endif
