/* The libraries this process runs with, for the record of each attempt. */
#ifndef TAPER_HARNESS_BASE_LIBRARIES_H
#define TAPER_HARNESS_BASE_LIBRARIES_H

#include <jansson.h>

/* {"glibc":"2.36","sqlite":"3.40.1",...}; what is not loaded is left out. A new reference, and as text on the heap. */
json_t *libraries_json(void);
char *libraries_text(void);

#endif
