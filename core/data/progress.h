/* How far a long operation is, for whoever shows it. core only calls; the harness draws, on a terminal. */
#ifndef TAPER_CORE_DATA_PROGRESS_H
#define TAPER_CORE_DATA_PROGRESS_H

#include <stdint.h>

/* Called from one thread at a time, after each batch of work; total is 0 when unknown.
 * A NULL `struct progress *` or a NULL report means silence. */
struct progress {
    void (*report)(void *arg, const char *what, uint64_t done, uint64_t total);
    void *arg;
};

#endif
