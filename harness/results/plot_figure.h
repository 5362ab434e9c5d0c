/* Figures: a query, a gnuplot script, and the numbers between.
 *
 * A figure's whole script (the data, plots/style.gp, plots/ID.gp and what it shares) runs by itself in gnuplot: format
 * gp gives it. Every value that is finite is drawn: lines are means over the seeds of one configuration with a band
 * from the smallest to the largest, dotted where some of its seeds are missing; after drawing the axes are checked to
 * hold every value. What is more than one figure can tell apart goes into further pages of it. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_FIGURE_H
#define TAPER_HARNESS_RESULTS_PLOT_FIGURE_H

#include "harness/results/catalogue.h"
#include "harness/results/result_sweep.h"

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_PDF, PLOT_SCRIPT, PLOT_FORMATS };

const char *plot_format_name(enum plot_format format); /* "svg", "png", "pdf", "gp" */

struct plot_image {
    char *bytes; /* NUL-terminated */
    size_t size;
    int width; /* of the canvas, in pixels of 1/96 inch */
    char *title, *caption, *sweep;
    int pages, pages_left; /* figures that there are of this id, and those beyond that are not drawn */
    char *advice;          /* with more than one page: how to narrow it; else NULL */
};

/* A figure by its parts. */
struct plot_figure {
    const struct catalogue_entry *entry;
    const char *sql, *script, *x_name; /* script NULL: plots/ID.gp */
    const char *lines;                 /* SQL: what a figure's lines are, in order, where not its groups; else NULL */
    int lines_most;                    /* of those in one figure; sql finds them in page_line */
};

/* The i-th id, in the order of the paper; NULL past the last. */
const char *plot_figure_id(int i);

/* Draw page `page` (from 0) of figure `id` (fig- may be left out), of the sweep given (NULL: the last submitted that
 * has data for it). *empty (may be NULL) tells whether the failure is that there is nothing to draw. inline_svg:
 * without a fixed size, for a page of HTML. STATUS_BAD_INPUT: no such figure or sweep. STATUS_FAILED: nothing to draw
 * (the text says why), or gnuplot's. */
int plot_figure_make(struct plot_image *out, struct results *from, const char *id, const char *sweep, int page,
                     enum plot_format format, bool inline_svg, bool *empty, struct error *err);

/* The same of a figure by its parts. */
int plot_figure_draw(struct plot_image *out, struct results *from, const struct plot_figure *figure, const char *sweep,
                     int page, enum plot_format format, bool inline_svg, bool *empty, struct error *err);
void plot_image_fini(struct plot_image *image); /* fine on a zeroed one */

#endif
