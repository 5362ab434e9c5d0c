/* The numbers of a figure: rows of its query put on a grid of columns, rows and series, and averaged over seeds.
 *
 * The query gives a row a value: col (text: one panel or column of panels each), row (1, 2 ...: what is drawn; the
 * figure's script says what each is), series (text: one line), seed, state, x, y. x may be text: then every distinct
 * one is a category, numbered from 1 in the order they come in. Columns and series are in the order they come in too.
 * who, where there is such a column, names the run instead of series.
 * y NULL is a value that was not finite: counted, not drawn. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_DATA_H
#define TAPER_HARNESS_RESULTS_PLOT_DATA_H

#include <stdio.h>

#include "harness/results/result_rows.h"

enum { PLOT_POINTS_MOST = 400 }; /* a line's points; longer ones are put in as many bins, keeping their extremes */

struct plot_point {
    double x, mean, low, high, std; /* over the seeds (and the steps of a bin); std NaN for one value */
    int n;
};

struct plot_line {
    struct plot_point *points;
    int count;
};

struct plot_data {
    int columns, rows, series;
    char **column_names, **series_names;
    char **categories; /* of every column, one after the other: column c has those from category_first[c] on */
    int *category_first, *category_count;
    struct plot_line *lines; /* [columns][rows][series] */
    struct result_rows raw;  /* owned: the values themselves */
    int *raw_line;           /* which line each of them belongs to */
    double *raw_x;
    int left_out;              /* values that are not finite */
    char *unfinished;          /* "all seed 2 (failed)"; "" when every run drawn is done */
    int seeds_low, seeds_high; /* the fewest and the most values behind a point of row 1 */
    bool binned;
};

/* Takes over rows. STATUS_FAILED when the query lacks a column. */
int plot_data_make(struct plot_data *out, struct result_rows *rows, const char *id, struct error *err);
void plot_data_fini(struct plot_data *d); /* fine on a zeroed one */

const struct plot_line *plot_data_line(const struct plot_data *d, int column, int row, int series); /* from 0 */

/* Are there values to draw in row 1? */
bool plot_data_has_any(const struct plot_data *d);

/* As gnuplot: the variables columns, rows, series, the arrays column_name, series_name, category, category_first,
 * category_count, points (how many each line has), lowest and highest (of [column][row]), and the data blocks $lines
 * and $values, a data set a line in the order [column][row][series]; columns of $lines: x mean low high std n, of
 * $values: x y seed. */
void plot_data_print(const struct plot_data *d, FILE *out);

/* A gnuplot string constant, quoted. */
void plot_put_string(FILE *out, const char *text);

#endif
