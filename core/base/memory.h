/* Allocation that cannot fail quietly. Small bookkeeping memory only: when it is out, the program says so and
 * exits (with STATUS_MEMORY's status), since nothing sensible can follow. Tensors use the backend's allocator, which
 * reports. */
#ifndef TAPER_CORE_BASE_MEMORY_H
#define TAPER_CORE_BASE_MEMORY_H

#include <stddef.h>

void *memory_alloc(size_t count, size_t size);             /* zeroed; overflow-checked; free() releases it */
void *memory_resize(void *old, size_t count, size_t size); /* as realloc */

/* For tensors: not zeroed, aligned to a cache line at least, NULL when there is none left; free() releases it. From 2
 * MB on it lies on huge pages where the system has them: rows far apart otherwise miss the TLB. */
void *memory_large(size_t bytes);

/* There is none left, and no way to report it: say so, with what was wanted, and end the process as out of memory. */
_Noreturn void memory_exhausted(const char *format, ...) __attribute__((format(printf, 1, 2)));

char *memory_string(const char *text); /* a copy */
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
