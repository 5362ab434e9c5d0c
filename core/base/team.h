/* A standing team of threads, the engine under parallel.h.
 *
 * A run is one or more stages of items; a stage begins when the one before it is done. Every thread has a queue of
 * items, its even share; one whose queue is empty helps itself to what others have not begun. So a thread that has
 * lost its processor holds up nothing but the item it is at: what it had not begun, others do, and one that comes late
 * finds the work done. Who does an item is chance; that all of it has been done before the next stage is not.
 *
 * A thread with nothing to do spins for some microseconds, fewer where that keeps being in vain, then sleeps. Nobody
 * yields: beside a busy program that gives away a whole slice of the processor, where a sleeper is woken into its own.
 * With no more threads than processors, members keep off each other's and the caller's, within those the maker of the
 * team was allowed. */
#ifndef TAPER_CORE_BASE_TEAM_H
#define TAPER_CORE_BASE_TEAM_H

#include <stddef.h>

struct team;

/* thread: who does it, 0 (the caller of team_run) up to the team's threads. */
typedef void team_body(void *arg, int stage, size_t item, int thread);

/* threads: at most so many take part, the caller among them; the shares depend on it, and on what the team has.
 * items: of each stage, below TEAM_ITEMS a thread. */
struct team_work {
    team_body *body;
    void *arg;
    int threads, stages;
    size_t items;
};
enum { TEAM_ITEMS = 1 << 20 };

/* threads >= 1, of which the caller is one. Where the system starts fewer the team is smaller. */
struct team *team_create(int threads);
int team_threads(const struct team *t);

/* Call body for every item of every stage; returns when all are done. One caller at a time. */
void team_run(struct team *t, const struct team_work *work);

/* NULL is fine; no run may be going on. */
void team_destroy(struct team *t);

/* The same in a child after fork(), where the members do not exist. */
void team_forget(struct team *t);

#endif
