#include "harness/daemon/daemon_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/daemon/protocol.h"

struct server_client {
    struct server *server;
    struct server_client *next;
    uv_pipe_t pipe;
    struct protocol_reader reader;
    bool paused;     /* not read from, until it has read what it was sent */
    bool last_words; /* nothing it sends is listened to; close when it does, or once everything is sent */
    bool closing;
    size_t unheard; /* bytes that came after the last words */
    uv_shutdown_t shutdown;
    bool busy; /* inside take_lines */
};

struct server {
    uv_loop_t *loop;
    uv_pipe_t listener;
    struct server_client *clients;
    int count;
    server_request *on_request;
    server_gone *on_gone;
    void *arg;
    char buffer[65536];
    bool closing;
};

struct write_job {
    uv_write_t request;
    char *text;
};

static void server_release(struct server *s)
{
    if (s->closing && !s->clients && !uv_is_active((uv_handle_t *)&s->listener) && !s->listener.data)
        free(s);
}

static void on_client_closed(uv_handle_t *handle)
{
    struct server_client *client = handle->data;
    struct server *s = client->server;
    struct server_client **at = &s->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    s->count--;
    protocol_fini(&client->reader);
    free(client);
    server_release(s);
}

static void client_close(struct server_client *client)
{
    if (client->closing)
        return;
    client->closing = true;
    client->server->on_gone(client->server->arg, client);
    uv_close((uv_handle_t *)&client->pipe, on_client_closed);
}

static void take_lines(struct server_client *client);

static void on_written(uv_write_t *request, int status)
{
    struct write_job *job = request->data;
    struct server_client *client = job->request.handle->data;
    free(job->text);
    free(job);
    if (status < 0) {
        client_close(client);
        return;
    }
    size_t unsent = uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe);
    if (!client->last_words && client->paused && unsent < SERVER_UNSENT_PAUSE)
        take_lines(client);
}

static void send_line(struct server_client *client, char *line)
{
    if (client->closing) {
        free(line);
        return;
    }
    struct write_job *job = memory_alloc(1, sizeof *job);
    uv_buf_t buffer = uv_buf_init(line, (unsigned)strlen(line));
    job->text = line;
    job->request.data = job;
    if (uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) + buffer.len > SERVER_UNSENT_MOST ||
        uv_write(&job->request, (uv_stream_t *)&client->pipe, &buffer, 1, on_written) != 0) {
        free(line);
        free(job);
        client_close(client);
    }
}

void server_reply(struct server_client *client, const json_t *request, json_t *body)
{
    send_line(client, protocol_reply(request, body));
}

void server_refuse(struct server_client *client, const json_t *request, const struct error *err)
{
    send_line(client, protocol_error(request, err));
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    struct server_client *client = handle->data;
    (void)size;
    *buffer = uv_buf_init(client->server->buffer, sizeof client->server->buffer);
}

static void on_unheard(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct server_client *client = stream->data;
    (void)buffer;
    client->unheard += n > 0 ? (size_t)n : 0;
    if (n < 0 || client->unheard > SERVER_UNHEARD_MOST)
        client_close(client);
}

static void on_said(uv_shutdown_t *request, int status)
{
    if (status < 0 && status != UV_ECANCELED)
        client_close(request->data);
}

/* Refuse, and hear no more. What it still sends is taken and dropped for a while: to a connection that is closed with
 * something unread in it, its sender finds no reply but an error of the system. */
static void end_with(struct server_client *client, const struct error *err)
{
    uv_read_stop((uv_stream_t *)&client->pipe);
    client->last_words = true;
    server_refuse(client, NULL, err);
    if (client->closing)
        return;
    client->shutdown.data = client;
    if (uv_shutdown(&client->shutdown, (uv_stream_t *)&client->pipe, on_said) != 0 ||
        uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_unheard) != 0)
        client_close(client);
}

static void take_line(struct server_client *client, const char *line, size_t size)
{
    json_t *request = NULL;
    struct error err = {0};
    if (protocol_parse(line, size, &request, &err))
        server_refuse(client, request, &err);
    else
        client->server->on_request(client->server->arg, client, request);
    json_decref(request);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

/* Handle the lines that are there, as long as the client reads what it is sent. */
static void take_lines(struct server_client *client)
{
    const char *line;
    size_t size;
    if (client->busy)
        return;
    client->busy = true;
    for (;;) {
        bool full = uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) >= SERVER_UNSENT_PAUSE;
        if (client->closing || client->last_words)
            break;
        if (full) {
            client->paused = true;
            uv_read_stop((uv_stream_t *)&client->pipe);
            break;
        }
        if (!protocol_line(&client->reader, &line, &size)) {
            if (client->paused) {
                client->paused = false;
                uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
            }
            break;
        }
        if (size)
            take_line(client, line, size);
    }
    client->busy = false;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct server_client *client = stream->data;
    struct error err = {0};
    if (n == 0)
        return;
    if (n < 0) {
        client_close(client);
        return;
    }
    if (protocol_feed(&client->reader, buffer->base, (size_t)n, &err)) {
        end_with(client, &err);
        return;
    }
    take_lines(client);
}

static int check_peer(struct server_client *client, struct error *err)
{
    uv_os_fd_t fd;
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    if (uv_fileno((uv_handle_t *)&client->pipe, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return error_set(err, STATUS_FAILED, "the daemon cannot tell who asks");
    if (peer.uid != geteuid() && peer.uid != 0)
        return error_set(err, STATUS_FAILED, "this daemon serves user %u and root, not user %u", (unsigned)geteuid(),
                         (unsigned)peer.uid);
    return STATUS_OK;
}

/* Descriptors that are left above this client's. The lowest free number is given out, so that a high one means that
 * nearly all are taken. Workers are more to us than one client more. */
static rlim_t descriptors_left(const struct server_client *client)
{
    uv_os_fd_t fd;
    struct rlimit limit;
    if (uv_fileno((const uv_handle_t *)&client->pipe, &fd) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return RLIM_INFINITY;
    return (rlim_t)fd < limit.rlim_cur ? limit.rlim_cur - (rlim_t)fd : 0;
}

static int count_served(const struct server *s)
{
    int served = 0;
    for (const struct server_client *client = s->clients; client; client = client->next)
        served += !client->last_words;
    return served;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *s = listener->data;
    if (status < 0 || s->closing)
        return;
    struct server_client *client = memory_alloc(1, sizeof *client);
    client->server = s;
    uv_pipe_init(s->loop, &client->pipe, 0);
    client->pipe.data = client;
    client->next = s->clients;
    s->clients = client;
    s->count++;
    struct error err = {0};
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) != 0)
        client_close(client);
    else if (s->count > 2 * SERVER_CLIENTS_MOST || descriptors_left(client) <= SERVER_DESCRIPTORS_KEPT / 2)
        client_close(client); /* those that are told so are too many, too */
    else if (descriptors_left(client) <= SERVER_DESCRIPTORS_KEPT)
        error_set(&err, STATUS_FAILED,
                  "the daemon has no file descriptor to spare for one more client (ulimit -n); ask again later");
    else if (count_served(s) > SERVER_CLIENTS_MOST)
        error_set(&err, STATUS_FAILED, "too many clients (%d)", SERVER_CLIENTS_MOST);
    else
        check_peer(client, &err);
    if (err.status)
        end_with(client, &err);
    else if (!client->closing)
        uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
}

int server_create(struct server **out, uv_loop_t *loop, int listening, server_request *on_request, server_gone *on_gone,
                  void *arg, struct error *err)
{
    struct server *s = memory_alloc(1, sizeof *s);
    s->loop = loop;
    s->on_request = on_request;
    s->on_gone = on_gone;
    s->arg = arg;
    uv_pipe_init(loop, &s->listener, 0);
    s->listener.data = s;
    int code = uv_pipe_open(&s->listener, listening);
    if (code)
        close(listening);
    else
        code = uv_listen((uv_stream_t *)&s->listener, 128, on_connection);
    if (code) {
        server_destroy(s);
        return error_set(err, STATUS_FAILED, "cannot serve the socket: %s", uv_strerror(code));
    }
    *out = s;
    return STATUS_OK;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct server *s = handle->data;
    handle->data = NULL;
    server_release(s);
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    s->closing = true;
    for (struct server_client *client = s->clients; client; client = client->next)
        client_close(client);
    uv_close((uv_handle_t *)&s->listener, on_listener_closed);
}
