/* The catalogue of tables and figures: one row each. A new one is its row here and its files: results/tables/ID.sql and
 * ID.json of a table, plots/ID.sql and ID.gp of a figure. */
#ifndef TAPER_HARNESS_RESULTS_CATALOGUE_H
#define TAPER_HARNESS_RESULTS_CATALOGUE_H

#include <stdbool.h>
#include <stdio.h>

/* How the groups of a sweep are dealt out over a figure, and over several where one cannot tell them apart. */
enum figure_plan {
    FIGURE_LINES,  /* panels by the keys of the grid, a line a variant */
    FIGURE_SITES,  /* a panel a tapered group; the lines are its sites */
    FIGURE_GROUPS, /* a panel or more a group */
    FIGURE_NAMED,  /* lines that its query names and `groups` numbers: most of them beside the baseline */
};

struct figure_shape {
    int width, width_more;   /* pixels, and for every column after the first */
    int height, height_more; /* and for every column, or row of columns, after the first */
    int abreast;             /* columns of the data side by side; the rest goes below */
    int most;                /* panels (of groups), or named lines, in one figure */
    bool shares_lines;       /* plots/lines.gp follows */
    enum figure_plan plan;
    const char *groups; /* SQL: the groups (or named lines) that have data, in order */
};

struct catalogue_entry {
    const char *id;
    const char *about;         /* one line for --help */
    const char *section;       /* anchor of the report's section, see report.c */
    const char *title;         /* of a figure; a table's stands in its layout */
    const char *caption;       /* under a figure of the report */
    const char *needs;         /* what it takes to have data; a table's stands in its layout */
    struct figure_shape shape; /* width 0: a table */
    const char *aside;         /* SQL: of a figure, one more text for its small print, NULL or none: nothing; or NULL */
};

/* The i-th in the order of the paper, tables or figures; NULL past the last. */
const struct catalogue_entry *catalogue_table(int i);
const struct catalogue_entry *catalogue_figure(int i);

/* How many there are of each. */
int catalogue_tables(void);
int catalogue_figures(void);

/* By its id, or by that without fig- or table- ("loss"); NULL: none. */
const struct catalogue_entry *catalogue_find(const char *name, bool figure);

/* The id without fig- or table-. */
const char *catalogue_short(const struct catalogue_entry *e);

/* The i-th word that names one or all of them: ids, short names, "all"; NULL past the last. */
const char *catalogue_word(int i, bool figure);

/* A line each for help: name and what it is. */
void catalogue_print(FILE *out, bool figure);

#endif
