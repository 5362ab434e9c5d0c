#include "harness/daemon/database_sync.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/memory.h"

/* A failure is not told: the next commit that has to wait for the disk meets it too. */
static void on_synced(uv_fs_t *request)
{
    struct database_sync *d = request->data;
    uv_fs_req_cleanup(request);
    d->busy = false;
}

static void on_timer(uv_timer_t *timer)
{
    struct database_sync *d = timer->data;
    const int64_t changes = store_changes(d->store);
    if (d->busy || changes == d->changes)
        return;
    if (d->fd < 0) /* for good: SQLite keeps the file while a writer has the database open */
        d->fd = open(d->path, O_RDONLY | O_CLOEXEC);
    if (d->fd < 0)
        return;
    d->request.data = d;
    if (uv_fs_fdatasync(timer->loop, &d->request, d->fd, on_synced) == 0) {
        d->busy = true;
        d->changes = changes;
    }
}

void database_sync_begin(struct database_sync *d, uv_loop_t *loop, const struct store *store, const char *database)
{
    *d = (struct database_sync){.store = store, .path = memory_format("%s-wal", database), .fd = -1};
    uv_timer_init(loop, &d->timer);
    d->timer.data = d;
    uv_unref((uv_handle_t *)&d->timer);
    uv_timer_start(&d->timer, on_timer, DATABASE_SYNC_MS, DATABASE_SYNC_MS);
}

void database_sync_close(struct database_sync *d)
{
    uv_close((uv_handle_t *)&d->timer, NULL);
}

void database_sync_end(struct database_sync *d)
{
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
}
