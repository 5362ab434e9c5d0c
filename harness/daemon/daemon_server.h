/* The daemon's side of the socket: clients, lines in, replies out.
 *
 * A client may vanish, send rubbish, send without end or never read: it costs no more than its own buffers, which are
 * bounded (PROTOCOL_LINE_MOST in, SERVER_UNSENT_MOST out, SERVER_CLIENTS_MOST clients). Only processes of the daemon's
 * own user, or root, are served; another one is told so. All on the loop's thread. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_SERVER_H
#define TAPER_HARNESS_DAEMON_DAEMON_SERVER_H

#include <jansson.h>
#include <uv.h>

#include "core/base/error.h"

enum {
    SERVER_CLIENTS_MOST = 256,
    SERVER_DESCRIPTORS_KEPT = 16, /* for workers, files and the socket itself: a client more is turned away */
    SERVER_UNSENT_MOST = 16 << 20,
    SERVER_UNSENT_PAUSE = 1 << 20,
    SERVER_UNHEARD_MOST = 64 << 20, /* taken from a client that was refused for good, before it is cut off */
};

struct server;
struct server_client;

/* A request came. The handler answers with server_reply or server_refuse, at once or later; `request` is borrowed. */
typedef void server_request(void *arg, struct server_client *client, json_t *request);
/* The client is gone: answer it no more. */
typedef void server_gone(void *arg, struct server_client *client);

/* Serve on a listening socket (owned from here on, also on failure). */
int server_create(struct server **out, uv_loop_t *loop, int listening, server_request *on_request, server_gone *on_gone,
                  void *arg, struct error *err);

/* Close everything; the loop must run once more. NULL is fine. */
void server_destroy(struct server *s);

/* Answer a request; body is taken and may be NULL. */
void server_reply(struct server_client *client, const json_t *request, json_t *body);
void server_refuse(struct server_client *client, const json_t *request, const struct error *err);

#endif
