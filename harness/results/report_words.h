/* What the numbers of a sweep say, in sentences; parts of the report. */
#ifndef TAPER_HARNESS_RESULTS_REPORT_WORDS_H
#define TAPER_HARNESS_RESULTS_REPORT_WORDS_H

#include <stdio.h>

#include "harness/results/result_sweep.h"

/* A list of HTML items: logit chasing, the scale, propositions 1 and 2, the fold, each with whether it holds here and
 * the numbers that say so. */
int report_put_checks(FILE *out, struct results *from, const char *sweep, struct error *err);

/* A description list of the sweep: runs, model, data, machines, time. */
int report_put_about(FILE *out, struct results *from, const char *sweep, struct error *err);

#endif
