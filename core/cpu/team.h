/* A standing team of threads for work that comes in many short phases, as decoding does: a token takes tens of phases
 * of a few microseconds, which starting threads anew for each (parallel.h) would double.
 *
 * A team waits for work by spinning for a moment, then yielding, then asleep, so that a thread whose turn comes at
 * once loses nothing and an idle team costs nothing. With more threads than processors it does not spin; with no more,
 * members keep off each other's processors and the caller's, within those the maker of the team was allowed. */
#ifndef TAPER_CORE_CPU_TEAM_H
#define TAPER_CORE_CPU_TEAM_H

#include "core/base/error.h"

struct team;

/* threads >= 1, of which the caller is one. STATUS_FAILED when they cannot be started. */
int team_create(struct team **out, int threads, struct error *err);
void team_destroy(struct team *t); /* NULL is fine; no run may be going on */
int team_threads(const struct team *t);

/* body(arg, i) on every thread i of the team, the caller being 0; returns when all have. */
void team_run(struct team *t, void (*body)(void *arg, int thread), void *arg);

/* Within a body, from thread `thread`: wait until every thread is here. What was written before is seen by all after.
 */
void team_barrier(struct team *t, int thread);

#endif
