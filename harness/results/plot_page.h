/* Which groups of a sweep one figure shows: as many as can be told apart, the rest in further figures. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_PAGE_H
#define TAPER_HARNESS_RESULTS_PLOT_PAGE_H

#include "harness/results/catalogue.h"
#include "harness/results/result_groups.h"

enum {
    PLOT_STYLES = 8,     /* lines that differ in colour, dash and marker: plots/style.gp */
    PLOT_PAGES_MOST = 6, /* figures drawn of one id; more are for --where to choose from */
};

struct plot_pages {
    int count;         /* of figures; 0: no group has data */
    int panels, lines; /* how many there are in all */
    int **group;       /* [count] groups of each, */
    int *groups;       /* [count] and how many */
};

/* `with`, `with_count`: the groups that have data. A figure's lines begin with the baseline's, whichever else it shows,
 * and the paper's variants stay together. */
void plot_pages_make(struct plot_pages *out, const struct result_groups *groups, const int *with, int with_count,
                     enum figure_plan plan, int most);
void plot_pages_fini(struct plot_pages *p); /* fine on a zeroed one */

/* Styles of the lines named, from 1: the paper's variants have their own, the others what is left. out [count]. */
void plot_styles(char *const *names, int count, int *out);

#endif
