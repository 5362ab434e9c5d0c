#include "harness/page/page_readers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/memory.h"
#include "harness/store/store_rows.h"

enum { READERS_MOST = 4, PATIENCE_S = 10 };

struct page_readers {
    const struct home *home;
    pthread_mutex_t lock;
    pthread_cond_t free;
    struct page_reader all[READERS_MOST], *idle;
};

struct page_readers *page_readers_create(const struct home *home)
{
    struct page_readers *pool = memory_alloc(1, sizeof *pool);
    pthread_condattr_t steady;
    pool->home = home;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->free, &steady);
    pthread_condattr_destroy(&steady);
    for (int i = 0; i < READERS_MOST; i++) {
        pool->all[i].next = pool->idle;
        pool->idle = &pool->all[i];
    }
    return pool;
}

static void shut(struct page_reader *r)
{
    results_fini(&r->from);
    store_close(r->store);
    *r = (struct page_reader){.next = r->next, .prepared = -1};
}

void page_readers_destroy(struct page_readers *pool)
{
    if (!pool)
        return;
    for (int i = 0; i < READERS_MOST; i++)
        shut(&pool->all[i]);
    pthread_cond_destroy(&pool->free);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static int read_version(struct page_reader *r, struct error *err)
{
    struct store_rows *rows = NULL;
    bool found = false;
    int status = store_rows_open(&rows, r->store, "the version of the data", "PRAGMA data_version", err);
    if (!status)
        status = store_rows_next(rows, &found, err);
    if (!status && found)
        r->version = store_rows_at(rows, 0).integer;
    store_rows_close(rows);
    return status;
}

/* Of a database that was made anew ('taper rebuild') the old file is still open, and would be shown for ever. */
static int make_ready(struct page_reader *r, const struct home *home, struct error *err)
{
    struct stat st;
    uint64_t inode = stat(home->database, &st) == 0 ? (uint64_t)st.st_ino : 0;
    if (r->store && r->inode != inode)
        shut(r);
    int status = STATUS_OK;
    if (!r->store) {
        status = store_open(&r->store, home, STORE_READ, err);
        if (!status)
            status = store_own_views(r->store, err);
        r->inode = inode;
        r->prepared = -1;
    }
    if (!status)
        status = read_version(r, err);
    if (status)
        shut(r);
    return status;
}

int page_readers_take(struct page_readers *pool, struct page_reader **out, struct error *err)
{
    struct timespec until;
    int code = 0;
    *out = NULL;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&pool->lock);
    while (!pool->idle && code == 0)
        code = pthread_cond_timedwait(&pool->free, &pool->lock, &until);
    struct page_reader *r = pool->idle;
    if (r)
        pool->idle = r->next;
    pthread_mutex_unlock(&pool->lock);
    if (!r)
        return error_set(err, STATUS_FAILED, "too many questions at once; ask again");
    int status = make_ready(r, pool->home, err);
    if (status)
        page_readers_give(pool, r);
    else
        *out = r;
    return status;
}

void page_readers_give(struct page_readers *pool, struct page_reader *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&pool->lock);
    r->next = pool->idle;
    pool->idle = r;
    pthread_cond_signal(&pool->free);
    pthread_mutex_unlock(&pool->lock);
}

int page_reader_prepare(struct page_reader *r, const char *sweep, const struct result_choice *choice, struct error *err)
{
    int status = STATUS_OK;
    if (r->prepared != r->version || choice || r->chosen) {
        results_fini(&r->from);
        r->prepared = -1;
        status = results_init(&r->from, r->store, choice, err);
    }
    if (!status && sweep)
        status = store_sweep_find(r->store, sweep, err);
    if (!status)
        status = results_prepare(&r->from, sweep, err);
    r->prepared = status ? -1 : r->version;
    r->chosen = choice != NULL;
    return status;
}

int page_reader_stamp(struct page_reader *r, char **stamp, struct error *err)
{
    struct result_rows rows;
    *stamp = NULL;
    int status = result_query(&rows, r->store, "the version of the data",
                              "SELECT format('%d.%d.%d.%d.%d', (SELECT max(id) FROM event), (SELECT sum(offset) FROM "
                              "journal), (SELECT max(updated) FROM sweep), (SELECT count(*) FROM run), (SELECT "
                              "count(*) FROM sweep WHERE paused))",
                              NULL, err);
    if (!status)
        *stamp = memory_string(result_text(&rows, 0, 0));
    result_rows_fini(&rows);
    return status;
}
