/* Which sweep a table or a figure is about, and the small print that says so. */
#ifndef TAPER_HARNESS_RESULTS_RESULT_SWEEP_H
#define TAPER_HARNESS_RESULTS_RESULT_SWEEP_H

#include "harness/results/result_groups.h"
#include "harness/store/store.h"

/* Where tables and figures come from: a home's database, what was asked for, and the sweep prepared last. */
struct results {
    struct store *store; /* not owned */
    struct result_choice choice;
    struct result_groups groups;
    bool prepared;
};

/* Give the connection this program's views (results/views.sql) as temporary ones, whatever program made those in the
 * database: a reader changes nothing there. choice NULL: everything. */
int results_init(struct results *r, struct store *s, const struct result_choice *choice, struct error *err);
void results_fini(struct results *r); /* fine on a zeroed one */

/* Make r->groups and run_shown those of the sweep, which exists; NULL: of every sweep. Cheap the second time. */
int results_prepare(struct results *r, const char *sweep, struct error *err);

/* Run the statement for the sweep `given`; with NULL for the sweeps of the home, the last submitted first, until one
 * has rows. That sweep is then the one prepared. *sweep (on the heap) names it; NULL when none has rows, and out is
 * empty. STATUS_BAD_INPUT when there is no sweep `given`, or it has not what the choice asks for. */
int result_sweep_query(struct result_rows *out, char **sweep, struct results *r, const char *name, const char *sql,
                       const char *given, struct error *err);

/* "15 runs: 14 done, 1 failed; rows are missing of 2 done"; on the heap. sweep NULL counts all runs of the home. */
int result_sweep_runs(struct store *s, const char *sweep, char **text, struct error *err);

/* "taper 0.1.0 (4af8e38)"; on the heap. */
char *result_program(void);

/* The sweep submitted last, on the heap; NULL when the home has none. */
int result_sweep_last(struct store *s, char **sweep, struct error *err);

#endif
