#include "harness/results/plot_figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/gnuplot.h"
#include "harness/results/plot_data.h"
#include "harness/results/result_sweep.h"

struct figure {
    const char *id, *title;
    int width, width_more;   /* pixels, and for every column after the first */
    int height, height_more; /* and for every column, or pair of columns, after the first */
    int abreast;             /* columns of the data side by side; the rest goes below */
    bool shares_lines;       /* plots/lines.gp follows */
    const char *needs;       /* what it takes to have data */
};

static const char logged[] = "no sweep of this home has logged steps ('taper run experiments/demo.yaml' makes some)";

static const struct figure figures[] = {
    {"fig-logit-chasing", "Logit chasing", 480, 330, 352, 0, 64, true, logged},
    {"fig-scale", "Scale of the residual stream", 480, 330, 352, 0, 64, true, logged},
    {"fig-radial", "Gradient at h", 480, 330, 492, 0, 64, true, logged},
    {"fig-loss", "Loss", 480, 330, 492, 0, 64, true, logged},
    {"fig-gate", "Agreement of the two branches, site by site", 560, 0, 352, 170, 2, false,
     "no sweep of this home has logged steps of a tapered variant"},
    {"fig-decode", "Decoding, tokens a second", 480, 0, 280, 170, 1, false,
     "no run was timed decoding ('after: {fold: true, bench: {decode: ...}}' in a sweep does that)"},
    {"fig-ablation", "One key of the taper at a time", 480, 40, 520, 0, 64, false,
     "no sweep of this home varies gate.end, gate.shape or aux.lambda over three values or more, all else equal"},
};

enum { FIGURES = sizeof figures / sizeof figures[0] };

static const char *const format_names[] = {"svg", "png", "pdf", "gp"};

const char *plot_format_name(enum plot_format format)
{
    return format_names[format];
}

const char *plot_figure_id(int i)
{
    return i >= 0 && i < FIGURES ? figures[i].id : NULL;
}

static const struct figure *find(const char *id)
{
    for (int i = 0; i < FIGURES; i++)
        if (strcmp(figures[i].id, id) == 0)
            return &figures[i];
    return NULL;
}

/* --------------------------------------------------------------------------------------------- small print */

/* Break a text into lines of at most `most` characters at spaces; returns the number of lines. */
static int wrap(char *text, int most)
{
    int lines = 1, column = 0;
    char *space = NULL;
    for (char *p = text; *p; p++) {
        if (((unsigned char)*p & 0xc0) != 0x80)
            column++;
        if (*p == ' ')
            space = p;
        if (column > most && space) {
            *space = '\n';
            column = (int)(p - space);
            space = NULL;
            lines++;
        }
    }
    return lines;
}

/* What every figure says of itself: the sweep, its runs, the seeds behind a line, what is not there, the program. */
static int make_caption(char **out, struct store *s, const char *sweep, const struct plot_data *d, struct error *err)
{
    char *runs = NULL;
    int status = result_sweep_runs(s, sweep, &runs, err);
    if (status)
        return status;
    char *program = result_program(), *seeds, *missing = NULL;
    if (d->binned)
        seeds = memory_format("line: mean over the seeds and a few steps, band: smallest to largest");
    else if (d->seeds_low == d->seeds_high)
        seeds = memory_format("n = %d, band: smallest to largest", d->seeds_low);
    else
        seeds = memory_format("n = %d to %d, band: smallest to largest", d->seeds_low, d->seeds_high);
    if (d->left_out)
        missing = memory_format("; %d value%s missing or not finite", d->left_out, d->left_out > 1 ? "s" : "");
    *out = memory_format("Sweep %s, %s; %s%s%s%s; %s", sweep, runs, seeds, missing ? missing : "",
                         *d->unfinished ? "; not done: " : "", d->unfinished, program);
    free(missing);
    free(seeds);
    free(program);
    free(runs);
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- the script */

struct canvas {
    int width, height;
};

static struct canvas canvas_of(const struct figure *f, const struct plot_data *d)
{
    int across = d->columns < f->abreast ? d->columns : f->abreast, down = (d->columns + f->abreast - 1) / f->abreast;
    return (struct canvas){f->width + f->width_more * (across - 1), f->height + f->height_more * (down - 1)};
}

/* Sizes are in pixels of 1/96 inch; PNG has two dots a pixel. */
static void put_terminal(FILE *out, const struct figure *f, struct canvas size, enum plot_format format,
                         bool inline_svg)
{
    char name[32]; /* letters, digits and _ alone, says gnuplot */
    snprintf(name, sizeof name, "%s", f->id);
    for (char *p = name; *p; p++)
        *p = *p == '-' ? '_' : *p;
    if (format == PLOT_PNG)
        fprintf(out, "set terminal pngcairo size %d,%d font \"sans,11\" fontscale 1.5 linewidth 2 pointscale 1.8\n",
                2 * size.width, 2 * size.height);
    else if (format == PLOT_PDF)
        fprintf(out,
                "set terminal pdfcairo size %.4fin,%.4fin font \"sans,8.25\" fontscale 1 linewidth 1 pointscale 0.6\n",
                size.width / 96.0, size.height / 96.0);
    else
        fprintf(out,
                "set terminal svg size %d,%d %s font \"Helvetica,Arial,sans-serif,11\" name \"%s\" "
                "background \"#ffffff\" linewidth 1 dashlength 0.6\n",
                size.width, size.height, inline_svg ? "dynamic" : "fixed", name);
}

static void put_part(FILE *out, const char *name)
{
    const struct embedded *part = embedded_find(name);
    fprintf(out, "\n# ---- %s\n%s", name, part->text);
}

static void put_script(FILE *out, const struct figure *f, const struct plot_data *d, const char *caption,
                       enum plot_format format, bool inline_svg)
{
    struct canvas size = canvas_of(f, d);
    char *wrapped = memory_string(caption), *own = memory_format("plots/%s.gp", f->id);
    int lines = wrap(wrapped, (size.width - 20) * 10 / 44);
    fprintf(out, "# %s: %s\n# gnuplot THIS_FILE > %s.%s\n", f->id, f->title, f->id,
            format == PLOT_SCRIPT ? "svg" : format_names[format]);
    put_terminal(out, f, size, format, inline_svg);
    fprintf(out, "width = %d\nheight = %d\ncaption_lines = %d\ntitle_text = ", size.width, size.height, lines);
    plot_put_string(out, f->title);
    fputs("\ncaption = ", out);
    plot_put_string(out, wrapped);
    fputc('\n', out);
    plot_data_print(d, out);
    put_part(out, "plots/style.gp");
    put_part(out, own);
    if (f->shares_lines)
        put_part(out, "plots/lines.gp");
    free(own);
    free(wrapped);
}

/* --------------------------------------------------------------------------------------------- after drawing */

/* The script prints its axes: each value of each row it drew must lie on them. */
static int check_axes(const struct figure *f, const struct plot_data *d, const char *said, struct error *err)
{
    int seen = 0;
    for (const char *line = said; (line = strstr(line, "axes ")); line += 5) {
        int c, r;
        double x0, x1, y0, y1;
        if (sscanf(line, "axes %d %d %lf %lf %lf %lf", &c, &r, &x0, &x1, &y0, &y1) != 6 || c < 1 || c > d->columns ||
            r < 1 || r > d->rows)
            continue;
        seen++;
        for (int s = 0; s < d->series; s++) {
            const struct plot_line *l = plot_data_line(d, c - 1, r - 1, s);
            for (int p = 0; p < l->count; p++)
                if (l->points[p].x < x0 || l->points[p].x > x1 || l->points[p].low < y0 || l->points[p].high > y1)
                    return error_set(err, STATUS_FAILED, "%s: %s at %g reaches from %g to %g, the axes from %g to %g",
                                     f->id, d->series_names[s], l->points[p].x, l->points[p].low, l->points[p].high, y0,
                                     y1);
        }
    }
    return seen ? STATUS_OK
                : error_set(err, STATUS_FAILED, "%s: gnuplot did not report its axes: %.1000s", f->id, said);
}

static int draw(struct plot_image *out, const struct figure *f, const struct plot_data *d, enum plot_format format,
                bool inline_svg, struct error *err)
{
    char *script = NULL;
    size_t size = 0;
    struct gnuplot_output drawn;
    FILE *memory = open_memstream(&script, &size);
    put_script(memory, f, d, out->caption, format, inline_svg);
    fclose(memory);
    if (format == PLOT_SCRIPT) {
        out->bytes = script;
        out->size = size;
        return STATUS_OK;
    }
    int status = gnuplot_run(&drawn, script, size, err);
    free(script);
    if (status)
        return error_wrap(err, "%s", f->id);
    status = check_axes(f, d, drawn.said, err);
    out->bytes = drawn.image;
    out->size = drawn.size;
    drawn.image = NULL;
    gnuplot_output_fini(&drawn);
    return status;
}

int plot_figure_make(struct plot_image *out, struct store *s, const char *id, const char *sweep,
                     enum plot_format format, bool inline_svg, bool *empty, struct error *err)
{
    const struct figure *f = find(id);
    struct result_rows rows = {0};
    struct plot_data d = {0};
    *out = (struct plot_image){0};
    if (empty)
        *empty = false;
    if (!f)
        return error_set(err, STATUS_BAD_INPUT, "no figure '%s'; 'taper help plot' lists them", id);
    char *query = memory_format("plots/%s.sql", id);
    int status = result_sweep_query(&rows, &out->sweep, s, id, embedded_find(query)->text, sweep, err);
    free(query);
    if (!status)
        status = plot_data_make(&d, &rows, id, err);
    if (!status && !plot_data_has_any(&d)) {
        if (empty)
            *empty = true;
        status = error_set(err, STATUS_FAILED, "%s: nothing to draw%s%s: %s", id, sweep ? " in sweep " : "",
                           sweep ? sweep : "", d.raw.rows ? "no value is finite" : f->needs);
    }
    if (!status)
        status = make_caption(&out->caption, s, out->sweep, &d, err);
    if (!status) {
        out->title = memory_string(f->title);
        out->width = canvas_of(f, &d).width;
        status = draw(out, f, &d, format, inline_svg, err);
    }
    plot_data_fini(&d);
    result_rows_fini(&rows);
    if (status)
        plot_image_fini(out);
    return status;
}

void plot_image_fini(struct plot_image *image)
{
    free(image->bytes);
    free(image->title);
    free(image->caption);
    free(image->sweep);
    *image = (struct plot_image){0};
}
