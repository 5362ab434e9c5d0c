/* The daemon of a home: an engine (daemon_engine.h) that is also asked things over HOME/taper.sock.
 *
 * One a home: the store's lock decides. TERM and INT stop it and leave the workers running; the next daemon takes them
 * over. It may be killed at any moment. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_H
#define TAPER_HARNESS_DAEMON_DAEMON_H

#include "harness/daemon/daemon_engine.h"

struct daemon_options {
    struct engine_options engine;
    const char *home; /* --home */
    bool echo;        /* log to standard error too */
    int ready;        /* a descriptor to write a newline and its slots to, once it serves; -1: none */
    /* What it serves beside the socket, on threads of its own; begin NULL: nothing. begin: *beside is for end, *link
       (which lives until then) for whoever started the daemon, *where for its log. */
    int (*begin)(const struct home *home, const char *given, void **beside, const char **link, const char **where,
                 struct error *err);
    void (*end)(void *beside);
    const char *given; /* its option */
};

/* Serve until asked to stop. */
int daemon_run(const struct daemon_options *options, struct error *err);

#endif
