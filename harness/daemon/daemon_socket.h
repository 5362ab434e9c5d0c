/* HOME/taper.sock: bound and reached through the directory's descriptor, since an address holds 107 bytes and a home's
 * path may be longer. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_SOCKET_H
#define TAPER_HARNESS_DAEMON_DAEMON_SOCKET_H

#include "core/base/error.h"
#include "harness/base/home.h"

/* A listening socket of mode 0600, close-on-exec. A file of that name that is there already is removed: only the holder
 * of the home's lock may call this. Returns the descriptor, or -1. */
int daemon_socket_listen(const struct home *home, struct error *err);

/* A connected, blocking socket; -1 when nobody answers (*absent is set when that means that no daemon runs). */
int daemon_socket_connect(const struct home *home, int *absent, struct error *err);

#endif
