/* The few statistics that tables and figures need, over values that are all finite.
 *
 * Student's t by the regularised incomplete beta function (continued fraction, Lentz's method), so that it holds for
 * any number of seeds, not for a table's 30. */
#ifndef TAPER_HARNESS_RESULTS_STATISTICS_H
#define TAPER_HARNESS_RESULTS_STATISTICS_H

#include <stdbool.h>

struct summary {
    int n;
    double mean, std; /* std of the sample (n - 1); NaN below two values. mean NaN without any */
    double min, max, median;
};

/* x [n], in any order. */
struct summary statistics_summary(const double *x, int n);

/* The half width of the two-sided interval of the mean at `level` (0.95): t_{(1+level)/2, n-1} std / sqrt(n).
 * NaN below two values. */
double statistics_half_width(const struct summary *s, double level);

/* P(T <= t) and its inverse, for `degrees` > 0 degrees of freedom and 0 < p < 1. */
double statistics_t_cdf(double t, double degrees);
double statistics_t_quantile(double p, double degrees);

/* I_x(a, b), for a, b > 0 and x in [0, 1]. */
double statistics_incomplete_beta(double a, double b, double x);

/* Marks the values that lie more than 3.5 scaled median deviations from the median (Iglewicz and Hoaglin, 1993; where
 * more than half the values are equal, 3.5 scaled mean deviations). Fewer than five values have no outliers.
 * out [n]. Returns how many. */
int statistics_outliers(const double *x, int n, bool *out);

#endif
