/* The steps at which sites go, where they go one after another (events of kind removal): marks of a figure over the
 * steps. Each is a tick; the few that begin a kind, "ln_1 QK", also have a name. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_MARKS_H
#define TAPER_HARNESS_RESULTS_PLOT_MARKS_H

#include "harness/results/plot_data.h"

enum { PLOT_MARKS_NAMED = 5 }; /* names in one panel, at most */

struct plot_mark {
    int column, series; /* of the data, from 0; series -1: of the whole panel */
    int level;          /* which of the panel's marked lines it belongs to, from 0 */
    double step;
    char *name; /* NULL: a tick alone */
};

struct plot_marks {
    struct plot_mark *mark;
    int count;
    bool named; /* some have names */
};

/* The marks of the groups that are drawn (run_drawn), where `d` has them. A panel's names are those of its first group
 * that has any, for the others mostly go at the same steps. */
int plot_marks_find(struct plot_marks *out, struct store *s, const struct plot_data *d, struct error *err);
void plot_marks_fini(struct plot_marks *m); /* fine on a zeroed one */

/* As gnuplot: the data block $marks, of columns: column series step level (never empty), marks (how many); names,
 * and the arrays name_column, name_step, name_text of them. */
void plot_marks_print(const struct plot_marks *m, FILE *out);

#endif
