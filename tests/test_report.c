/* The report's parts: texts escaped, checks in words, SVG made fit for a page. The specs it is usually made from load.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/results/report.h"
#include "harness/results/report_svg.h"
#include "harness/results/report_words.h"
#include "harness/results/result_sweep.h"
#include "harness/spec/spec.h"
#include "tests/support/fixture_db.h"

static struct fixture f;
static struct results from;
static struct names failed;

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    fixture_db_fill(&f);
    GOOD(results_init(&from, f.s, NULL, err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    results_fini(&from);
    fixture_fini(&f);
    return 0;
}

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in\n%s", part, text);
}

static char *checks(const char *sweep)
{
    char *text = NULL;
    size_t size = 0;
    GOOD(results_prepare(&from, sweep, err));
    FILE *out = open_memstream(&text, &size);
    GOOD(report_put_checks(out, &from, sweep, err));
    fclose(out);
    return text;
}

static void checks_say_what_the_numbers_say(void **state)
{
    (void)state;
    char *text = checks("paper");
    /* At step 100: all 6.5 + 0.03125 seed over the seeds 0, 1, 3, 4 that are done and finite; all+aux 2.75 + 0.0625 ...
     */
    holds(text, "<li class=\"holds\">Logit chasing: visible, and held by the anchor. The RMS of the logits ends at "
                "6.56 for all, at "
                "2.81 for all+aux and at 2.55 for the baseline");
    holds(text, "<li class=\"holds\">Scale anchoring: s(h) ends at 1.10 with the auxiliary loss (target 1.06) and at "
                "4.00 without");
    holds(
        text,
        "<li class=\"holds\">Loss of internal+aux: +1.01% [+1.00, +1.03] against the baseline of the same seed, over 4 "
        "seeds; the paper's range is +0.70 to +1.50%: the same.");
    holds(text, "<li class=\"open\">Loss of all+aux: "); /* one seed far off */
    holds(text, "<li class=\"holds\">Proposition 1");
    holds(text, "any logged step is 5.0e-07, at most 4.0e-07 of the tangential part");
    holds(text, "<li class=\"fails\">Proposition 2"); /* the made-up steps break the bound on purpose */
    holds(
        text,
        "<li class=\"holds\">Folding: the logits of the folded models differ from the tapered ones by at most 9.0e-07");
    free(text);
}

/* Chasing is a claim about more than a few percent. */
static void chasing_takes_more_than_chance(void **state)
{
    (void)state;
    static const char set[] =
        "UPDATE step SET logit_rms = %s WHERE run IN (SELECT run FROM sweep_run WHERE variant = 'all')";
    static const char *const rows[][2] = {
        {"2.9", "<li class=\"open\">Logit chasing: too small here to be told from chance."},
        {"2.0", "<li class=\"fails\">Logit chasing: not visible here."}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *sql = memory_format(set, rows[i][0]);
        assert_true(fixture_change(&f, sql) > 0);
        char *text = checks("paper");
        holds(text, rows[i][1]);
        free(text);
        free(sql);
    }
}

static void checks_know_what_they_cannot_judge(void **state)
{
    (void)state;
    fixture_submit(&f, "sweep: bare\nbase: {train.steps: 120}\n");
    char *text = checks("bare");
    static const char *const open[] = {"Logit chasing: not to be judged", "Scale anchoring: not to be judged",
                                       "Proposition 1: not to be judged", "Proposition 2: not to be judged",
                                       "Folding: no run of this sweep was folded"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        holds(text, open[i]);
    assert_null(strstr(text, "class=\"holds\""));
    assert_null(strstr(text, "class=\"fails\""));
    free(text);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    if (system("command -v gnuplot > /dev/null 2>&1") != 0)
        skip();
    FILE *out = open_memstream(&text, &size);
    GOOD(report_write(out, &from, NULL, &failed, err));
    fclose(out);
    assert_int_equal(failed.count, 0);
    holds(text, "<p class=\"lead\">A sweep &lt;made up&gt; &amp; &quot;full of trouble&quot;</p>");
    holds(text, "about: A sweep &lt;made up&gt; &amp;"); /* in the YAML at the end */
    holds(text, "baseline, internal, internal+aux, all, all+aux, end-20, end-70");
    holds(text, "29 runs: 26 done, 1 failed, 1 running, 1 queued");
    assert_null(strstr(text, "<made up>"));
    free(text);
}

static void no_sweep_no_report(void **state)
{
    (void)state;
    struct fixture empty;
    struct error why = {0};
    fixture_init(&empty);
    struct results none;
    GOOD(results_init(&none, empty.s, NULL, err));
    assert_int_equal(report_write(stderr, &none, NULL, &failed, &why), STATUS_BAD_INPUT);
    holds(why.text, "no sweep to report on");
    why = (struct error){0};
    assert_int_equal(report_write(stderr, &from, "papier", &failed, &why), STATUS_BAD_INPUT);
    holds(why.text, "paper");
    results_fini(&none);
    fixture_fini(&empty);
}

static void svg_is_made_fit_for_a_page(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    report_put_svg(
        out,
        "<?xml version=\"1.0\"?>\n<svg width=\"2\">\n<title>x</title><desc>by</desc><g id=\"canvas\"><path id='gp1'/>"
        "<use xlink:href='#gp1' fill=\"url(#gp2)\"/></g></svg>\n",
        "fig-a", "A <b>");
    fclose(out);
    assert_string_equal(text, "<svg role=\"img\" aria-label=\"A &lt;b&gt;\" width=\"2\">\n<g><path id='fig-a-gp1'/>"
                              "<use xlink:href='#fig-a-gp1' fill=\"url(#fig-a-gp2)\"/></g></svg>\n");
    free(text);
}

static void the_paper_s_sweeps_load(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int runs;
    } specs[] = {{"experiments/demo.yaml", 36},          {"experiments/first.yaml", 6},
                 {"experiments/probe.yaml", 64},         {"experiments/tinystories.yaml", 120},
                 {"experiments/ablation-gate.yaml", 24}, {"experiments/ablation-lambda.yaml", 33},
                 {"experiments/decode.yaml", 6},         {"experiments/gpt2-demo.yaml", 15}};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct spec spec;
        GOOD(spec_load(&spec, specs[i].path, stderr, err));
        assert_int_equal(spec.run_count, specs[i].runs);
        spec_fini(&spec);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(checks_say_what_the_numbers_say),
        TEST(chasing_takes_more_than_chance),
        TEST(checks_know_what_they_cannot_judge),
        TEST(texts_are_escaped),
        TEST(no_sweep_no_report),
        cmocka_unit_test(svg_is_made_fit_for_a_page),
        cmocka_unit_test(the_paper_s_sweeps_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
