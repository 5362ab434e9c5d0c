/* Curves: the place for them in a page, which the script fills, and the numbers it asks for. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/page/page_html.h"
#include "harness/page/page_parts.h"
#include "harness/results/curve_data.h"
#include "harness/results/metric_names.h"

/* An answer's work: of the first one little, so that the first lines are there at once, of the others so much that no
 * question holds a reader for long. */
enum { FIRST_MS = 60, PATIENCE_MS = 250 };
enum { POINTS = 400, STEPS_MOST = 2000000000 };

/* "sweep" and, as often as wanted, "also". */
static int choose_sweeps(const struct page_call *c, struct result_choice *choice, struct error *err)
{
    int status = STATUS_OK;
    for (int i = 0; !status && i < c->count; i++) {
        if (strcmp(c->names[i], "also") != 0 || !*c->values[i])
            continue;
        if (choice->also_count == RESULT_CHOICES_MOST)
            return error_set(err, STATUS_BAD_INPUT, "at most %d sweeps beside", RESULT_CHOICES_MOST);
        choice->also[choice->also_count++] = c->values[i];
        status = store_sweep_find(c->reader->store, c->values[i], err);
    }
    return status;
}

static const char *parameter_or(const struct page_call *c, const char *name, const char *fallback)
{
    const char *value = page_parameter(c, name);
    return value && *value ? value : fallback;
}

int page_json_curves(struct page_call *c, struct error *err)
{
    long long points = POINTS;
    struct result_choice choice = {0};
    struct curve_question q = {.metric = parameter_or(c, "metric", "ce"),
                               .x = parameter_or(c, "x", "step"),
                               .run = page_parameter(c, "run"),
                               .log_x = page_parameter(c, "logx") != NULL,
                               .live = page_parameter(c, "live") != NULL};
    int status = page_need(c, "sweep", &q.sweep, err);
    if (!status)
        status = page_integer(c, "points", 2, CURVE_POINTS, POINTS, &points, err);
    if (!status)
        status = page_integer(c, "low", 0, STEPS_MOST, 0, &q.low, err);
    if (!status)
        status = page_integer(c, "high", 0, STEPS_MOST, 0, &q.high, err);
    if (!status)
        status = page_integer(c, "from", 0, STEPS_MOST, 0, &q.from, err);
    if (!status)
        status = choose_sweeps(c, &choice, err);
    if (!status)
        status = page_reader_prepare(c->reader, q.sweep, choice.also_count ? &choice : NULL, err);
    q.points = (int)points;
    q.milliseconds = q.from ? PATIENCE_MS : FIRST_MS;
    return status ? status : curve_write(c->out, &c->reader->from, &q, err);
}

/* ------------------------------------------------------------------------------------------ its place */

static void put_option(FILE *out, const char *value, const char *text)
{
    fputs("<option value=\"", out);
    page_text(out, value);
    fputs("\">", out);
    page_text(out, text);
    fputs("</option>", out);
}

/* Sites that the first run of any variant has. */
static int find_sites(struct result_rows *out, struct page_call *c, const char *sweep, struct error *err)
{
    return result_query(out, c->reader->store, "the sites",
                        "WITH first AS MATERIALIZED (SELECT m.run, (SELECT min(step) FROM site_step t WHERE t.run = "
                        "m.run) AS step FROM (SELECT run, min(position) FROM sweep_run WHERE sweep = :sweep GROUP BY "
                        "variant) m) SELECT DISTINCT t.site FROM first f JOIN site_step t ON t.run = f.run AND t.step "
                        "= f.step ORDER BY t.site NOT LIKE 'blocks.%', CAST(substr(t.site, 8) AS INTEGER), t.site",
                        sweep, err);
}

static int put_metrics(struct page_call *c, const char *sweep, struct error *err)
{
    FILE *out = c->out;
    struct result_rows sites;
    int status = find_sites(&sites, c, sweep, err);
    if (status)
        return status;
    fputs("<label>Metric <select name=\"metric\"><optgroup label=\"of evaluations\">", out);
    put_option(out, "val_loss", "val_loss");
    fputs("</optgroup><optgroup label=\"of steps\">", out);
    for (const char *const *m = metric_of_steps; *m; m++) {
        fprintf(out, "<option value=\"%s\"%s>%s</option>", *m, m == metric_of_steps ? " selected" : "", *m);
    }
    fputs("</optgroup>", out);
    for (const char *const *m = metric_of_sites; *m && sites.rows; m++) {
        fprintf(out, "<optgroup label=\"%s of a site\">", *m);
        for (int r = 0; r < sites.rows; r++) {
            char *value = memory_format("%s:%s", *m, result_text(&sites, r, 0));
            put_option(out, value, value);
            free(value);
        }
        fputs("</optgroup>", out);
    }
    fputs("</select></label>\n", out);
    result_rows_fini(&sites);
    return STATUS_OK;
}

/* Other sweeps, to lay over it. */
static int put_others(struct page_call *c, const char *sweep, struct error *err)
{
    struct result_rows others;
    int status = result_query(&others, c->reader->store, "the sweeps",
                              "SELECT name FROM sweep WHERE name <> :sweep ORDER BY updated DESC", sweep, err);
    if (status)
        return status;
    if (others.rows) {
        fputs("<label>Beside <select name=\"also\"><option value=\"\">no other sweep</option>", c->out);
        for (int r = 0; r < others.rows; r++)
            put_option(c->out, result_text(&others, r, 0), result_text(&others, r, 0));
        fputs("</select></label>\n", c->out);
    }
    result_rows_fini(&others);
    return STATUS_OK;
}

int page_put_curves(struct page_call *c, const char *sweep, const char *run, struct error *err)
{
    FILE *out = c->out;
    page_element(out, "h2 id=\"curves\"", "Curves");
    if (!page_has_dygraphs()) {
        page_element(out, "p class=\"none\"",
                     "No curves without dygraphs (Debian: libjs-dygraphs); the tables and figures are as ever.");
        return STATUS_OK;
    }
    fputs("<noscript><p class=\"none\">Curves need script; the figures of the next page do not.</p></noscript>\n"
          "<section class=\"curves\" aria-labelledby=\"curves\" data-sweep=\"",
          out);
    page_text(out, sweep);
    fputs("\" data-run=\"", out);
    page_text(out, run);
    fputs("\">\n<form class=\"filter\">", out);
    int status = put_metrics(c, sweep, err);
    if (status)
        return status;
    fputs("<label>against <select name=\"x\"><option value=\"step\">step</option><option "
          "value=\"tokens\">tokens</option><option value=\"time\">time</option></select></label>\n",
          out);
    if (!run)
        fputs("<label>Lines <select name=\"by\"><option value=\"group\">variants, means</option><option "
              "value=\"run\">single runs</option></select></label>\n",
              out);
    fprintf(out,
            "<label>Band <select name=\"band\">%s<option value=\"all\">all values</option><option "
            "value=\"none\">none</option></select></label>\n",
            run ? "" : "<option value=\"seeds\">means of seeds</option>");
    fputs("<label>Mean of <input name=\"roll\" type=\"number\" min=\"1\" max=\"200\" value=\"1\"> points</label>\n"
          "<label><input name=\"logy\" type=\"checkbox\" value=\"1\"> log y</label>\n<label><input name=\"logx\" "
          "type=\"checkbox\" value=\"1\"> log x</label>\n",
          out);
    if (!run)
        status = put_others(c, sweep, err);
    fputs("<button type=\"button\" name=\"whole\" hidden>Whole range</button></form>\n<div class=\"chart\" "
          "role=\"img\" tabindex=\"0\" aria-label=\"Curves\"></div>\n<p class=\"small said\" role=\"status\"></p>\n<ul "
          "class=\"legend\"></ul>\n</section>\n",
          out);
    return status;
}
