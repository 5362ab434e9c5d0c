#include "harness/base/format.h"
#include "harness/results/report_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/base/listing.h"
#include "harness/results/statistics.h"
#include "harness/results/table_text.h"

static void put(FILE *out, const char *class, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One item, its text escaped. */
static void put(FILE *out, const char *class, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(out, "<li class=\"%s\">", class);
    table_put_html(out, text);
    fputs("</li>\n", out);
}

/* --------------------------------------------------------------------------------------------- the end of the runs */

/* The last logged step of the finished runs, by configuration, over the seeds. */
static const char ends_sql[] =
    "SELECT r.grp, avg(l.logit_rms) AS logits, avg(l.scale_mean) AS scale, avg(l.scale_target) AS target, "
    "count(*) AS runs FROM run_shown r JOIN step_last l ON l.run = r.run WHERE r.state = 'done' GROUP BY r.grp";

/* The configurations at one point of a sweep's grid. */
struct ends {
    const struct result_rows *rows;
    const struct result_groups *groups;
    const char *panel; /* NULL: there is only one */
    char *where;       /* " (train.lr 0.003)" */
};

static double end_of(const struct ends *e, const char *variant, const char *column)
{
    for (int r = 0; r < e->rows->rows; r++) {
        const struct result_group *g = &e->groups->group[(int)result_number(e->rows, r, 0)];
        if (strcmp(g->variant, variant) == 0 && (!e->panel || strcmp(g->panel, e->panel) == 0))
            return result_number(e->rows, r, result_column(e->rows, column));
    }
    return NAN;
}

static void say_chasing(FILE *out, const struct ends *ends)
{
    double all = end_of(ends, "all", "logits"), anchored = end_of(ends, "all+aux", "logits");
    double base = end_of(ends, "baseline", "logits");
    if (isnan(all) || isnan(anchored) || isnan(base)) {
        put(out, "open", "Logit chasing%s: not to be judged, it takes finished runs of all, all+aux and baseline.",
            ends->where);
        return;
    }
    /* A few percent may be the seeds: only a tenth above both is called chasing. */
    double least = all / fmax(anchored, base);
    put(out,
        least > 1.1 ? "holds"
        : least > 1 ? "open"
                    : "fails",
        "Logit chasing%s: %s. The RMS of the logits ends at %.2f for all, at %.2f for all+aux and at "
        "%.2f for the baseline: without an anchor %.2f times the baseline's, with one %.2f times.",
        ends->where,
        least > 1.1 ? "visible, and held by the anchor"
        : least > 1 ? "too small here to be told from chance"
                    : "not visible here",
        all, anchored, base, all / base, anchored / base);
}

/* What the paper and the replication found the loss to cost, in percent. */
static const struct {
    const char *variant, *who;
    double low, high;
} published[] = {
    {"internal", "the replication's", 0.28, 0.34},
    {"internal+aux", "the paper's", 0.7, 1.5},
    {"all+aux", "the paper's", 0.8, 1.8},
};

/* One item for each of those variants, and each configuration of it: the interval of the paired change against the
 * published range. It holds where the mean lies in the range and zero lies outside the interval, and fails where the
 * two do not meet. */
static int say_cost(FILE *out, struct results *from, struct error *err)
{
    static const char sql[] =
        "SELECT grp, change_percent FROM run_against_baseline WHERE run <> baseline_run ORDER BY grp";
    struct result_rows rows;
    int said = 0, status = result_query(&rows, from->store, "the changes", sql, NULL, err);
    double *x = memory_alloc((size_t)(status ? 0 : rows.rows) + 1, sizeof *x);
    for (int begin = 0, n; !status && begin < rows.rows; begin += n) {
        int group = (int)result_number(&rows, begin, 0);
        for (n = 0; begin + n < rows.rows && (int)result_number(&rows, begin + n, 0) == group; n++)
            x[n] = result_number(&rows, begin + n, 1);
        for (size_t p = 0; p < sizeof published / sizeof published[0]; p++) {
            if (strcmp(published[p].variant, from->groups.group[group].variant) != 0)
                continue;
            struct summary s = statistics_summary(x, n);
            double half = statistics_half_width(&s, 0.95), low = s.mean - half, high = s.mean + half;
            bool within = s.mean >= published[p].low && s.mean <= published[p].high;
            bool apart = low > published[p].high || high < published[p].low;
            const char *verdict = n < 2 ? "open" : apart ? "fails" : within && low > 0 ? "holds" : "open";
            char *name = result_group_name(&from->groups, group);
            if (n < 2)
                put(out, verdict,
                    "Loss of %s: %+.2f%% against the baseline, of one seed: no interval to judge by (%s "
                    "range is %+.2f to %+.2f%%).",
                    name, s.mean, published[p].who, published[p].low, published[p].high);
            else
                put(out, verdict,
                    "Loss of %s: %+.2f%% [%+.2f, %+.2f] against the baseline of the same seed, over %d "
                    "seeds; %s range is %+.2f to %+.2f%%: %s.",
                    name, s.mean, low, high, n, published[p].who, published[p].low, published[p].high,
                    apart             ? "not the same"
                    : *verdict == 'h' ? "the same"
                                      : "too uncertain here to tell");
            free(name);
            said++;
        }
    }
    if (!status && said == 0)
        put(out, "open",
            "Loss: not to be judged, it takes finished runs of the baseline and of internal, internal+aux or all+aux.");
    free(x);
    if (!status)
        result_rows_fini(&rows);
    return status;
}

static void say_scale(FILE *out, const struct ends *ends)
{
    double all = end_of(ends, "all", "scale"), anchored = end_of(ends, "all+aux", "scale");
    double target = end_of(ends, "all+aux", "target");
    if (isnan(all) || isnan(anchored) || isnan(target)) {
        put(out, "open", "Scale anchoring%s: not to be judged, it takes finished runs of all and all+aux.",
            ends->where);
        return;
    }
    bool nearer = fabs(anchored - target) < fabs(all - target);
    put(out, nearer ? "holds" : "fails",
        "Scale anchoring%s: s(h) ends at %.2f with the auxiliary loss (target %.2f) and at %.2f "
        "without; the anchor %s.",
        ends->where, anchored, target, all, nearer ? "pulls it towards the target" : "does not pull it nearer");
}

/* --------------------------------------------------------------------------------------------- table-theory */

/* Over all runs of the sweep, from the rows of table-theory's own query. */
static const char theory_name[] = "results/tables/table-theory.sql";

static double largest(const struct result_rows *rows, const char *column)
{
    int c = result_column(rows, column);
    double most = NAN;
    for (int r = 0; r < rows->rows; r++)
        if (isfinite(result_number(rows, r, c)) && !(result_number(rows, r, c) <= most))
            most = result_number(rows, r, c);
    return most;
}

static double total(const struct result_rows *rows, const char *column)
{
    int c = result_column(rows, column);
    double sum = 0;
    for (int r = 0; r < rows->rows; r++)
        sum += isfinite(result_number(rows, r, c)) ? result_number(rows, r, c) : 0;
    return sum;
}

static void say_theory(FILE *out, const struct result_rows *rows)
{
    double radial = largest(rows, "normed_radial"), relative = largest(rows, "normed_relative");
    double leading = total(rows, "leading"), bounded = total(rows, "bounded"), fold = largest(rows, "fold_error");
    if (isnan(radial))
        put(out, "open", "Proposition 1: not to be judged, no step was logged with a final norm.");
    else
        put(out, relative < 1e-2 ? "holds" : "fails",
            "Proposition 1 (a final norm takes the radial part out of the gradient at h): "
            "the largest mean radial gradient of any logged step is %.1e, at most %.1e of the tangential part: %s.",
            radial, relative, relative < 1e-2 ? "zero up to eps and rounding" : "more than rounding explains");
    if (leading <= 0)
        put(out, "open",
            "Proposition 2: not to be judged, no step was logged without a final norm whose bias would not count "
            "(LayerNorm's does).");
    else
        put(out, bounded / leading > 0.999 ? "holds" : "fails",
            "Proposition 2 (without it, descent on a token whose correct class "
            "leads makes |h| grow): %.4f%% of the leading tokens obey the bound (a head that is linear in h makes "
            "them: this "
            "checks the arithmetic, not the paper).",
            100 * bounded / leading);
    if (isnan(fold))
        put(out, "open", "Folding: no run of this sweep was folded and checked.");
    else
        put(out, fold < 1e-3 ? "holds" : "fails",
            "Folding: the logits of the folded models differ from the tapered ones by at most "
            "%.1e, relative: %s.",
            fold, fold < 1e-3 ? "the fold is exact up to rounding" : "more than rounding explains");
}

enum { POINTS_SAID = 8 };

/* Logits and scale, once for every point of the grid. */
static void say_ends(FILE *out, const struct result_rows *rows, const struct result_groups *groups)
{
    int said = 0;
    bool several = false;
    for (int g = 1; g < groups->count; g++)
        several |= strcmp(groups->group[g].panel, groups->group[0].panel) != 0;
    for (int g = 0; g < groups->count && said < POINTS_SAID; g++) {
        const char *panel = groups->group[g].panel;
        bool seen = false;
        for (int before = 0; !seen && before < g; before++)
            seen = strcmp(groups->group[before].panel, panel) == 0;
        if (seen)
            continue;
        struct ends e = {rows, groups, several ? panel : NULL,
                         several ? memory_format(" (%s)", panel) : memory_string("")};
        say_chasing(out, &e);
        say_scale(out, &e);
        free(e.where);
        said++;
    }
}

int report_put_checks(FILE *out, struct results *from, const char *sweep, struct error *err)
{
    struct result_rows ends = {0}, theory = {0};
    int status = result_query(&ends, from->store, "the ends of the runs", ends_sql, sweep, err);
    if (!status)
        status = result_query(&theory, from->store, theory_name, embedded_find(theory_name)->text, sweep, err);
    if (!status) {
        fputs("<ul class=\"checks\">\n", out);
        status = say_cost(out, from, err);
        say_ends(out, &ends, &from->groups);
        say_theory(out, &theory);
        fputs("</ul>\n", out);
    }
    result_rows_fini(&ends);
    result_rows_fini(&theory);
    return status;
}

/* --------------------------------------------------------------------------------------------- what was run */

/* Label, and the distinct values over the sweep's runs. */
static const char about_sql[] =
    "WITH r AS (SELECT * FROM run_in_sweep WHERE sweep = :sweep) "
    "SELECT 'Model' AS label, (SELECT group_concat(size || iif(low IS NULL, '', ' (' || format('%.2f', low) || "
    "iif(format("
    "'%.2f', high) <> format('%.2f', low), ' to ' || format('%.2f', high), '') || '\xc2\xa0M parameters)')) FROM "
    "(SELECT "
    "size, min(params) / 1e6 AS low, max(params) / 1e6 AS high FROM r GROUP BY size ORDER BY low)) AS value "
    "UNION ALL SELECT 'Variants', (SELECT group_concat(variant) FROM (SELECT variant FROM r GROUP BY variant ORDER BY "
    "min(position))) "
    "UNION ALL SELECT 'Seeds', group_concat(DISTINCT seed) FROM r "
    "UNION ALL SELECT 'Data', group_concat(DISTINCT config ->> '$.\"data.corpus\"') FROM r "
    "UNION ALL SELECT 'Steps', group_concat(DISTINCT steps) FROM r "
    "UNION ALL SELECT 'Tokens a step', group_concat(DISTINCT (config ->> '$.\"train.batch\"') * "
    "(config ->> '$.\"train.accumulate\"') * (config ->> '$.\"model.context\"')) FROM r "
    "UNION ALL SELECT 'Machines', (SELECT group_concat(DISTINCT coalesce(host, 'unknown') || ', ' || coalesce(device, "
    "'unknown')) "
    "FROM r WHERE started IS NOT NULL) "
    "UNION ALL SELECT 'Programs', (SELECT group_concat(DISTINCT version || ' (' || revision || ')') FROM attempt WHERE "
    "run IN "
    "(SELECT run FROM r))";

static const char span_sql[] =
    "SELECT min(started) AS first, max(ended) AS last, sum(ended - started) AS us FROM attempt WHERE run IN "
    "(SELECT run FROM run_in_sweep WHERE sweep = :sweep)";

static void put_term(FILE *out, const char *label, const char *value)
{
    fputs("<dt>", out);
    table_put_html(out, label);
    fputs("</dt><dd>", out);
    for (const char *p = value; *p; p++) { /* group_concat puts a bare comma between */
        char one[2] = {*p, '\0'};
        table_put_html(out, one);
        if (*p == ',' && p[1] && p[1] != ' ')
            fputc(' ', out);
    }
    fputs("</dd>\n", out);
}

static void put_span(FILE *out, const struct result_rows *span)
{
    char first[32], last[32];
    double us = result_number(span, 0, 2);
    if (span->rows == 0 || isnan(us))
        return;
    format_time(first, (int64_t)result_number(span, 0, 0));
    format_time(last, (int64_t)result_number(span, 0, 1));
    char *text = memory_format("%s to %s; %.0f min of all runs together", first, last, us / 60e6);
    put_term(out, "Time", text);
    free(text);
}

int report_put_about(FILE *out, struct results *from, const char *sweep, struct error *err)
{
    struct result_rows about = {0}, span = {0};
    char *runs = NULL;
    int status = result_sweep_runs(from->store, sweep, &runs, err);
    if (!status)
        status = result_query(&about, from->store, "the sweep", about_sql, sweep, err);
    if (!status)
        status = result_query(&span, from->store, "the sweep's time", span_sql, sweep, err);
    if (!status) {
        fputs("<dl>\n", out);
        put_term(out, "Runs", runs);
        for (int r = 0; r < about.rows; r++)
            if (result_text(&about, r, 1))
                put_term(out, result_text(&about, r, 0), result_text(&about, r, 1));
        put_span(out, &span);
        fputs("</dl>\n", out);
    }
    free(runs);
    result_rows_fini(&about);
    result_rows_fini(&span);
    return status;
}
