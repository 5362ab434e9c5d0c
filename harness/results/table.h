/* A table of results: its query run, its rows grouped, each cell computed from the values of its group.
 *
 * Nothing is left out silently: a value that is missing or not finite is counted and named in the notes, an outlier is
 * named and stays in the mean. */
#ifndef TAPER_HARNESS_RESULTS_TABLE_H
#define TAPER_HARNESS_RESULTS_TABLE_H

#include <stdio.h>

#include "harness/results/result_sweep.h"
#include "harness/results/statistics.h"
#include "harness/results/table_layout.h"

struct table_cell {
    char *text;          /* text, notes (NULL: blank); time and duration spelled out */
    double value;        /* number, max, ratio; time and duration in us; NaN: blank */
    bool whole;          /* the number is an integer */
    struct summary sums; /* mean and change */
    double half_width;   /* change: of the 95% interval; NaN below two values */
    int count, of;       /* count */
};

struct table {
    struct table_layout layout;
    char *sweep; /* NULL: every sweep, or none had rows */
    char *runs;  /* "15 runs: 14 done, 1 failed" */
    char **keys; /* [key_count], the columns that came in for them */
    int key_count;
    char *once;    /* "corpus stories; 400 steps"; "" for nothing */
    char *program; /* "taper 0.1.0 (4af8e38)" */
    int rows;
    struct table_cell *cells; /* [rows][layout.column_count] */
};

/* The i-th id, in the order of the paper; NULL past the last. */
const char *table_id(int i);

/* Make table `id` (table- may be left out) of the sweep given (NULL: the last submitted that has rows for it). A table
 * without rows is no error. STATUS_BAD_INPUT: no such table or sweep. */
int table_make(struct table *out, struct results *from, const char *id, const char *sweep, struct error *err);

/* The same from a layout of one's own, and a query (NULL: the one the layout means). */
int table_make_from(struct table *out, struct results *from, const char *id, const char *sql, const char *layout,
                    const char *sweep, struct error *err);
void table_fini(struct table *t); /* fine on a zeroed one */

enum table_format { TABLE_MARKDOWN, TABLE_CSV, TABLE_TEX, TABLE_JSON, TABLE_HTML };

/* Write it. STATUS_FAILED when `out` could not be written. */
int table_print(const struct table *t, enum table_format format, FILE *out, struct error *err);

#endif
