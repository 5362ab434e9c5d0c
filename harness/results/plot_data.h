/* The numbers of a figure: rows of its query put on a grid of columns, rows and series, and averaged over seeds.
 *
 * The query gives a row a value: row (1, 2 ...: what is drawn; the figure's script says what each is), seed, x, y, and
 * where it belongs: grp, a group of the sweep, whose panel and line it is; or col and series (texts) in place of one or
 * both. x may be text: then every distinct one is a category of its column, numbered from 1 in the order they come in.
 * at, where there is such a column, is where a point is drawn (tokens, time), the mean over the seeds at one x; beside
 * makes y a timing, and not 0 one that was taken while other runs were on the machine. Groups are in their own order,
 * whatever order the rows come in; col and series in the order they come in. y NULL is a value that was not finite:
 * counted, not drawn. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_DATA_H
#define TAPER_HARNESS_RESULTS_PLOT_DATA_H

#include "harness/results/result_groups.h"

enum { PLOT_POINTS_MOST = 400 }; /* a line's points; longer ones are put in as many bins, keeping their extremes */

struct plot_point {
    double x, mean, low, high, std; /* over the seeds (and the steps of a bin); std NaN for one value */
    int n;
    bool fewer; /* some of the line's seeds are not in it */
};

struct plot_line {
    struct plot_point *points;
    int count;
    int seeds; /* the most at one x */
};

/* A value as read. */
struct plot_value {
    double x, y, at;
    int column, row, series; /* from 0 */
    int seed;
};

struct plot_data {
    int columns, rows, series;
    char **column_names, **series_names;
    char **categories; /* of every column, one after the other: column c has those from category_first[c] on */
    int *category_first, *category_count;
    int *column_of, *series_of; /* of the sweep's groups, where the query leaves that to them; -1: none */
    int group_count;
    struct plot_line *lines; /* [columns][rows][series] */
    struct plot_value *values;
    int value_count;
    int left_out;              /* values that are not finite */
    int seeds_low, seeds_high; /* the fewest and the most values behind a point of row 1 */
    int timed, beside;         /* values of row 1 that are timings, and those taken beside other runs */
    bool binned, fewer;        /* some line is; somewhere seeds drop out */
    int smoothed;              /* points of a rolling mean; 0: none */
};

/* Run the query (with :sweep) and arrange what it gives; `page` NULL takes all groups, or the groups listed alone, with
 * their panels and lines there from the start, data or not. STATUS_FAILED when the query lacks a column. */
int plot_data_make(struct plot_data *out, struct store *s, const char *id, const char *sql, const char *sweep,
                   const struct result_groups *groups, const int *page, int page_count, struct error *err);
/* In the place of each mean that of `points` around it, in every row but the gate's; bands keep what is smallest and
 * largest. */
void plot_data_smooth(struct plot_data *d, int points);

void plot_data_fini(struct plot_data *d); /* fine on a zeroed one */

const struct plot_line *plot_data_line(const struct plot_data *d, int column, int row, int series); /* from 0 */

/* Are there values to draw? */
bool plot_data_has_any(const struct plot_data *d);

/* As gnuplot: the variables columns, rows, series, the arrays column_name, series_name, series_style, category,
 * category_first, category_count, points (how many each line has), lowest and highest (of [column][row]), and the data
 * blocks $lines and $values, a data set a line in the order [column][row][series]; columns of $lines: x mean low high
 * std n, then the mean again where all seeds are there, and where some are not; of $values: x y seed. style [series].
 */
void plot_data_print(const struct plot_data *d, const int *style, FILE *out);

/* A gnuplot string constant, quoted. */
void plot_put_string(FILE *out, const char *text);

#endif
