#include "harness/daemon/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/daemon/daemon_socket.h"
#include "harness/daemon/protocol.h"

struct client {
    int fd;
    struct protocol_reader reader;
    int (*tick)(void *arg);
    void *arg;
};

int client_open(struct client **out, const struct home *home, struct error *err)
{
    int absent, fd = daemon_socket_connect(home, &absent, err);
    *out = NULL;
    if (fd < 0 && absent) {
        if (err)
            *err = (struct error){0};
        return STATUS_OK;
    }
    if (fd < 0)
        return STATUS_FAILED;
    *out = memory_alloc(1, sizeof **out);
    (*out)->fd = fd;
    return STATUS_OK;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    close(c->fd);
    protocol_fini(&c->reader);
    free(c);
}

static int send_all(int fd, const char *bytes, size_t size, struct error *err)
{
    while (size) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_errno(err, STATUS_FAILED, errno, "the daemon does not listen");
        bytes += n;
        size -= (size_t)n;
    }
    return STATUS_OK;
}

void client_watch(struct client *c, int (*tick)(void *arg), void *arg)
{
    c->tick = tick;
    c->arg = arg;
}

/* False: the one who watches would wait no longer. */
static bool wait_for_bytes(const struct client *c)
{
    struct pollfd ready = {c->fd, POLLIN, 0};
    for (int ms; c->tick;) {
        if ((ms = c->tick(c->arg)) < 0)
            return false;
        if (poll(&ready, 1, ms) > 0)
            break;
    }
    return true;
}

int client_ask(struct client *c, const char *what, json_t *body, json_t **reply, struct error *err)
{
    char buffer[65536], *text = protocol_request(what, body);
    const char *line;
    size_t size;
    struct error unsent = {0};
    int status = send_all(c->fd, text, strlen(text), &unsent);
    free(text);
    *reply = NULL;
    if (status) { /* it may have said why it does not listen */
        ssize_t n = recv(c->fd, buffer, sizeof buffer, 0);
        status = n > 0 ? protocol_feed(&c->reader, buffer, (size_t)n, err) : unsent.status;
        if (n <= 0)
            return error_set(err, status, "%s", unsent.text);
    }
    while (!status && !protocol_line(&c->reader, &line, &size)) {
        if (!wait_for_bytes(c))
            return error_set(err, STATUS_STOPPED, "no longer waiting");
        ssize_t n = recv(c->fd, buffer, sizeof buffer, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, STATUS_FAILED, errno, "the daemon went away");
        if (n == 0)
            return error_set(err, STATUS_FAILED, "the daemon went away");
        status = protocol_feed(&c->reader, buffer, (size_t)n, err);
    }
    return status ? status : protocol_parse_reply(line, size, reply, err);
}

static int ask_here(const struct home *home, const char *what, const json_t *body, json_t **reply, struct error *err)
{
    struct store *store = NULL;
    int status = store_open(&store, home, STORE_WRITE, err);
    if (status)
        return status;
    store_set_patience(store, 10000);
    struct requests requests = {.home = home, .store = store};
    status = requests_handle(&requests, what, body, reply, err);
    store_close(store);
    return status;
}

int client_ask_home(const struct home *home, const char *what, json_t *body, json_t **reply, bool *by_daemon,
                    struct error *err)
{
    struct client *c = NULL;
    int status = client_open(&c, home, err);
    if (by_daemon)
        *by_daemon = c != NULL;
    if (status) {
        json_decref(body);
        return status;
    }
    if (c) {
        status = client_ask(c, what, body, reply, err);
        client_close(c);
        return status;
    }
    json_t *request = body ? body : json_object();
    status = ask_here(home, what, request, reply, err);
    json_decref(request);
    return status;
}
