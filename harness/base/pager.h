/* Long texts for people, a screen at a time. */
#ifndef TAPER_HARNESS_BASE_PAGER_H
#define TAPER_HARNESS_BASE_PAGER_H

#include <stddef.h>

#include "core/base/error.h"

/* Print to standard output. On a terminal that the text is too long for through $PAGER, or through less where that is
 * not set; an empty one, or cat, is none. STATUS_FAILED: it cannot be written. */
int pager_print(const char *text, size_t size, struct error *err);

#endif
