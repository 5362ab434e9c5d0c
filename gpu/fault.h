/* The first failure of a device: kept until it is taken, since the calls that fail cannot report. */
#ifndef TAPER_GPU_FAULT_H
#define TAPER_GPU_FAULT_H

#include <stdarg.h>
#include <stdbool.h>

#include "core/base/error.h"

struct fault {
    const char *op; /* what the device is working on; a string that stays */
    int status;
    char text[512]; /* "" while there is none */
};

/* Keep the status and "op: text" if nothing is kept yet. */
void fault_keep(struct fault *f, int status, const char *format, va_list args);

/* Report and clear. */
int fault_take(struct fault *f, struct error *err);

#endif
