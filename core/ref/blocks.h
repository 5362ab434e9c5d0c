/* Tensor memory of the CPU backends: 64-byte aligned, zeroed, kept in a list so that the rest goes with the backend.
 * Not thread-safe: a backend belongs to one thread. */
#ifndef TAPER_CORE_REF_BLOCKS_H
#define TAPER_CORE_REF_BLOCKS_H

#include <stddef.h>

#include "core/base/error.h"

struct block;

struct block_list {
    struct block *first; /* zero-initialised: empty */
};

/* bytes of zeroed memory, at least one. NULL and STATUS_FAILED in err when there is none. */
void *blocks_alloc(struct block_list *list, size_t bytes, struct error *err);

/* Release what blocks_alloc of the same list gave; NULL is fine. */
void blocks_release(struct block_list *list, void *memory);

/* Release everything. */
void blocks_release_all(struct block_list *list);

#endif
