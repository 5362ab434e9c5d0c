/* Between a sweep file and the request that queues it; shared by the verbs that submit. */
#ifndef TAPER_HARNESS_DAEMON_SUBMIT_H
#define TAPER_HARNESS_DAEMON_SUBMIT_H

#include <stdio.h>

#include <jansson.h>

#include "core/base/error.h"
#include "core/data/progress.h"
#include "harness/store/store.h"

/* Check a file, reporting every fault to standard error, and have the digests of its data made, which are kept: whoever
 * asks sees how far that is, and the daemon that is asked next finds most of them made. progress may be NULL. */
int submit_check(const char *path, const struct progress *progress, struct error *err);

/* The body of a "submit" request for a file, to be read from the current directory. A new reference. */
int submit_request(const char *path, json_t **body, struct error *err);

/* A "submit" request on its way into the queue, in two parts, since the data that a sweep names may be long, or no file
 * at all: submit_job_prepare reads and hashes it and may run on any thread; submit_job_commit needs the store and reads
 * nothing. */
struct submit_job;

/* STATUS_BAD_INPUT when a field is missing. The request is copied. */
int submit_job_create(struct submit_job **out, const json_t *request, struct error *err);
int submit_job_prepare(struct submit_job *job, struct error *err);

/* Queue what was prepared; *body is the reply (a new reference). May be tried again when the store was busy. */
int submit_job_commit(struct submit_job *job, struct store *store, json_t **body, struct error *err);

/* Keep what was queued as HOME/sweeps/SWEEP.yaml (sweep_copy.h). */
int submit_job_keep(const struct submit_job *job, const struct home *home, struct error *err);

void submit_job_destroy(struct submit_job *job); /* NULL is fine */

/* The same request made without doing it: the reply says what would be. `given` is --home; where that is no home yet,
 * all is new. body is taken. */
int submit_preview(const char *given, json_t *body, json_t **reply, struct error *err);

/* What a reply says, for people: a line, and one for each thing that was asked for and not done, or done to a run that
 * was there; of a preview for each group of runs. */
void submit_print(const json_t *reply, FILE *out);

#endif
