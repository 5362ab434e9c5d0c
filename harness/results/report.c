#include "harness/results/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/base/progress.h"
#include "harness/results/gnuplot.h"
#include "harness/results/plot_figure.h"
#include "harness/results/report_svg.h"
#include "harness/results/report_words.h"
#include "harness/results/table_text.h"
#include "harness/results/table.h"

/* Its tables and figures are those of the catalogue whose rows say so. */
struct section {
    const char *anchor, *heading, *text;
    bool folded; /* behind a summary to open */
};

static const struct section sections[] = {
    {"loss", "Validation loss",
     "The loss with norms removed against the loss with them. Each change is against the baseline of the same seed, "
     "which "
     "had the same batches; above zero is a cost, below zero a gain.",
     false},
    {"chasing", "The logits and the scale",
     "Without a final norm nothing holds the stream before the head, and descent may grow it and the logits with it; "
     "the "
     "auxiliary loss is to anchor the scale.",
     false},
    {"theory", "The gradient at h, and theory",
     "A final norm takes the radial part out of the gradient; without one it points inwards on tokens that are right.",
     false},
    {"gate", "The gate and the sites",
     "c is frozen when the gate begins to fall; where c times the mean scale leaves 1, the two branches have come to "
     "differ.",
     false},
    {"ablation", "Ablations", "One key of the taper at a time, all else equal.", false},
    {"speed", "Speed without norms", "Norms computed, scaled by a constant, and folded away.", false},
    {"finetune", "Fine-tuning",
     "Models that began with weights, their norms removed while they learn a text: the paper's four rows, and beside "
     "GPT-2's sizes what was published for them.",
     false},
    {"runs", "Every run", NULL, true},
};

enum { SECTIONS = sizeof sections / sizeof sections[0] };

static void put_text(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    table_put_html(out, text);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* --------------------------------------------------------------------------------------------- parts */

/* Where the page is, and what of it could not be made. */
struct page {
    FILE *out;
    struct results *from;
    const char *sweep;
    struct names *failed;
    struct progress_line line;
};

static void put_failure(struct page *p, const char *id, const struct error *why)
{
    put_text(p->out, "p class=\"none\"", why->text);
    names_add(p->failed, id);
    progress_end(&p->line);
    fprintf(stderr, "%s\n", why->text);
}

static void put_table(struct page *p, const char *id)
{
    struct table t;
    struct error why = {0};
    if (table_make(&t, p->from, id, p->sweep, &why)) {
        put_failure(p, id, &why);
        return;
    }
    put_text(p->out, "h3", t.layout.title);
    if (table_print(&t, TABLE_HTML, p->out, &why))
        put_failure(p, id, &why);
    table_fini(&t);
}

/* One page of a figure; what keeps it from being drawn stands in its place. Returns how many pages there are. */
static int put_figure(struct page *p, const struct catalogue_entry *e, int page)
{
    FILE *out = p->out;
    struct plot_image image;
    struct error why = {0};
    bool empty = false;
    if (plot_figure_make(&image, p->from, e->id, p->sweep, page, PLOT_SVG, true, &empty, &why)) {
        if (empty)
            put_text(out, "p class=\"none\"", why.text);
        else
            put_failure(p, e->id, &why);
        return 0;
    }
    char *id = page ? memory_format("%s-%d", e->id, page + 1) : memory_string(e->id);
    /* On a narrow screen a wide figure scrolls, at three quarters of its size, sooner than it shrinks beyond reading.
     */
    fprintf(out, "<figure id=\"%s\"%s style=\"--readable:%dpx;--whole:%dpx\">\n", id,
            image.width > 640 ? " class=\"wide\"" : "", image.width * 3 / 4, image.width);
    report_put_svg(out, image.bytes, id, image.title);
    put_text(out, "figcaption", e->caption);
    fputs("</figure>\n", out);
    if (page == 0 && image.pages_left > 0)
        put_text(out, "p class=\"none\"", image.advice);
    int pages = image.pages;
    plot_image_fini(&image);
    free(id);
    return pages;
}

static void put_figures(struct page *p, const char *anchor)
{
    const struct catalogue_entry *e;
    bool any = false;
    for (int i = 0; (e = catalogue_figure(i)); i++) {
        if (strcmp(e->section, anchor) != 0)
            continue;
        fputs(any ? "" : "<div class=\"figures\">\n", p->out);
        any = true;
        progress_item(&p->line, catalogue_figures() + catalogue_tables(), e->id);
        for (int page = 0, pages = 1; page < pages; page++)
            pages = put_figure(p, e, page);
    }
    fputs(any ? "</div>\n" : "", p->out);
}

static void put_section(struct page *p, const struct section *section)
{
    const struct catalogue_entry *e;
    FILE *out = p->out;
    fprintf(out, "<section>\n<h2 id=\"%s\">", section->anchor);
    table_put_html(out, section->heading);
    fputs("</h2>\n", out);
    if (section->text)
        put_text(out, "p", section->text);
    if (section->folded)
        fputs("<details><summary>Show the table</summary>\n", out);
    put_figures(p, section->anchor);
    for (int i = 0; (e = catalogue_table(i)); i++)
        if (strcmp(e->section, section->anchor) == 0) {
            progress_item(&p->line, catalogue_figures() + catalogue_tables(), e->id);
            put_table(p, e->id);
        }
    if (section->folded)
        fputs("</details>\n", out);
    fputs("</section>\n", out);
}

/* --------------------------------------------------------------------------------------------- the page */

static void put_head(FILE *out, const char *sweep, const char *about)
{
    char now[64] = "";
    time_t seconds = time(NULL);
    struct tm local;
    if (localtime_r(&seconds, &local))
        strftime(now, sizeof now, "%Y-%m-%d %H:%M", &local);
    char *program = result_program(), *title = memory_format("Sweep %s", sweep);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    put_text(out, "title", title);
    fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n<header>\n", embedded_find("results/report.css")->text);
    put_text(out, "h1", title);
    put_text(out, "p class=\"lead\"", about);
    fprintf(out, "<p class=\"small\">Made by %s, %s.</p>\n", program, now);
    fputs("<nav>\n<a href=\"#checks\">What it shows</a>\n", out);
    for (int i = 0; i < SECTIONS; i++)
        fprintf(out, "<a href=\"#%s\">%s</a>\n", sections[i].anchor, sections[i].heading);
    fputs("<a href=\"#again\">How to repeat it</a>\n</nav>\n</header>\n<main>\n", out);
    free(program);
    free(title);
}

static void put_again(FILE *out, const char *sweep, const char *spec)
{
    fputs(
        "<section>\n<h2 id=\"again\">How to repeat it</h2>\n<p>The sweep below, saved as a file, gives the same runs: "
        "a run is named "
        "by what determines its result, and on the same machine and program its numbers come out the same.</p>\n<pre>",
        out);
    char *lines =
        memory_format("taper run %s.yaml\ntaper table all --sweep %s --out out\ntaper plot all --sweep %s --out out\n"
                      "taper report --sweep %s --out report.html",
                      sweep, sweep, sweep, sweep);
    table_put_html(out, lines);
    free(lines);
    fputs("</pre>\n<details><summary>The sweep</summary>\n<pre>", out);
    table_put_html(out, spec);
    fputs("</pre>\n</details>\n<p>Any other question is a query away: <code>taper query</code>, and docs/queries.md "
          "for examples.</p>\n"
          "</section>\n",
          out);
}

int report_write(FILE *out, struct results *from, const char *given, struct names *failed, struct error *err)
{
    struct result_rows row = {0};
    struct store *s = from->store;
    char *sweep = given ? memory_string(given) : NULL;
    int status = given ? store_sweep_find(s, given, err) : result_sweep_last(s, &sweep, err);
    if (!status && !sweep)
        status = error_set(err, STATUS_BAD_INPUT, "this home has no sweep to report on");
    if (!status)
        status = gnuplot_find(err);
    if (!status)
        status = results_prepare(from, sweep, err);
    if (!status)
        status = result_query(&row, s, "the sweep", "SELECT about, spec FROM sweep WHERE name = :sweep", sweep, err);
    if (!status) {
        put_head(out, sweep, result_text(&row, 0, 0));
        status = report_put_about(out, from, sweep, err);
    }
    if (!status) {
        fputs("<section>\n<h2 id=\"checks\">What it shows</h2>\n", out);
        status = report_put_checks(out, from, sweep, err);
        fputs("</section>\n", out);
    }
    struct page page = {.out = out, .from = from, .sweep = sweep, .failed = failed};
    progress_begin(&page.line);
    if (out == stdout && isatty(STDOUT_FILENO))
        page.line.terminal = 0; /* the page itself goes there */
    for (int i = 0; !status && i < SECTIONS; i++)
        put_section(&page, &sections[i]);
    progress_end(&page.line);
    if (!status) {
        put_again(out, sweep, result_text(&row, 0, 1));
        fputs("</main>\n<script>\n"
              "addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => { d.open = "
              "true; }));\n"
              "</script>\n</body>\n</html>\n",
              out);
    }
    result_rows_fini(&row);
    free(sweep);
    return status;
}
