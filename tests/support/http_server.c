#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/memory.h"

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* Read up to the empty line that ends a request; false when the client leaves before. */
static int read_request(int client, char *text, size_t room)
{
    size_t used = 0;
    while (used + 1 < room) {
        ssize_t got = read(client, text + used, room - 1 - used);
        if (got <= 0)
            return 0;
        used += (size_t)got;
        text[used] = '\0';
        if (strstr(text, "\r\n\r\n"))
            return 1;
    }
    return 0;
}

static void send_all(int client, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(client, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += sent;
        size -= (size_t)sent;
    }
}

static long long range_begin(const char *request)
{
    static const char key[] = "range: bytes=";
    const char *found = strcasestr(request, key);
    return found ? strtoll(found + sizeof key - 1, NULL, 10) : 0;
}

/* The modes that do not serve the file. */
static bool answer_otherwise(int client, int mode)
{
    static const char page[] = "<html><head><title>Sign in</title></head>Please sign in.</html>\n";
    char head[512], piece[8192];
    int n;
    if (mode == HTTP_MISSING)
        n = snprintf(head, sizeof head, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else if (mode == HTTP_PORTAL || mode == HTTP_SLY)
        n = snprintf(head, sizeof head,
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                     mode == HTTP_SLY ? "text/plain" : "text/html; charset=utf-8", sizeof page - 1, page);
    else if (mode == HTTP_ASIDE)
        n = snprintf(
            head, sizeof head,
            "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else if (mode == HTTP_ENDLESS)
        n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n");
    else
        return false;
    send_all(client, head, (size_t)n);
    memset(piece, 'x', sizeof piece);
    while (mode == HTTP_ENDLESS && send(client, piece, sizeof piece, MSG_NOSIGNAL) > 0)
        ;
    return true;
}

static void answer(int client, struct http_control *control, const unsigned char *bytes, size_t size)
{
    char request[4096], head[512];
    if (!read_request(client, request, sizeof request))
        return;
    int mode = control->mode;
    long long begin = range_begin(request);
    control->last_offset = begin;
    control->requests++;
    int n;
    size_t body = 0;
    if (answer_otherwise(client, mode))
        return;
    if (begin > 0 && mode != HTTP_NO_RANGES && (size_t)begin >= size) {
        char told[64] = "";
        if (mode != HTTP_MUTE_416)
            snprintf(told, sizeof told, "Content-Range: bytes */%zu\r\n", size);
        n = snprintf(head, sizeof head,
                     "HTTP/1.1 416 Range Not Satisfiable\r\n%sContent-Length: 0\r\nConnection: close\r\n\r\n", told);
    } else if (begin > 0 && mode != HTTP_NO_RANGES) {
        body = size - (size_t)begin;
        n = snprintf(head, sizeof head,
                     "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %lld-%zu/%zu\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n",
                     begin, size - 1, size, body);
    } else {
        begin = 0;
        body = size;
        n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", body);
    }
    send_all(client, head, (size_t)n);
    if ((mode == HTTP_BREAK || mode == HTTP_STALL) && body > control->after)
        body = control->after;
    send_all(client, bytes + begin, body);
    if (mode == HTTP_STALL)
        while (read(client, request, sizeof request) > 0)
            ;
}

static void serve(int listener, struct http_control *control, const unsigned char *bytes, size_t size)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0)
            _exit(1);
        answer(client, control, bytes, size);
        shutdown(client, SHUT_WR);
        char rest[256];
        while (read(client, rest, sizeof rest) > 0) /* closing with bytes unread would reset the connection */
            ;
        close(client);
    }
}

void http_server_start(struct http_server *s, const unsigned char *bytes, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0)
        give_up("cannot listen on loopback");
    s->control = mmap(NULL, sizeof *s->control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->control == MAP_FAILED)
        give_up("mmap");
    s->base = memory_format("http://127.0.0.1:%d", ntohs(at.sin_port));
    s->pid = fork();
    if (s->pid < 0)
        give_up("fork");
    if (s->pid == 0)
        serve(listener, s->control, bytes, size);
    close(listener);
}

void http_server_stop(struct http_server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    munmap(s->control, sizeof *s->control);
    free(s->base);
}
