/* A small HTTP server on loopback, in a process of its own, for the tests of downloads: one file, ranges, faults. */
#ifndef TAPER_TESTS_SUPPORT_HTTP_SERVER_H
#define TAPER_TESTS_SUPPORT_HTTP_SERVER_H

#include <stddef.h>
#include <sys/types.h>

enum http_mode {
    HTTP_SERVE,     /* answer in full, or the range asked for */
    HTTP_BREAK,     /* close the connection after `after` bytes of each answer */
    HTTP_STALL,     /* go silent after `after` bytes, until the client is gone */
    HTTP_NO_RANGES, /* ignore ranges: always the whole file with 200 */
    HTTP_MISSING,   /* 404 */
    HTTP_MUTE_416,  /* as HTTP_SERVE, but the refusal of a range does not tell the size */
    HTTP_PORTAL,    /* whatever is asked for: 60 bytes of a page, with 200 */
    HTTP_SLY,       /* the same, called text/plain */
    HTTP_ASIDE,     /* a redirect to file:///etc/passwd */
    HTTP_ENDLESS,   /* a body of no stated size, without an end */
};

/* Shared with the server's process: change mode and after between requests; read the rest. */
struct http_control {
    volatile int mode;
    volatile size_t after;
    volatile int requests;          /* so far */
    volatile long long last_offset; /* where the last request's range began, 0 without one */
};

struct http_server {
    pid_t pid;
    char *base; /* http://127.0.0.1:PORT */
    struct http_control *control;
};

/* Serve `size` bytes at every path. Exits the test when the machine allows no server. */
void http_server_start(struct http_server *s, const unsigned char *bytes, size_t size);
void http_server_stop(struct http_server *s);

#endif
