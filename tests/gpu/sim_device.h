/* The simulated device of the tests: an implementation of gpu/device.h in host memory.
 *
 * Work is queued and runs at the next synchronisation, so that what a caller may not rely on before then (results,
 * arguments that point to its stack) fails here as it would on a device. Copies ahead have a queue of their own, which
 * moves only as far as an event demands, or as early as events allow: a wait that is missing shows as wrong data in one
 * of the two. Capturing keeps the queued work as a graph. Memory is zeroed when its turn in the queue comes.
 * GEMMs go to the CPU's BLAS, attention graphs to the interpreter. */
#ifndef TAPER_TESTS_GPU_SIM_DEVICE_H
#define TAPER_TESTS_GPU_SIM_DEVICE_H

#ifdef __cplusplus
#include <functional>

/* Append work to a stream. */
void sim_enqueue(void *stream, std::function<void()> work);

extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>

/* Order of the fibers of a block, and of the blocks: 0 forward, 1 backward, above that shuffled by this seed. */
void sim_set_schedule(unsigned schedule);

/* Copies ahead are made as early as events allow (true), or as late (false, at first). */
void sim_set_early_copies(bool early);

/* Memory of devices opened from now on, in bytes; 0: no limit. */
void sim_set_memory(size_t bytes);

/* The most memory any device has had in use, in bytes, since this was last called. */
size_t sim_memory_peak(void);

/* Products with an epilogue of their own: there are some (true, at first), or none. */
void sim_set_epilogues(bool there);

/* Such products enqueued since the program began. */
long sim_fused_products(void);

/* Graphs launched since the program began. */
long sim_graph_launches(void);

#ifdef __cplusplus
}
#endif

#endif
