/* The fast CPU implementation of the ops table: its backend and the parts its files share.
 *
 * One op, one file, as in core/ref. Parallelism is here alone: every op splits its work over be->threads with
 * parallel_run, and every thread calls single-threaded BLAS. Scratch memory belongs to the backend and only grows. */
#ifndef TAPER_CORE_CPU_CPU_H
#define TAPER_CORE_CPU_CPU_H

#include "core/ops.h"
#include "core/ref/blocks.h"

struct backend {
    struct block_list blocks;
    int threads;
    void *scratch; /* contents are an op's own, lost at the next */
    size_t scratch_bytes;
};

/* At least `bytes` of scratch, 64-byte aligned, contents undefined; valid until the next op. */
void *cpu_scratch(struct backend *be, size_t bytes);

#endif
