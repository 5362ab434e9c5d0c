/* Sweeps that clients submit, on their way to the queue: what a client names (a corpus of any size, on any file system)
 * is opened and read on libuv's threads, never on the loop, which answers others meanwhile. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_SUBMIT_H
#define TAPER_HARNESS_DAEMON_DAEMON_SUBMIT_H

#include <stdbool.h>

#include <jansson.h>
#include <uv.h>

#include "core/base/error.h"
#include "harness/daemon/daemon_server.h"
#include "harness/daemon/submit.h"

enum { SUBMISSIONS_MOST = 64 }; /* at a time, of all clients: each holds a sweep's text */

struct submission;

/* A sweep is ready to be queued, or `err` says why not (NULL when it is). The job is the callee's, the request
 * borrowed. Not called for a client that has gone. */
typedef void submission_ready(void *arg, struct server_client *client, json_t *request, struct submit_job *job,
                              const struct error *err);

struct submissions {
    uv_loop_t *loop;
    struct submission *first;
    int count;
    submission_ready *ready;
    void *arg;
};

/* Start libuv's threads now: where they cannot be had, the daemon ends before it serves anybody. */
void submissions_init(struct submissions *s, uv_loop_t *loop, submission_ready *ready, void *arg);

/* Make a request's sweep ready. An error: nothing was begun, and ready will not be called. */
int submissions_begin(struct submissions *s, struct server_client *client, json_t *request, struct error *err);

void submissions_gone(struct submissions *s, const struct server_client *client);

/* Give up what has not begun. False when something is being read yet, which cannot be interrupted: the loop must not be
 * closed then. */
bool submissions_end(struct submissions *s);

#endif
