/* The report: one HTML page of a sweep, with everything in it: what was run, the checks in words, tables, figures. */
#ifndef TAPER_HARNESS_RESULTS_REPORT_H
#define TAPER_HARNESS_RESULTS_REPORT_H

#include <stdio.h>

#include "harness/results/result_sweep.h"

/* Write the page for the sweep given (NULL: the last submitted). Tables and figures without data say what they want,
 * and a figure that cannot be drawn says why in its place. STATUS_BAD_INPUT: no such sweep, or none at all.
 * STATUS_FAILED: no gnuplot, or `out` cannot be written. */
int report_write(FILE *out, struct results *from, const char *sweep, struct error *err);

#endif
