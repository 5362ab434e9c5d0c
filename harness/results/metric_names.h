/* What a run records at its logged steps, by the names of the columns: of the step, and of a site at it. */
#ifndef TAPER_HARNESS_RESULTS_METRIC_NAMES_H
#define TAPER_HARNESS_RESULTS_METRIC_NAMES_H

/* Names one after another, NULL behind the last. */
extern const char *const metric_of_steps[], *const metric_of_sites[];

/* The list's own copy of the name; NULL: not among them. */
const char *metric_among(const char *const *list, const char *name);

#endif
