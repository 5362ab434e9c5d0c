/* Files that are compiled into the program: the schema, the views, the tables' queries, the figures' scripts.
 *
 * A file in results/, results/tables/ or plots/ is one of them by being there, and the page's style and script. */
#ifndef TAPER_HARNESS_BASE_EMBEDDED_H
#define TAPER_HARNESS_BASE_EMBEDDED_H

#include <stddef.h>

struct embedded {
    const char *name; /* path in the source tree: "results/schema.sql" */
    const char *text; /* a NUL follows the last byte */
    size_t size;      /* without the NUL */
};

/* NULL when there is none. */
const struct embedded *embedded_find(const char *name);

/* The i-th file, in the order of their names; NULL past the last. */
const struct embedded *embedded_at(int i);

#endif
