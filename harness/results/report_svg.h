/* gnuplot's SVG inside a page. */
#ifndef TAPER_HARNESS_RESULTS_REPORT_SVG_H
#define TAPER_HARNESS_RESULTS_REPORT_SVG_H

#include <stdio.h>

/* Write the svg element alone: no XML declaration, no tooltips of gnuplot's, ids that nothing refers to left out and
 * the others put behind `prefix`, so that two figures on one page do not share any; `label` for those who listen. */
void report_put_svg(FILE *out, const char *svg, const char *prefix, const char *label);

#endif
