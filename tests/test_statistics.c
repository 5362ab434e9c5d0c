/* Small-sample statistics against published values and closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/results/statistics.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.17g, want %.17g within %g", got, want, tolerance);
}

/* Critical values of Student's t, as in any printed table (to the digits printed there). */
static void t_quantiles(void **state)
{
    (void)state;
    static const struct {
        double p, degrees, value;
    } known[] = {
        {0.975, 1, 12.7062047364},  {0.975, 2, 4.3026527297},  {0.975, 3, 3.1824463053},  {0.975, 4, 2.7764451052},
        {0.975, 5, 2.5705818356},   {0.975, 9, 2.2621571628},  {0.975, 29, 2.0452296421}, {0.975, 30, 2.0422724563},
        {0.95, 2, 2.9199855804},    {0.995, 10, 3.1692726726}, {0.9, 60, 1.2958210694},   {0.975, 1000, 1.9623390808},
        {0.975, 1e7, 1.9599642221}, /* the normal quantile is 1.9599639845 */
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        near(statistics_t_quantile(known[i].p, known[i].degrees), known[i].value, 2e-7);
    near(statistics_t_quantile(0.025, 4), -2.7764451052, 1e-9);
    assert_true(statistics_t_quantile(0.5, 3) == 0);
}

/* One degree is Cauchy's distribution, two have an algebraic one; between, each is the other's inverse. */
static void t_in_closed_form(void **state)
{
    (void)state;
    for (double t = -8; t <= 8; t += 0.37) {
        near(statistics_t_cdf(t, 1), 0.5 + atan(t) / M_PI, 1e-13);
        near(statistics_t_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-13);
    }
    for (double p = 0.01; p < 1; p += 0.03)
        for (double degrees = 1; degrees < 200; degrees *= 2.5)
            near(statistics_t_cdf(statistics_t_quantile(p, degrees), degrees), p, 1e-12);
}

static void incomplete_beta(void **state)
{
    (void)state;
    for (double x = 0.05; x < 1; x += 0.05) {
        near(statistics_incomplete_beta(1, 1, x), x, 1e-14);
        near(statistics_incomplete_beta(2, 1, x), x * x, 1e-14);
        near(statistics_incomplete_beta(3, 2, x), x * x * x * (4 - 3 * x), 1e-13);
        near(statistics_incomplete_beta(0.5, 0.5, x), 2 / M_PI * asin(sqrt(x)), 1e-13);
        near(statistics_incomplete_beta(7.5, 2.25, x), 1 - statistics_incomplete_beta(2.25, 7.5, 1 - x), 1e-13);
    }
    assert_true(statistics_incomplete_beta(3, 4, 0) == 0 && statistics_incomplete_beta(3, 4, 1) == 1);
}

static void summaries(void **state)
{
    (void)state;
    const double x[] = {4, 1, 3, 2};
    struct summary s = statistics_summary(x, 4);
    assert_true(s.n == 4 && s.mean == 2.5 && s.min == 1 && s.max == 4 && s.median == 2.5);
    near(s.std, sqrt(5.0 / 3), 1e-15);
    near(statistics_half_width(&s, 0.95), 3.1824463053 * sqrt(5.0 / 3) / 2, 1e-9);
    s = statistics_summary(x, 3);
    assert_true(s.median == 3);
    s = statistics_summary(x, 1);
    assert_true(s.mean == 4 && isnan(s.std) && isnan(statistics_half_width(&s, 0.95)));
    s = statistics_summary(x, 0);
    assert_true(s.n == 0 && isnan(s.mean) && isnan(s.max));
    const double far[] = {1e15, 1e15 + 2};
    s = statistics_summary(far, 2);
    near(s.std, sqrt(2), 1e-12);
}

static void outliers(void **state)
{
    (void)state;
    bool out[6];
    const double one[] = {2.03, 2.75, 2.02, 2.04, 2.035, 2.025};
    assert_int_equal(statistics_outliers(one, 6, out), 1);
    assert_true(out[1] && !out[0] && !out[5]);
    const double spread[] = {1, 2, 3, 4, 5, 6};
    assert_int_equal(statistics_outliers(spread, 6, out), 0);
    assert_int_equal(statistics_outliers(one, 4, out), 0); /* four values have none, whatever they are */
    const double ties[] = {1, 1, 1, 1, 1, 1.5};
    assert_int_equal(statistics_outliers(ties, 6, out), 1);
    assert_true(out[5]);
    const double same[] = {1, 1, 1, 1, 1};
    assert_int_equal(statistics_outliers(same, 5, out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_quantiles), cmocka_unit_test(t_in_closed_form), cmocka_unit_test(incomplete_beta),
        cmocka_unit_test(summaries),   cmocka_unit_test(outliers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
