/* What holds everything up, and how it goes on: a store that cannot be written, and a machine that has no means to
 * start a worker. Each is told once, and again when the reason changes. */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "harness/queue/scheduler_internal.h"

enum { HOLD_FIRST_MS = 500, HOLD_MOST_MS = 60000 };

uint64_t scheduler_room(const struct scheduler *s)
{
    struct statvfs fs;
    if (statvfs(s->o.home->dir, &fs) != 0)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* ------------------------------------------------------------------------------------------------------ the store */

static void on_trouble_timer(uv_timer_t *timer);

static void try_again_later(struct scheduler *s)
{
    uv_timer_start(&s->trouble_timer, on_trouble_timer, SCHEDULER_TROUBLE_MS, 0);
}

void scheduler_fault(struct scheduler *s, enum store_trouble kind, const char *text)
{
    /* What it was about to do differs from try to try; why it could not is what people want to know. */
    bool told = s->told && s->trouble_kind == kind;
    snprintf(s->trouble, sizeof s->trouble, "%.500s", text);
    s->trouble_kind = kind;
    if (!told) {
        if (!s->told)
            s->trouble_since = scheduler_clock(s);
        s->told = true;
        scheduler_log(s, "waiting: %s", s->trouble);
        store_set_patience(s->o.store, 20); /* the loop has others to serve meanwhile */
    }
    try_again_later(s);
}

static void clear(struct scheduler *s, const char *what)
{
    char text[640];
    double seconds = 1e-6 * (double)(scheduler_clock(s) - s->trouble_since);
    snprintf(text, sizeof text, "after %.1f s: %s", seconds, what);
    s->told = false;
    store_set_patience(s->o.store, 250);
    scheduler_log(s, "going on %s", text);
    if (s->trouble_kind == STORE_FULL)
        store_event(s->o.store, NULL, NULL, 0, "disk-full", text, NULL);
}

/* Ends are still recorded if that is possible: they may be what frees the slots and the space. */
static bool settle_ended(struct scheduler *s)
{
    bool fine = true;
    for (struct job *job = s->jobs, *next; job && fine; job = next) {
        next = job->next;
        if (job->ended)
            fine = scheduler_settle(s, job);
    }
    return fine;
}

static void on_trouble_timer(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    if (s->trouble_kind == STORE_FULL && scheduler_room(s) < s->o.min_free) {
        settle_ended(s);
        try_again_later(s);
        return;
    }
    char before[sizeof s->trouble];
    memcpy(before, s->trouble, sizeof before);
    s->trouble[0] = '\0'; /* set again by the first call that fails */
    bool fine = scheduler_intake(s) && settle_ended(s);
    if (s->trouble[0] || !fine) {
        try_again_later(s);
        return;
    }
    clear(s, before);
    scheduler_changed(s);
    scheduler_kick(s);
}

/* ------------------------------------------------------------------------------------------------------ the place */

void scheduler_hold(struct scheduler *s, enum outcome why, const char *text)
{
    uint64_t wait = HOLD_FIRST_MS;
    for (int i = 0; i < s->holds && wait < HOLD_MOST_MS; i++)
        wait *= 2;
    s->holds++;
    if (!s->held[0])
        s->held_since = scheduler_clock(s);
    bool told = s->held[0] && s->held_why == why; /* the text names a run, and each tries in its turn */
    snprintf(s->held, sizeof s->held, "%s", text);
    s->held_why = why;
    if (!told)
        scheduler_log(s, "waiting: %s", s->held);
    s->held_until = uv_now(s->o.loop) + (wait < HOLD_MOST_MS ? wait : HOLD_MOST_MS);
    scheduler_changed(s);
}

uint64_t scheduler_held(const struct scheduler *s)
{
    uint64_t now = uv_now(s->o.loop);
    return s->held[0] && s->held_until > now ? s->held_until - now : 0;
}

void scheduler_unhold(struct scheduler *s)
{
    char text[640];
    if (!s->held[0])
        return;
    snprintf(text, sizeof text, "after %.1f s: %s", 1e-6 * (double)(scheduler_clock(s) - s->held_since), s->held);
    s->held[0] = '\0';
    scheduler_log(s, "going on %s", text);
    store_event(s->o.store, NULL, NULL, 0, "held", text, NULL);
}

const char *scheduler_trouble(const struct scheduler *s)
{
    return s->trouble[0] ? s->trouble : s->held;
}
