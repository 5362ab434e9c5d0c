/* gnuplot as a subprocess: a script in, an image out. Nothing is written to disk. */
#ifndef TAPER_HARNESS_RESULTS_GNUPLOT_H
#define TAPER_HARNESS_RESULTS_GNUPLOT_H

#include <stddef.h>

#include "core/base/error.h"

struct gnuplot_output {
    char *image; /* what the script's terminal wrote; NUL-terminated */
    size_t size;
    char *said; /* what it printed on standard error: warnings, and what the script's print says */
};

/* Run `gnuplot -d -` on the script. STATUS_FAILED: no gnuplot (the text says what to install), it failed (its message
 * is in the text), or it drew nothing. out is the caller's to release. */
int gnuplot_run(struct gnuplot_output *out, const char *script, size_t size, struct error *err);

/* Is there a gnuplot on the PATH? STATUS_FAILED, and what to install, when not. */
int gnuplot_find(struct error *err);
void gnuplot_output_fini(struct gnuplot_output *out); /* fine on a zeroed one */

#endif
