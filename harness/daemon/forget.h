/* Runs, sweeps and checkpoints removed for good (`taper forget`), in two parts, since the files may be many and long:
 * the request takes the rows out of the database and moves the files aside, into HOME/runs/.forgotten, which is a
 * matter of names; who asked then empties that directory, with what an earlier one left there. */
#ifndef TAPER_HARNESS_DAEMON_FORGET_H
#define TAPER_HARNESS_DAEMON_FORGET_H

#include <stdint.h>

#include <jansson.h>

#include "core/base/error.h"
#include "harness/base/home.h"
#include "harness/store/store.h"

/* A "forget" request for a sweep or a run (one is NULL); *body is the reply (a new reference). STATUS_BAD_INPUT when
 * something of it is live or needed, or has no checkpoint to spare. */
int forget_carry_out(struct store *store, const struct home *home, const char *sweep, const struct store_run *run,
                     const json_t *request, json_t **body, struct error *err);

/* The bytes on the disk of what a reply without "yes" would have removed. */
int64_t forget_size(const struct home *home, const json_t *reply);

/* Empty HOME/runs/.forgotten; *bytes is what was freed. */
int forget_empty(const struct home *home, int64_t *bytes, struct error *err);

#endif
