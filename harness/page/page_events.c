#include "harness/page/page_events.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/memory.h"

/* BREATH_S: a line now and then, by which both sides see that the other is still there. */
enum { LOOK_MS = 1000, BREATH_S = 15, BLOCK = 512, VERSION = 160 };

struct page_events {
    const struct http_library *http;
    struct page_readers *readers;
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool watching, ending;
    int listeners;
    int64_t number;        /* of the changes seen; from 1 */
    char version[VERSION]; /* the last one */
};

struct listener {
    struct page_events *events;
    int64_t seen;
};

static struct timespec later(int milliseconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += milliseconds / 1000;
    t.tv_nsec += milliseconds % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_nsec -= 1000000000L;
        t.tv_sec++;
    }
    return t;
}

/* The version as text; "" where it cannot be read now. */
static void look(struct page_events *e, char to[VERSION])
{
    struct page_reader *r = NULL;
    char *text = NULL;
    if (page_readers_take(e->readers, &r, NULL) == STATUS_OK)
        page_reader_stamp(r, &text, NULL);
    page_readers_give(e->readers, r);
    snprintf(to, VERSION, "%s", text ? text : "");
    free(text);
}

static void *watch(void *events)
{
    struct page_events *e = events;
    char now[VERSION];
    pthread_mutex_lock(&e->lock);
    while (!e->ending) {
        if (e->listeners > 0) {
            pthread_mutex_unlock(&e->lock);
            look(e, now);
            pthread_mutex_lock(&e->lock);
            if (now[0] && strcmp(now, e->version) != 0) {
                memcpy(e->version, now, sizeof now);
                e->number++;
                pthread_cond_broadcast(&e->changed);
            }
        }
        struct timespec until = later(LOOK_MS);
        int code = 0;
        while (!e->ending && code == 0)
            code = pthread_cond_timedwait(&e->changed, &e->lock, &until);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

int page_events_create(struct page_events **out, const struct http_library *http, struct page_readers *readers,
                       struct error *err)
{
    struct page_events *e = memory_alloc(1, sizeof *e);
    pthread_condattr_t steady;
    sigset_t all, before;
    e->http = http;
    e->readers = readers;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &steady);
    pthread_condattr_destroy(&steady);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&e->watcher, NULL, watch, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    e->watching = code == 0;
    *out = e;
    return code == 0 ? STATUS_OK : error_errno(err, STATUS_FAILED, code, "--http: cannot start a thread");
}

void page_events_end(struct page_events *e)
{
    pthread_mutex_lock(&e->lock);
    e->ending = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void page_events_destroy(struct page_events *e)
{
    if (!e)
        return;
    page_events_end(e);
    if (e->watching)
        pthread_join(e->watcher, NULL);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* A connection has a thread of its own, which may wait here. */
static ssize_t next_event(void *of, uint64_t position, char *to, size_t room)
{
    struct listener *l = of;
    struct page_events *e = l->events;
    struct timespec until = later(BREATH_S * 1000);
    int code = 0, length;
    (void)position;
    pthread_mutex_lock(&e->lock);
    while (!e->ending && e->number == l->seen && code == 0)
        code = pthread_cond_timedwait(&e->changed, &e->lock, &until);
    if (e->ending)
        length = -1;
    else if (e->number == l->seen)
        length = snprintf(to, room, ": still here\n\n");
    else
        length = snprintf(to, room, "event: change\ndata: {\"version\": \"%s\"}\n\n", e->version);
    l->seen = e->number;
    pthread_mutex_unlock(&e->lock);
    return length < 0 || (size_t)length >= room ? MHD_CONTENT_READER_END_OF_STREAM : length;
}

static void gone(void *of)
{
    struct listener *l = of;
    pthread_mutex_lock(&l->events->lock);
    l->events->listeners--;
    pthread_mutex_unlock(&l->events->lock);
    free(l);
}

struct MHD_Response *page_events_listen(struct page_events *e)
{
    pthread_mutex_lock(&e->lock);
    bool room = e->listeners < PAGE_LISTENERS && !e->ending;
    e->listeners += room;
    pthread_mutex_unlock(&e->lock);
    if (!room)
        return NULL;
    struct listener *l = memory_alloc(1, sizeof *l);
    *l = (struct listener){e, 0};
    return e->http->from_callback(MHD_SIZE_UNKNOWN, BLOCK, next_event, l, gone);
}
