/* The one place where threads are started for computing: every parallel loop of core goes through here.
 *
 * Work is split by the number of threads that the caller names, and by nothing else, so a result depends on that number
 * and never on timing, nor on how many threads there really are: no more than processors. Underneath is a standing team
 * (team.h) for each thread that calls. A body may call these again: it then does all of that by itself. */
#ifndef TAPER_CORE_BASE_PARALLEL_H
#define TAPER_CORE_BASE_PARALLEL_H

#include <stddef.h>

/* part: 0..parts-1, where parts is the number of threads asked for. */
typedef void parallel_body(void *arg, int part, int parts);
typedef void parallel_stage(void *arg, int stage, int part, int parts);
typedef void parallel_item(void *arg, size_t item, int thread);

/* Call body(arg, i, threads) for i in 0..threads-1, concurrently, and return when all have.
 * threads < 2 calls it directly. */
void parallel_run(int threads, parallel_body *body, void *arg);

/* The same for stages 0..stages-1 on end: what a stage wrote, all of the next one see. */
void parallel_stages(int threads, int stages, parallel_stage *body, void *arg);

/* Call body(arg, i, thread) once for every i in 0..items-1: for pieces of work that need not be even, more of them than
 * threads. Neighbours mostly go to the same thread, in their order. thread, below threads, is who does it, by chance:
 * for scratch memory only. */
void parallel_each(int threads, size_t items, parallel_item *body, void *arg);

/* Part `part`'s share of `count` items, as [*begin, *end): contiguous, sizes differing by at most one `grain` (a share
 * starts at a multiple of grain; grain >= 1). */
void parallel_share(size_t count, size_t grain, int part, int parts, size_t *begin, size_t *end);

/* Processors this process may use (its affinity mask), at least 1. */
int parallel_processors(void);

#endif
