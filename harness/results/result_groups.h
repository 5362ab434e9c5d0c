/* The runs of a sweep, put together by configuration: what tables and figures are made from.
 *
 * Two runs are of one group when they have the same variant and agree in every key of the configuration that changes
 * a result, but for the seeds. So n of a row is the number of its seeds, and nothing else is ever averaged over. The
 * keys that tell the groups of one variant apart become columns of a table, and panels or names of lines in a figure; a
 * key that follows from those before it (model.heads from model.size) is not repeated.
 *
 * result_groups_make leaves on the connection the temporary table run_shown, a row for every run and group, and the
 * views of results/groups.sql over it. */
#ifndef TAPER_HARNESS_RESULTS_RESULT_GROUPS_H
#define TAPER_HARNESS_RESULTS_RESULT_GROUPS_H

#include "harness/results/result_rows.h"
#include "harness/store/store.h"

enum { RESULT_CHOICES_MOST = 16 };

/* What a person asked for; zeroed: everything, laid out as the sweep suggests. Texts are the caller's. */
struct result_choice {
    const char *compare; /* the variant to compare with, VARIANT or SWEEP/VARIANT; NULL: the sweep's own baseline */
    const char *where[RESULT_CHOICES_MOST]; /* "KEY=VALUE": only these; of one key several: any of them */
    const char *by[RESULT_CHOICES_MOST];    /* keys that make panels, and lead the rows of a table */
    const char *vary[RESULT_CHOICES_MOST];  /* keys that name lines of one panel, and come last in a table's rows */
    const char *also[RESULT_CHOICES_MOST];  /* more sweeps beside the one asked for, their variants as SWEEP/VARIANT */
    int where_count, by_count, vary_count, also_count;
    struct result_look {
        int width, height; /* of a figure, pixels of 1/96 inch; 0: its own */
        int smooth;        /* the mean of so many logged points in the place of each; 0: as logged */
        bool log_y;
    } look;
};

struct result_group {
    char *variant, *size;
    char **values;      /* [key_count], as text */
    char *panel, *line; /* where a figure draws it and what its line is called */
    bool baseline;      /* what others are compared with */
    bool tapered;
    int runs;
};

struct result_groups {
    char *sweep;    /* NULL: every sweep */
    char *baseline; /* "baseline", or "other/baseline"; NULL when there is none */
    int key_count;
    char **keys; /* leading columns, "train.lr"; model.size is not among them, every group has it */
    int count;
    struct result_group *group; /* in the order of run_shown.grp, from 0 */
};

/* Make run_shown for the sweep (NULL: all runs of the home, which are then no groups). The sweep exists.
 * STATUS_BAD_INPUT: the choice names a key, value, variant or sweep that is not there. */
int result_groups_make(struct result_groups *out, struct store *s, const char *sweep,
                       const struct result_choice *choice, struct error *err);
void result_groups_fini(struct result_groups *g); /* fine on a zeroed one */

/* Are the groups of more than one model.size? Then it is worth a column. */
bool result_groups_sizes_differ(const struct result_groups *g);

/* "all+aux, train.lr 0.003": a group by its whole name, on the heap. */
char *result_group_name(const struct result_groups *g, int group);

/* Is this a key of the taper or of the auxiliary loss, which a baseline has no use for? */
bool result_key_is_taper(const char *key);

#endif
