/* Asking the daemon of a home, for the verbs: one request at a time over a blocking connection. */
#ifndef TAPER_HARNESS_DAEMON_CLIENT_H
#define TAPER_HARNESS_DAEMON_CLIENT_H

#include <stdbool.h>

#include <jansson.h>

#include "core/base/error.h"
#include "harness/base/home.h"

struct client;

/* *out is NULL with STATUS_OK when no daemon runs. */
int client_open(struct client **out, const struct home *home, struct error *err);
void client_close(struct client *c); /* NULL is fine */

/* While a reply is waited for: called at once and again after as many milliseconds as it returns; -1: wait no longer,
 * which ends the asking with STATUS_STOPPED. */
void client_watch(struct client *c, int (*tick)(void *arg), void *arg);

/* Ask; body is taken. Waits for the reply for as long as it takes: when the daemon goes away, STATUS_FAILED. */
int client_ask(struct client *c, const char *what, json_t *body, json_t **reply, struct error *err);

/* Ask the home: its daemon, or when none runs do the same here, holding the home's lock. *by_daemon tells (may be
 * NULL). */
int client_ask_home(const struct home *home, const char *what, json_t *body, json_t **reply, bool *by_daemon,
                    struct error *err);

#endif
