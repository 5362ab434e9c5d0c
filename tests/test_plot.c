/* Figures: the numbers handed to gnuplot, what it drew of them, and what happens without data or without gnuplot. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/results/gnuplot.h"
#include "harness/results/plot_data.h"
#include "harness/results/plot_figure.h"
#include "harness/results/result_sweep.h"
#include "harness/results/plot_marks.h"
#include "tests/support/fixture_db.h"
#include "tests/support/fixture_tuned.h"

static struct fixture f;
static struct results from;

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

static bool have_gnuplot(void)
{
    return system("command -v gnuplot > /dev/null 2>&1") == 0;
}

/* --------------------------------------------------------------------------------------------- numbers */

static struct plot_data data_of(const char *sql)
{
    struct plot_data d;
    GOOD(results_prepare(&from, "paper", err));
    GOOD(plot_data_make(&d, f.s, "test", sql, "paper", NULL, NULL, 0, err));
    return d;
}

static void means_and_bands_are_those_of_the_seeds(void **state)
{
    (void)state;
    struct plot_data d =
        data_of("SELECT 'c' AS col, 1 AS row, variant AS series, seed, state, step AS x, logit_rms AS y FROM "
                "step_shown WHERE sweep = :sweep ORDER BY place, x, seed");
    assert_int_equal(d.columns, 1);
    assert_int_equal(d.series, 7);
    for (int s = 0; s < 5; s++) {
        const struct plot_line *line = plot_data_line(&d, 0, 0, s);
        assert_string_equal(d.series_names[s], fixture_db_variant(s));
        assert_int_equal(line->count, 11);
        for (int p = 0; p < line->count; p++) {
            int step = (int)line->points[p].x, n = 0;
            double sum = 0, low = INFINITY, high = -INFINITY;
            for (int seed = 0; seed < 5; seed++) {
                bool there = !(s == 1 && seed == 3 && step > 30) && !(s == 2 && seed == 4) &&
                             !(s == 0 && seed == 4 && step > 50) && !(s == 3 && seed == 2 && step >= 60);
                if (!there)
                    continue;
                double y = fixture_db_logits(s, seed, step);
                sum += y;
                low = fmin(low, y);
                high = fmax(high, y);
                n++;
            }
            assert_int_equal(line->points[p].n, n);
            assert_true(fabs(line->points[p].mean - sum / n) < 1e-8);
            assert_true(fabs(line->points[p].low - low) < 1e-8 && fabs(line->points[p].high - high) < 1e-8);
        }
    }
    assert_int_equal(d.left_out, 5);
    assert_true(d.seeds_low == 2 && d.seeds_high == 5 && !d.binned && d.fewer);
    assert_true(plot_data_line(&d, 0, 0, 1)->points[4].fewer && !plot_data_line(&d, 0, 0, 1)->points[3].fewer);
    plot_data_fini(&d);
}

/* Long runs are put in bins, which keep every extreme. */
static void bins_keep_extremes(void **state)
{
    (void)state;
    struct plot_data d =
        data_of("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT 'c' AS "
                "col, 1 AS row, 's' AS series, 0 AS seed, 'done' AS state, i AS x, "
                "CASE i WHEN 12345 THEN 99.0 WHEN 777 THEN -7.5 ELSE i % 3 END AS y FROM n");
    const struct plot_line *line = plot_data_line(&d, 0, 0, 0);
    double low = INFINITY, high = -INFINITY;
    int n = 0;
    assert_true(d.binned && line->count <= PLOT_POINTS_MOST && line->count > PLOT_POINTS_MOST / 2);
    for (int p = 0; p < line->count; p++) {
        low = fmin(low, line->points[p].low);
        high = fmax(high, line->points[p].high);
        n += line->points[p].n;
        assert_true(p == 0 || line->points[p].x > line->points[p - 1].x);
    }
    assert_true(low == -7.5 && high == 99 && n == 20001);
    plot_data_fini(&d);
}

static void categories_keep_their_order(void **state)
{
    (void)state;
    struct plot_data d = data_of(
        "SELECT column1 AS col, 1 AS row, 's' AS series, 0 AS seed, 'done' AS state, column2 AS x, "
        "column3 AS y FROM (VALUES ('a', '40%', 1.0), ('a', '20%', 2.0), ('b', 'step', 3.0), ('a', '40%', 5.0))");
    assert_int_equal(d.columns, 2);
    assert_string_equal(d.categories[0], "40%");
    assert_string_equal(d.categories[1], "20%");
    assert_string_equal(d.categories[2], "step");
    assert_true(d.category_count[0] == 2 && d.category_first[1] == 2 && d.category_count[1] == 1);
    assert_true(plot_data_line(&d, 0, 0, 0)->points[0].mean == 3 && plot_data_line(&d, 0, 0, 0)->points[0].n == 2);
    plot_data_fini(&d);
}

static void texts_cannot_leave_their_quotes(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    plot_put_string(out, "a\"b`date`\\n\nc\x01");
    fclose(out);
    assert_string_equal(text, "\"a\\\"b\\`date\\`\\\\n\\nc\"");
    free(text);
}

/* --------------------------------------------------------------------------------------------- drawings */

static char *drawn(const char *id, enum plot_format format, size_t *size)
{
    struct plot_image image;
    GOOD(plot_figure_make(&image, &from, id, NULL, 0, format, false, NULL, err));
    char *bytes = image.bytes;
    if (size)
        *size = image.size;
    image.bytes = NULL;
    plot_image_fini(&image);
    return bytes;
}

static void draw_in_every_format(const char *id)
{
    static const char *const starts[] = {"<?xml", "\x89PNG\r\n\x1a\n", "%PDF-1."};
    for (int format = PLOT_SVG; format <= PLOT_PDF; format++) {
        size_t size;
        char *bytes = drawn(id, (enum plot_format)format, &size);
        if (size < 3000 || memcmp(bytes, starts[format], strlen(starts[format])) != 0)
            fail_msg("%s.%s: %zu bytes", id, plot_format_name((enum plot_format)format), size);
        free(bytes);
    }
}

static void every_figure_in_every_format(void **state)
{
    (void)state;
    static const char tuned[] = "fig-finetune";
    if (!have_gnuplot())
        skip();
    for (int i = 0; plot_figure_id(i); i++)
        if (strcmp(plot_figure_id(i), tuned) != 0)
            draw_in_every_format(plot_figure_id(i));
    fixture_tuned_fill(&f, false);
    draw_in_every_format(tuned);
}

/* The extremes of a polygon's points, "57.00,200.3 58.1,199 ..." up to the closing quote. */
static int extremes(const char *points, double *left, double *right, double *top, double *bottom)
{
    int n = 0;
    *left = *top = INFINITY;
    *right = *bottom = -INFINITY;
    for (const char *p = points; *p && *p != '\''; n++) {
        char *end;
        double x = strtod(p, &end), y = *end == ',' ? strtod(end + 1, &end) : NAN;
        assert_true(isfinite(y));
        *left = fmin(*left, x);
        *right = fmax(*right, x);
        *top = fmin(*top, y);
        *bottom = fmax(*bottom, y);
        p = end + strspn(end, " \n");
    }
    return n;
}

/* The band of each variant in fig-logit-chasing, in the order drawn: a filled path each. Steps run from 1 to 100 over
 * the panel, and pixels are linear in the value: two variants give the scale, all others must lie on it. */
static void a_drawing_holds_the_extremes(void **state)
{
    (void)state;
    if (!have_gnuplot())
        skip();
    char *svg = drawn("fig-logit-chasing", PLOT_SVG, NULL);
    double top[7], bottom[7], left, right, want_high[7], want_low[7];
    int found = 0;
    static const char band[] = "fill-opacity = '0.170000' points = '";
    for (const char *p = svg; (p = strstr(p, band)); found++) {
        p += strlen(band);
        assert_true(found < 7);
        assert_true(extremes(p, &left, &right, &top[found], &bottom[found]) >= 20);
    }
    assert_int_equal(found, 7);
    for (int v = 0; v < 7; v++) {
        want_high[v] = -INFINITY;
        want_low[v] = fixture_db_logits(v, 0, 1);
        for (int seed = 0; seed < (v < 5 ? 5 : 2); seed++)
            if (!(v == 2 && seed == 4) && !(v == 0 && seed == 4))
                want_high[v] = fmax(want_high[v], fixture_db_logits(v, seed, 100));
    }
    double scale = (bottom[3] - top[3]) / (want_high[3] - want_low[3]); /* pixels a unit, from the tallest */
    for (int v = 0; v < 7; v++) {
        if (fabs((bottom[v] - top[v]) - scale * (want_high[v] - want_low[v])) > 0.3)
            fail_msg("%s: %g pixels high, want %g", fixture_db_variant(v), bottom[v] - top[v],
                     scale * (want_high[v] - want_low[v]));
        if (fabs(bottom[v] - bottom[3] - scale * (want_low[3] - want_low[v])) > 0.3)
            fail_msg("%s: starts at %g", fixture_db_variant(v), bottom[v]);
    }
    free(svg);
}

static void small_print_tells_all(void **state)
{
    (void)state;
    char *script = drawn("fig-logit-chasing", PLOT_SCRIPT, NULL);
    char *caption = strstr(script, "\ncaption = ");
    assert_non_null(caption);
    *strchr(caption + 1, '\n') = '\0';
    static const char *const parts[] = {"Sweep paper",
                                        "29 runs: 26 done, 1 failed",
                                        "taper ",
                                        "5 values missing or not",
                                        "internal seed 3 (failed)",
                                        "baseline seed 4 (running)",
                                        "dotted where seeds are missing"};
    for (char *p = caption; *p; p++) /* line breaks stand as \n */
        if (p[0] == '\\' && p[1] == 'n')
            memmove(p, p + 1, strlen(p)), *p = ' ';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(caption, parts[i]))
            fail_msg("no '%s' in %s", parts[i], caption);
    free(script);
}

/* --------------------------------------------------------------------------------------------- marks */

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in the script", part);
}

/* Each site that goes is a tick of its line, once however often it was told, and each kind named where it begins. */
static void removals_are_marked(void **state)
{
    (void)state;
    fixture_tuned_fill(&f, false);
    char *script = drawn("fig-finetune", PLOT_SCRIPT, NULL);
    holds(script, "marks = 13\nnames = 4\n");
    holds(script, "name_step[1] = 6\nname_text[1] = \"ln_2\"\n");
    holds(script, "name_step[2] = 10\nname_text[2] = \"ln_1 QK\"\n");
    holds(script, "name_step[3] = 14\nname_text[3] = \"ln_1 V\"\n");
    holds(script, "name_step[4] = 18\nname_text[4] = \"ln_f\"\n");
    holds(script, "series_name[4] = \"fakeln\"\n");
    holds(script, "\n1 4 6 0\n1 4 7 0\n");
    assert_null(strstr(script, "\"pretrain\"")); /* begins with nothing */
    free(script);
    script = drawn("fig-logit-chasing", PLOT_SCRIPT, NULL);
    holds(script, "marks = 13\nnames = 4\n");
    free(script);
    if (!have_gnuplot())
        skip();
    char *svg = drawn("fig-finetune", PLOT_SVG, NULL);
    assert_int_equal(count_of(svg, ">ln_1 QK<"), 1); /* above the first panel alone */
    free(svg);
}

/* Gates that fall in turns change kinds at every mark: then only the first and the last have names. */
static void many_kinds_are_not_a_forest(void **state)
{
    (void)state;
    struct plot_marks m;
    struct plot_data d = {.group_count = 2, .column_of = (int[]){0, 0}, .series_of = (int[]){0, 1}};
    fixture_tuned_fill(&f, false);
    GOOD(results_prepare(&from, "tuned", err));
    char *sql = memory_format("DELETE FROM page; INSERT INTO page VALUES (0), (1)");
    GOOD(store_make_temporary(f.s, "a page", sql, err));
    free(sql);
    assert_true(fixture_change(&f,
                               "INSERT INTO event (time, run, step, kind, text) SELECT 0, r.id, 10 + n.i, 'removal', "
                               "'blocks.' || (n.i / 2) || iif(n.i % 2, '.mlp_norm', '.attn_norm') || ': gate 0' FROM "
                               "run r JOIN (SELECT 0 AS i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 "
                               "UNION SELECT 5) n WHERE r.variant IN ('vanilla', 'internal')") > 0);
    GOOD(plot_marks_find(&m, f.s, &d, err));
    assert_int_equal(m.count, 12);
    assert_string_equal(m.mark[0].name, "attn 0");
    assert_string_equal(m.mark[5].name, "mlp 2");
    for (int i = 1; i < 12; i++)
        assert_true(i == 5 || m.mark[i].name == NULL);
    assert_true(m.mark[5].level == 0 && m.mark[6].level == 1 && m.mark[6].series == 1);
    plot_marks_fini(&m);
}

/* --------------------------------------------------------------------------------------------- failures */

static void nothing_to_draw_says_why(void **state)
{
    (void)state;
    struct plot_image image;
    struct error why = {0};
    bool empty = false;
    fixture_submit(&f, "sweep: bare\nbase: {train.steps: 120}\nvariants: {all: {taper.sites: all}}\n");
    for (int i = 0; plot_figure_id(i); i++) {
        why = (struct error){0};
        assert_int_equal(
            plot_figure_make(&image, &from, plot_figure_id(i), "bare", 0, PLOT_SCRIPT, false, &empty, &why),
            STATUS_FAILED);
        assert_true(empty);
        assert_null(image.bytes);
        assert_non_null(strstr(why.text, "nothing to draw in sweep bare: no "));
    }
    why = (struct error){0};
    assert_int_equal(plot_figure_make(&image, &from, "fig-nine", NULL, 0, PLOT_SVG, false, &empty, &why),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(why.text, "no figure 'fig-nine'"));
    assert_false(empty);
    why = (struct error){0};
    assert_int_equal(plot_figure_make(&image, &from, "fig-loss", "nine", 0, PLOT_SVG, false, &empty, &why),
                     STATUS_BAD_INPUT);
}

/* Run with a PATH of one folder, with a program named gnuplot in it unless `script` is NULL. */
static int with_gnuplot(const char *script, struct error *why)
{
    struct gnuplot_output out;
    char *path = file_join(f.dir, "bin"), *program = memory_format("%s/bin/gnuplot", f.dir),
         *old = memory_string(getenv("PATH"));
    GOOD(file_make_directories(path, err));
    unlink(program);
    if (script) {
        GOOD(file_write_all(program, script, strlen(script), err));
        assert_int_equal(chmod(program, 0755), 0);
    }
    setenv("PATH", path, 1);
    int status = gnuplot_run(&out, "plot x\n", 7, why);
    setenv("PATH", old, 1);
    gnuplot_output_fini(&out);
    free(path);
    free(program);
    free(old);
    return status;
}

static void gnuplot_is_watched(void **state)
{
    (void)state;
    static const struct {
        const char *script, *says;
    } cases[] = {
        {NULL, "gnuplot: not found on the PATH; install it (Debian: apt-get install gnuplot-nox)"},
        {"#!/bin/sh\necho ' line 7: no such luck' >&2\nexit 3\n", "gnuplot: exit status 3: line 7: no such luck"},
        {"#!/bin/sh\nexit 0\n", "gnuplot: drew nothing"},
        {"#!/bin/sh\nkill -9 $$\n", "gnuplot: killed by signal 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error why = {0};
        assert_int_equal(with_gnuplot(cases[i].script, &why), STATUS_FAILED);
        if (!strstr(why.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", why.text, cases[i].says);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(means_and_bands_are_those_of_the_seeds),
        TEST(bins_keep_extremes),
        TEST(categories_keep_their_order),
        TEST(texts_cannot_leave_their_quotes),
        TEST(every_figure_in_every_format),
        TEST(a_drawing_holds_the_extremes),
        TEST(small_print_tells_all),
        TEST(removals_are_marked),
        TEST(many_kinds_are_not_a_forest),
        TEST(nothing_to_draw_says_why),
        TEST(gnuplot_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
