#include "harness/results/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *x, int n)
{
    double *sorted = memory_alloc((size_t)n, sizeof *sorted);
    memcpy(sorted, x, (size_t)n * sizeof *x);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    free(sorted);
    return median;
}

struct summary statistics_summary(const double *x, int n)
{
    struct summary s = {.n = n, .mean = NAN, .std = NAN, .min = NAN, .max = NAN, .median = NAN};
    if (n == 0)
        return s;
    double sum = 0, squares = 0;
    s.min = s.max = x[0];
    for (int i = 0; i < n; i++) {
        sum += x[i];
        s.min = x[i] < s.min ? x[i] : s.min;
        s.max = x[i] > s.max ? x[i] : s.max;
    }
    s.mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - s.mean) * (x[i] - s.mean);
    if (n > 1)
        s.std = sqrt(squares / (n - 1));
    s.median = median_of(x, n);
    return s;
}

double statistics_half_width(const struct summary *s, double level)
{
    if (s->n < 2)
        return NAN;
    return statistics_t_quantile((1 + level) / 2, s->n - 1) * s->std / sqrt(s->n);
}

/* The continued fraction of the incomplete beta function, which converges fast for x < (a + 1) / (a + b + 2)
 * (Abramowitz and Stegun 26.5.8), evaluated from the front (Lentz). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        double step = d * c;
        value *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

double statistics_incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_t_cdf(double t, double degrees)
{
    double tail = statistics_incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double statistics_t_quantile(double p, double degrees)
{
    if (p == 0.5)
        return 0;
    if (p < 0.5)
        return -statistics_t_quantile(1 - p, degrees);
    double low = 0, high = 1;
    while (statistics_t_cdf(high, degrees) < p && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
        double middle = (low + high) / 2;
        if (statistics_t_cdf(middle, degrees) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

int statistics_outliers(const double *x, int n, bool *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    if (n < 5)
        return 0;
    double median = median_of(x, n), sum = 0;
    double *away = memory_alloc((size_t)n, sizeof *away);
    for (int i = 0; i < n; i++) {
        away[i] = fabs(x[i] - median);
        sum += away[i];
    }
    double deviation = median_of(away, n);
    double scale = deviation > 0 ? deviation / 0.6745 : 1.253314 * sum / n;
    int count = 0;
    for (int i = 0; i < n; i++) {
        out[i] = away[i] > 3.5 * scale;
        count += out[i];
    }
    free(away);
    return count;
}
