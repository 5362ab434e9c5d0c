/* A turn of the scheduler: everything that became known in one turn of the loop is one transaction, the ends and what
 * starts in their place. Its commit comes before anything that follows from it: before a worker is let go, and before
 * anybody is told. Killed before it, the process leaves the ends in the run directories and the next runs queued, their
 * held workers ending by themselves; killed behind it, all is known. */
#include <stdio.h>

#include "harness/queue/scheduler_internal.h"

enum { BUSY_GPU_MS = 5000 };

/* ------------------------------------------------------------------------------------------------------ starts */

/* Start what fits in one pool. False: look no further now. */
static bool fill_pool(struct scheduler *s, int pool)
{
    struct executor *ex = s->o.executors[0];
    int widest = ex->widest(ex, pool), passed = 0;
    while (!s->trouble[0] && ex->room(ex, pool) > 0) {
        struct error err = {0};
        struct start start; /* large: filled in as far as it is used */
        bool found = false;
        if (store_queue_next(s->o.store, s->o.sweep, pool, widest, scheduler_clock(s), passed, &start.runs[0], &found,
                             &err)) {
            scheduler_fault(s, store_trouble(s->o.store), err.text);
            return false;
        }
        if (!found)
            return true;
        if (!scheduler_open_turn(s))
            return false;
        enum taking taking = scheduler_start(s, ex, &start);
        if (taking == TAKING_NEVER)
            return false;
        if (taking == TAKING_WAITS)
            return true;
        passed += taking == TAKING_PASSED;
    }
    return true;
}

static void fill(struct scheduler *s)
{
    struct executor *ex = s->o.executors[0];
    if (scheduler_room(s) < s->o.min_free) {
        scheduler_fault(s, STORE_FULL, "the disk of the home is full: no attempt is started");
        return;
    }
    ex->refresh(ex);
    s->short_of[0] = '\0';
    if (fill_pool(s, DEVICE_CPU))
        fill_pool(s, DEVICE_CUDA);
}

/* Come back when a delay is over that was not yet at `now`, before the queue was looked at: one that ended since is
 * among them. With nothing free, an end will bring us here again. */
static void look_again(struct scheduler *s, int64_t now)
{
    struct executor *ex = s->o.executors[0];
    int64_t when = 0;
    uint64_t wait = scheduler_held(s);
    if (!wait && ex->room(ex, DEVICE_CPU) + ex->room(ex, DEVICE_CUDA) > 0 &&
        store_queue_delay(s->o.store, now, &when, NULL) == STATUS_OK && when > now)
        wait = (uint64_t)((when - now) / 1000 + 1);
    if (!wait && ex->widest(ex, DEVICE_CUDA) > 0)
        wait = BUSY_GPU_MS; /* it may have become free */
    if (wait)
        uv_timer_start(&s->delay_timer, scheduler_on_turn, wait, 0);
}

/* ------------------------------------------------------------------------------------------------------ ends */

/* The slot of a crew whose ends are all recorded: what starts in this turn may have it. */
static void free_slot(const struct scheduler *s, struct crew *crew)
{
    int recorded = 0;
    for (const struct job *job = s->jobs; job; job = job->next)
        recorded += job->crew == crew && job->verdict;
    if (recorded == crew->live)
        scheduler_give(crew);
}

static bool record_ends(struct scheduler *s, bool *plain)
{
    struct error err = {0};
    for (struct job *job = s->jobs; job; job = job->next) {
        if (!job->ended || job->verdict)
            continue;
        if (!scheduler_open_turn(s) || scheduler_record_end(s, job, plain, &err))
            return false;
        if (*plain)
            free_slot(s, job->crew);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ the turn */

bool scheduler_open_turn(struct scheduler *s)
{
    struct error err = {0};
    if (!s->turning && store_group_begin(s->o.store, &err))
        scheduler_fault(s, store_trouble(s->o.store), err.text);
    else
        s->turning = true;
    return s->turning;
}

static void conclude_all(struct scheduler *s)
{
    for (struct job *job = s->jobs, *next; job; job = next) {
        next = job->next;
        if (job->verdict)
            scheduler_conclude(s, job);
    }
}

/* Nothing of the turn is in the store. Each end is tried by itself, so that one that cannot be recorded holds up no
 * other; in trouble the store is tried again later. */
static void take_back(struct scheduler *s, const struct error *why)
{
    for (struct job *job = s->jobs; job; job = job->next)
        scheduler_unrecord(job);
    scheduler_abandon(s);
    if (why->text[0])
        scheduler_fault(s, store_trouble(s->o.store), why->text);
    for (struct job *job = s->jobs, *next; job && !s->trouble[0]; job = next) {
        next = job->next;
        if (job->ended)
            scheduler_settle(s, job);
    }
}

static void close_turn(struct scheduler *s)
{
    struct error err = {0};
    if (!s->turning)
        return;
    s->turning = false;
    if (store_group_end(s->o.store, true, &err)) {
        take_back(s, &err);
        return;
    }
    scheduler_let_go(s);
    conclude_all(s);
    scheduler_tell_starts(s);
    scheduler_changed(s);
}

void scheduler_on_turn(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    const int64_t now = scheduler_clock(s);
    bool plain = true, fills = false;
    if (s->trouble[0])
        return; /* its timer records ends, and goes on */
    /* An end that concerns more than its run (the queue is held, a device set aside, others are cancelled) has its
     * consequences before anything starts. */
    if (record_ends(s, &plain) && plain && !s->draining && !scheduler_held(s)) {
        fills = true;
        fill(s);
        record_ends(s, &plain); /* those that could not be started */
    }
    close_turn(s);
    if (s->draining || s->trouble[0])
        return;
    if (!plain)
        scheduler_kick(s);
    else if (fills || scheduler_held(s))
        look_again(s, now);
    if (s->jobs && !uv_is_active((uv_handle_t *)&s->journal_timer))
        uv_timer_again(&s->journal_timer);
}

void scheduler_kick(struct scheduler *s)
{
    uv_timer_start(&s->fill_timer, scheduler_on_turn, 0, 0);
}
