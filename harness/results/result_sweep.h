/* Which sweep a table or a figure is about, and the small print that says so. */
#ifndef TAPER_HARNESS_RESULTS_RESULT_SWEEP_H
#define TAPER_HARNESS_RESULTS_RESULT_SWEEP_H

#include "harness/results/result_rows.h"
#include "harness/store/store.h"

/* Run the statement for the sweep `given`; with NULL for the sweeps of the home, the last submitted first, until one
 * has rows. *sweep (on the heap) is the one that has them; NULL when none does, and out is empty.
 * STATUS_BAD_INPUT when there is no sweep `given`. */
int result_sweep_query(struct result_rows *out, char **sweep, struct store *s, const char *name, const char *sql,
                       const char *given, struct error *err);

/* "15 runs: 14 done, 1 failed"; on the heap. sweep NULL counts all runs of the home. */
int result_sweep_runs(struct store *s, const char *sweep, char **text, struct error *err);

/* "taper 0.1.0 (4af8e38)"; on the heap. */
char *result_program(void);

/* The sweep submitted last, on the heap; NULL when the home has none. */
int result_sweep_last(struct store *s, char **sweep, struct error *err);

#endif
