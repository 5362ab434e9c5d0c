/* The report: one HTML page of a sweep, with everything in it: what was run, the checks in words, tables, figures. */
#ifndef TAPER_HARNESS_RESULTS_REPORT_H
#define TAPER_HARNESS_RESULTS_REPORT_H

#include <stdio.h>

#include "harness/base/names.h"
#include "harness/results/result_sweep.h"

/* Write the page for the sweep given (NULL: the last submitted). Tables and figures without data say what they want,
 * and one that cannot be made says why in its place: failed (zeroed) then has its name. STATUS_BAD_INPUT: no such
 * sweep, or none at all. STATUS_FAILED: no gnuplot, or `out` cannot be written. */
int report_write(FILE *out, struct results *from, const char *sweep, struct names *failed, struct error *err);

#endif
