/* What can be asked of a home's queue, by name; by the daemon for its clients, and by the verbs themselves when no
 * daemon runs (they hold the lock then, and scheduler is NULL). docs/formats.md lists requests and replies. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_REQUESTS_H
#define TAPER_HARNESS_DAEMON_DAEMON_REQUESTS_H

#include <stdbool.h>

#include <jansson.h>

#include "core/base/error.h"
#include "harness/daemon/submit.h"
#include "harness/queue/scheduler.h"

struct requests {
    const struct home *home;
    struct store *store;
    struct scheduler *scheduler; /* NULL: none */
    struct slots *slots;         /* NULL: none */
    int64_t started;             /* UTC us */
};

/* Whether every field that a request knows has its type: STATUS_BAD_INPUT names the one that has not. A field of the
 * wrong type is no field that is missing: "pause" of something that is no name must not pause everything. */
int requests_check(const char *what, const json_t *request, struct error *err);

/* Carry out `what`, which is checked first. STATUS_OK and *body (a new reference), or an error; nothing was changed
 * then. */
int requests_handle(struct requests *r, const char *what, const json_t *request, json_t **body, struct error *err);

/* The second part of "submit", after submit_job_prepare: the same reply. */
int requests_submit(struct requests *r, struct submit_job *job, json_t **body, struct error *err);

/* What a word means: a sweep of that name, else a run by the start of its id. *is_sweep tells; id gets the run's. */
int requests_resolve(struct store *store, const char *word, bool *is_sweep, struct store_run *run, struct error *err);

/* Whether a sweep (or a run) has nothing queued or live, and whether all of it is done. */
int requests_finished(struct store *store, const char *word, bool *finished, bool *all_done, struct error *err);

/* Whether nothing of a sweep, or of a run, that is still queued can ever start, and nothing of it is live: text says
 * why then, else it is "". */
int requests_stuck(struct requests *r, const char *word, char *text, size_t room, struct error *err);

#endif
