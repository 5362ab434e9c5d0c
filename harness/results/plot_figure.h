/* Figures: a query, a gnuplot script, and the numbers between.
 *
 * A figure's whole script (the data, plots/style.gp, plots/ID.gp and what it shares) runs by itself in gnuplot: format
 * gp gives it. Every value that is finite is drawn: lines are means over seeds with a band from the smallest to the
 * largest, and after drawing the axes are checked to hold every value. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_FIGURE_H
#define TAPER_HARNESS_RESULTS_PLOT_FIGURE_H

#include <stdbool.h>

#include "harness/store/store.h"

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_PDF, PLOT_SCRIPT, PLOT_FORMATS };

const char *plot_format_name(enum plot_format format); /* "svg", "png", "pdf", "gp" */

struct plot_image {
    char *bytes; /* NUL-terminated */
    size_t size;
    int width; /* of the canvas, in pixels of 1/96 inch */
    char *title, *caption, *sweep;
};

/* The i-th id, in the order of the paper; NULL past the last. */
const char *plot_figure_id(int i);

/* Draw figure `id` of the sweep given (NULL: the last submitted that has data for it). *empty (may be NULL) tells
 * whether the failure is that there is nothing to draw. inline_svg: without a fixed size, for a page.
 * STATUS_BAD_INPUT: no such figure or sweep. STATUS_FAILED: nothing to draw (the text says why), or gnuplot's. */
int plot_figure_make(struct plot_image *out, struct store *s, const char *id, const char *sweep,
                     enum plot_format format, bool inline_svg, bool *empty, struct error *err);
void plot_image_fini(struct plot_image *image); /* fine on a zeroed one */

#endif
