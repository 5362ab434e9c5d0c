#include "harness/results/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/plot_figure.h"
#include "harness/results/report_svg.h"
#include "harness/results/report_words.h"
#include "harness/results/result_sweep.h"
#include "harness/results/table_text.h"
#include "harness/results/table.h"

struct section {
    const char *anchor, *heading, *text;
    const char *tables[3], *figures[3];
    bool folded; /* behind a summary to open */
};

static const struct section sections[] = {
    {"loss",
     "Validation loss",
     "What removing the norms costs. Each change is against the baseline of the same seed, which had the same batches.",
     {"table-tinystories"},
     {"fig-loss"},
     false},
    {"chasing",
     "Logit chasing and the scale",
     "Without a final norm, descent grows the stream before the head and the logits with it; the auxiliary loss "
     "anchors the scale.",
     {NULL},
     {"fig-logit-chasing", "fig-scale"},
     false},
    {"theory",
     "The gradient at h, and theory",
     "A final norm takes the radial part out of the gradient; without one it points inwards on tokens that are right.",
     {"table-theory"},
     {"fig-radial"},
     false},
    {"gate",
     "The gate and the sites",
     "c is frozen when the gate begins to fall; where c times the mean scale leaves 1, the two branches have come to "
     "differ.",
     {NULL},
     {"fig-gate"},
     false},
    {"ablation",
     "Ablations",
     "One key of the taper at a time, all else equal.",
     {"table-ablation"},
     {"fig-ablation"},
     false},
    {"speed",
     "Speed without norms",
     "Norms computed, scaled by a constant, and folded away.",
     {"table-decode", "table-last-token"},
     {"fig-decode"},
     false},
    {"gpt2", "GPT-2", "Fine-tuned checkpoints beside the published numbers.", {"table-gpt2"}, {NULL}, false},
    {"runs", "Every run", NULL, {"table-runs"}, {NULL}, true},
};

enum { SECTIONS = sizeof sections / sizeof sections[0] };

static const struct {
    const char *id, *text;
} captions[] = {
    {"fig-loss", "Training and validation loss, mean over the seeds; grey: the gate falling from 1 to 0."},
    {"fig-logit-chasing",
     "RMS of the logits. all should part from the others when the gate falls, all+aux should stay with them."},
    {"fig-scale",
     "Mean of s(h) before the final norm; the dotted lines are the calibrated targets of the anchored variants."},
    {"fig-radial", "Radial part (signed mean) and tangential part (RMS) of the loss gradient at h."},
    {"fig-gate", "c times the mean scale at every tapered site, dark to light from the first block to the last."},
    {"fig-ablation", "Each point a seed. Above: loss at the end. Below: against the baseline of the same seed."},
    {"fig-decode",
     "Bars: mean over the runs, with the range. Above the bars: speedup over the baseline of the same run."},
};

static const char *caption_of(const char *id)
{
    for (size_t i = 0; i < sizeof captions / sizeof captions[0]; i++)
        if (strcmp(captions[i].id, id) == 0)
            return captions[i].text;
    return "";
}

static void put_text(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    table_put_html(out, text);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* --------------------------------------------------------------------------------------------- parts */

static int put_table(FILE *out, struct store *s, const char *id, const char *sweep, struct error *err)
{
    struct table t;
    int status = table_make(&t, s, id, sweep, err);
    if (status)
        return status;
    put_text(out, "h3", t.layout.title);
    status = table_print(&t, TABLE_HTML, out, err);
    table_fini(&t);
    return status;
}

static int put_figure(FILE *out, struct store *s, const char *id, const char *sweep, struct error *err)
{
    struct plot_image image;
    bool empty = false;
    int status = plot_figure_make(&image, s, id, sweep, PLOT_SVG, true, &empty, err);
    if (status && empty) {
        put_text(out, "p class=\"none\"", err->text);
        *err = (struct error){0};
        return STATUS_OK;
    }
    if (status)
        return status;
    /* On a narrow screen a wide figure scrolls, at three quarters of its size, sooner than it shrinks beyond reading.
     */
    fprintf(out, "<figure id=\"%s\"%s style=\"--readable:%dpx;--whole:%dpx\">\n", id,
            image.width > 640 ? " class=\"wide\"" : "", image.width * 3 / 4, image.width);
    report_put_svg(out, image.bytes, id, image.title);
    put_text(out, "figcaption", caption_of(id));
    fputs("</figure>\n", out);
    plot_image_fini(&image);
    return STATUS_OK;
}

static int put_section(FILE *out, struct store *s, const struct section *section, const char *sweep, struct error *err)
{
    struct error own = {0};
    int status = STATUS_OK;
    fprintf(out, "<section>\n<h2 id=\"%s\">", section->anchor);
    table_put_html(out, section->heading);
    fputs("</h2>\n", out);
    if (section->text)
        put_text(out, "p", section->text);
    if (section->folded)
        fputs("<details><summary>Show the table</summary>\n", out);
    if (section->figures[0])
        fputs("<div class=\"figures\">\n", out);
    for (int i = 0; !status && section->figures[i]; i++)
        status = put_figure(out, s, section->figures[i], sweep, &own);
    if (section->figures[0])
        fputs("</div>\n", out);
    for (int i = 0; !status && section->tables[i]; i++)
        status = put_table(out, s, section->tables[i], sweep, &own);
    if (section->folded)
        fputs("</details>\n", out);
    fputs("</section>\n", out);
    return status ? error_set(err, own.status, "%s", own.text) : STATUS_OK;
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

int report_write(FILE *out, struct store *s, const char *given, struct error *err)
{
    struct result_rows row = {0};
    char *sweep = given ? memory_string(given) : NULL;
    int status = given ? store_sweep_find(s, given, err) : result_sweep_last(s, &sweep, err);
    if (!status && !sweep)
        status = error_set(err, STATUS_BAD_INPUT, "this home has no sweep to report on");
    if (!status)
        status = result_query(&row, s, "the sweep", "SELECT about, spec FROM sweep WHERE name = :sweep", sweep, err);
    if (!status) {
        put_head(out, sweep, result_text(&row, 0, 0));
        status = report_put_about(out, s, sweep, err);
    }
    if (!status) {
        fputs("<section>\n<h2 id=\"checks\">What it shows</h2>\n", out);
        status = report_put_checks(out, s, sweep, err);
        fputs("</section>\n", out);
    }
    for (int i = 0; !status && i < SECTIONS; i++)
        status = put_section(out, s, &sections[i], sweep, err);
    if (!status) {
        put_again(out, sweep, result_text(&row, 0, 1));
        fputs("</main>\n</body>\n</html>\n", out);
    }
    result_rows_fini(&row);
    free(sweep);
    return status;
}
