/* What was staged and not yet taken, where host memory is backend memory: copies, in their order. */
#ifndef TAPER_CORE_REF_STAGED_H
#define TAPER_CORE_REF_STAGED_H

#include "core/ops/ops.h"

/* Zeroed: nothing staged. Belongs to one thread. */
struct staged {
    void *slots[STAGED_MOST];
    size_t room[STAGED_MOST];
    unsigned put, taken; /* so far */
};

/* Keep a copy; ops.h says how many. */
void staged_put(struct staged *s, const void *from, size_t bytes);
/* The oldest one, which goes. */
void staged_take(struct staged *s, void *to, size_t bytes);
void staged_clear(struct staged *s);

#endif
