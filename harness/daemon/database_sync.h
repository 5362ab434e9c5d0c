/* What was written to a home's database reaches the disk within seconds.
 *
 * Most changes are committed without waiting for the disk (store.h), and SQLite's log would be there only when it is
 * next written back into the database: after a power cut minutes of attempts would be missing. So the log is synced
 * every DATABASE_SYNC_MS in which something was written, on another thread: nothing waits for it. */
#ifndef TAPER_HARNESS_DAEMON_DATABASE_SYNC_H
#define TAPER_HARNESS_DAEMON_DATABASE_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "harness/store/store.h"

enum { DATABASE_SYNC_MS = 2000 };

struct database_sync {
    uv_timer_t timer;
    uv_fs_t request;
    const struct store *store;
    char *path;      /* of the log */
    int fd;          /* of it; -1: not opened yet */
    bool busy;       /* a sync is on its way */
    int64_t changes; /* of the store, when the last one began */
};

/* d must not be moved until it has ended. It keeps no loop alive. */
void database_sync_begin(struct database_sync *d, uv_loop_t *loop, const struct store *store, const char *database);

void database_sync_close(struct database_sync *d); /* begin to end it; the loop then has to run */
void database_sync_end(struct database_sync *d);   /* when it has */

#endif
