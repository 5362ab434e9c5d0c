/* The one place where threads are started for computing: every parallel loop of core goes through here.
 *
 * Work is split by (thread, threads) alone, so a result depends on the thread count and never on timing.
 * OpenMP underneath; under ThreadSanitizer plain pthreads, because the OpenMP runtime is not instrumented and
 * would hide or invent races. Not reentrant: a body must not call parallel_run. */
#ifndef TAPER_CORE_BASE_PARALLEL_H
#define TAPER_CORE_BASE_PARALLEL_H

#include <stddef.h>

typedef void parallel_body(void *arg, int thread, int threads);

/* Call body(arg, i, threads) for i in 0..threads-1, concurrently, and return when all have.
 * threads < 2 calls it directly. */
void parallel_run(int threads, parallel_body *body, void *arg);

/* Thread `thread`'s share of `count` items, as [*begin, *end): contiguous, sizes differing by at most one
 * `grain` (a share starts at a multiple of grain; grain >= 1). */
void parallel_share(size_t count, size_t grain, int thread, int threads, size_t *begin, size_t *end);

/* Processors this process may use (its affinity mask), at least 1. */
int parallel_processors(void);

#endif
