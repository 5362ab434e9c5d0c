/* Any recorded number against the step, the tokens or the time: a figure made up from the names of what to draw. */
#ifndef TAPER_HARNESS_RESULTS_PLOT_METRIC_H
#define TAPER_HARNESS_RESULTS_PLOT_METRIC_H

#include "harness/results/plot_figure.h"

enum { PLOT_METRICS_MOST = 8 };

/* Draw the metrics of `list`, "NAME[,NAME]...", a panel each: columns of the logged steps (margin, logit_max ...), or
 * NAME:SITE of a site's (c:final_norm), or of all its sites (c, scale_mean:all): then a configuration is a column, and
 * a site a line; as many figures as those take. x: "step", "tokens" or "time". The rest as plot_figure_make.
 * STATUS_BAD_INPUT: a metric or an x that is not there; the text lists those that are. */
int plot_metric_make(struct plot_image *out, struct results *from, const char *list, const char *x, const char *sweep,
                     int page, enum plot_format format, struct error *err);

#endif
