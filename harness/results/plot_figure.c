#include "harness/results/plot_figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/gnuplot.h"
#include "harness/results/plot_data.h"
#include "harness/results/plot_font.h"
#include "harness/results/plot_marks.h"
#include "harness/results/plot_page.h"

enum { GROUPS_MOST = 2000 }; /* that pages are made of; far more than are ever drawn */

static const char *const format_names[] = {"svg", "png", "pdf", "gp"};

const char *plot_format_name(enum plot_format format)
{
    return format_names[format];
}

const char *plot_figure_id(int i)
{
    return catalogue_figure(i) ? catalogue_figure(i)->id : NULL;
}

/* A figure on its way. */
struct drawing {
    const struct catalogue_entry *e;
    const char *sql, *script, *x_name; /* script: the figure's own part, NULL: plots/ID.gp */
    enum plot_format format;
    bool inline_svg;
    struct plot_data d;
    struct plot_marks marks; /* of a figure over the steps */
    int *style;
    const struct result_look *look;
    bool spelled; /* names had letters that no font here has */
};

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

enum { UNFINISHED_NAMED = 4 }; /* the small print is no place for a list */

/* "all seed 2 (failed), ...": runs that have lines but are not done, on the heap; "" when there are none. */
static int say_unfinished(char **out, struct results *from, struct error *err)
{
    static const char sql[] = "SELECT DISTINCT variant, seed, state, grp FROM run_drawn r WHERE state <> 'done' AND "
                              "EXISTS (SELECT 1 FROM step s WHERE s.run = r.run) ORDER BY grp, seed";
    struct result_rows rows;
    int status = result_query(&rows, from->store, "the unfinished runs", sql, NULL, err);
    *out = memory_string("");
    for (int r = 0; !status && r < rows.rows && r <= UNFINISHED_NAMED; r++) {
        char *longer = r == UNFINISHED_NAMED
                           ? memory_format("%s and %d more", *out, rows.rows - r)
                           : memory_format("%s%s%s seed %.0f (%s)", *out, r ? ", " : "", result_text(&rows, r, 0),
                                           result_number(&rows, r, 1), result_text(&rows, r, 2));
        free(*out);
        *out = longer;
    }
    if (!status)
        result_rows_fini(&rows);
    return status;
}

/* What stands behind a line, and what is not there. */
static void put_seeds(FILE *out, const struct plot_data *d)
{
    if (d->binned)
        fputs("line: mean over the seeds and a few steps, band: smallest to largest", out);
    else if (d->seeds_low == d->seeds_high)
        fprintf(out, "n = %d, band: smallest to largest", d->seeds_low);
    else
        fprintf(out, "n = %d to %d, band: smallest to largest", d->seeds_low, d->seeds_high);
    if (d->smoothed)
        fprintf(out, "; lines: rolling mean of %d points", d->smoothed);
    if (d->fewer)
        fputs("; dotted where seeds are missing", out);
    if (d->beside)
        fprintf(out, "; %d of %d timings taken beside other runs", d->beside, d->timed);
    if (d->left_out)
        fprintf(out, "; %d value%s missing or not finite", d->left_out, d->left_out > 1 ? "s" : "");
}

/* What this figure has to say besides, on the heap; NULL: nothing. */
static int say_aside(char **out, struct results *from, const struct catalogue_entry *e, struct error *err)
{
    struct result_rows rows = {0};
    int status = e->aside ? result_query(&rows, from->store, e->id, e->aside, NULL, err) : STATUS_OK;
    if (!status && rows.rows > 0 && result_text(&rows, 0, 0))
        *out = memory_string(result_text(&rows, 0, 0));
    result_rows_fini(&rows);
    return status;
}

/* What every figure says of itself: the sweep, its runs, the seeds behind a line, what is not there, the program. */
static int make_caption(struct plot_image *image, struct results *from, const struct drawing *f, int page,
                        struct error *err)
{
    char *runs = NULL, *unfinished = NULL, *aside = NULL;
    size_t size = 0;
    int status = result_sweep_runs(from->store, image->sweep, &runs, err);
    if (!status)
        status = say_unfinished(&unfinished, from, err);
    if (!status)
        status = say_aside(&aside, from, f->e, err);
    if (!status) {
        char *program = result_program();
        const char *baseline = from->groups.baseline;
        FILE *out = open_memstream(&image->caption, &size);
        fprintf(out, "Sweep %s, %s; ", image->sweep, runs);
        for (int i = 0; i < from->choice.also_count; i++)
            fprintf(out, "and sweep %s; ", from->choice.also[i]);
        put_seeds(out, &f->d);
        if (*unfinished)
            fprintf(out, "; not done: %s", unfinished);
        if (aside)
            fprintf(out, "; %s", aside);
        if (baseline && strcmp(baseline, "baseline") != 0)
            fprintf(out, "; baseline: %s", baseline);
        if (image->pages > 1)
            fprintf(out, "; part %d of %d", page + 1, image->pages);
        if (f->spelled)
            fputs("; U+ stands for letters that no font here has", out);
        fprintf(out, "; %s", program);
        fclose(out);
        free(program);
    }
    free(aside);
    free(unfinished);
    free(runs);
    return status;
}

/* --------------------------------------------------------------------------------------------- the script */

/* In pixels, with the rows and columns of the key. */
struct canvas {
    int width, height, key_rows, key_columns;
};

enum { MARK_ROOM = 22 }; /* pixels for two rows of names above the first panels */
enum { KEY_LETTER = 7, KEY_SAMPLE = 40, KEY_ROW = 13, KEY_MARGINS = 40, KEY_ROWS_SHAPED = 2 };

/* How wide a text is, in letters; those of the East are two wide. */
static int letters(const char *text)
{
    int n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        n += (*p & 0xc0) == 0x80 ? 0 : *p >= 0xe3 ? 2 : 1;
    return n;
}

/* gnuplot gives all entries of a key the width of the longest. What needs more than two rows makes the figure higher:
 * gnuplot itself would draw them over the panels. */
static void lay_out_key(struct canvas *c, const struct plot_data *d)
{
    int longest = 1, entries = d->series + 1; /* and the gate's, or the baseline's */
    for (int s = 0; s < d->series; s++)
        longest = letters(d->series_names[s]) > longest ? letters(d->series_names[s]) : longest;
    c->key_columns = (c->width - KEY_MARGINS) / (longest * KEY_LETTER + KEY_SAMPLE);
    c->key_columns = c->key_columns > 0 ? c->key_columns : 1;
    c->key_rows = (entries + c->key_columns - 1) / c->key_columns;
    c->key_rows = c->key_rows > KEY_ROWS_SHAPED ? c->key_rows : KEY_ROWS_SHAPED;
}

static struct canvas canvas_of(const struct drawing *f)
{
    const struct figure_shape *s = &f->e->shape;
    int columns = f->d.columns > 0 ? f->d.columns : 1, across = columns < s->abreast ? columns : s->abreast;
    int down = (columns + s->abreast - 1) / s->abreast;
    struct canvas c = {.width = s->width + s->width_more * (across - 1),
                       .height = s->height + s->height_more * (down - 1)};
    lay_out_key(&c, &f->d);
    if (s->shares_lines || s->plan == FIGURE_NAMED)
        c.height += KEY_ROW * (c.key_rows - KEY_ROWS_SHAPED);
    if (s->shares_lines && f->marks.named)
        c.height += MARK_ROOM;
    if (f->look->width > 0) {
        c.width = f->look->width;
        lay_out_key(&c, &f->d);
    }
    if (f->look->height > 0)
        c.height = f->look->height;
    return c;
}

/* Sizes are in pixels of 1/96 inch; PNG has two dots a pixel, and fonts of PDF are in points, taken at 96 to the inch.
 */
static void put_terminal(FILE *out, const struct drawing *f, struct canvas size, enum plot_format format,
                         bool inline_svg)
{
    char name[32]; /* letters, digits and _ alone, says gnuplot */
    snprintf(name, sizeof name, "%s", f->e->id);
    for (char *p = name; *p; p++)
        *p = *p == '-' ? '_' : *p;
    if (format == PLOT_PNG)
        fprintf(out, "set terminal pngcairo size %d,%d font \"sans,11\" fontscale 1.5 linewidth 2 pointscale 1.8\n",
                2 * size.width, 2 * size.height);
    else if (format == PLOT_PDF)
        fprintf(
            out,
            "set terminal pdfcairo size %.4fin,%.4fin font \"sans,11\" fontscale 0.5625 linewidth 1.3 pointscale 0.6\n",
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

static void put_script(FILE *out, const struct drawing *f, const char *caption)
{
    struct canvas size = canvas_of(f);
    const char *id = f->e->id;
    char *wrapped = memory_string(caption);
    int lines = wrap(wrapped, (size.width - 20) * 10 / 46);
    fprintf(out, "# %s: %s\n# gnuplot THIS_FILE > %s.%s\n", id, f->e->title, id,
            f->format == PLOT_SCRIPT ? "svg" : format_names[f->format]);
    put_terminal(out, f, size, f->format, f->inline_svg);
    fprintf(out,
            "width = %d\nheight = %d\ncaption_lines = %d\nkey_columns = %d\nkey_rows = %d\ntitle_text = ", size.width,
            size.height, lines, size.key_columns, size.key_rows);
    plot_put_string(out, f->e->title);
    fprintf(out, "\nlog_y = %d", f->look->log_y);
    fputs("\ncaption = ", out);
    plot_put_string(out, wrapped);
    fputs("\nx_name = ", out);
    plot_put_string(out, f->x_name);
    fputc('\n', out);
    plot_data_print(&f->d, f->style, out);
    plot_marks_print(&f->marks, out);
    fprintf(out, "mark_room = %d\n", f->marks.named ? MARK_ROOM : 0);
    put_part(out, "plots/style.gp");
    if (f->script) {
        fprintf(out, "\n%s", f->script);
    } else {
        char *own = memory_format("plots/%s.gp", id);
        put_part(out, own);
        free(own);
    }
    if (f->e->shape.shares_lines)
        put_part(out, "plots/lines.gp");
    free(wrapped);
}

/* --------------------------------------------------------------------------------------------- after drawing */

/* The script prints its axes: each value of each row it drew must lie on them. */
static int check_axes(const char *id, const struct plot_data *d, const char *said, struct error *err)
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
                                     id, d->series_names[s], l->points[p].x, l->points[p].low, l->points[p].high, y0,
                                     y1);
        }
    }
    return seen ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: gnuplot did not report its axes: %.1000s", id, said);
}

static int draw(struct plot_image *out, const struct drawing *f, struct error *err)
{
    char *script = NULL;
    size_t size = 0;
    struct gnuplot_output drawn;
    FILE *memory = open_memstream(&script, &size);
    put_script(memory, f, out->caption);
    fclose(memory);
    if (f->format == PLOT_SCRIPT) {
        out->bytes = script;
        out->size = size;
        return STATUS_OK;
    }
    int status = gnuplot_run(&drawn, script, size, err);
    free(script);
    if (status)
        return error_wrap(err, "%s", f->e->id);
    status = check_axes(f->e->id, &f->d, drawn.said, err);
    out->bytes = drawn.image;
    out->size = drawn.size;
    drawn.image = NULL;
    gnuplot_output_fini(&drawn);
    return status;
}

/* --------------------------------------------------------------------------------------------- a page */

/* The groups that have data, of the sweep given or of the last that has any; the sweep is then the one prepared. */
static int find_groups(struct plot_pages *pages, char **sweep, struct results *from, const struct catalogue_entry *e,
                       const char *given, struct error *err)
{
    struct result_rows rows;
    int status = result_sweep_query(&rows, sweep, from, e->id, e->shape.groups, given, err);
    *pages = (struct plot_pages){0};
    if (status)
        return status;
    int count = rows.rows < GROUPS_MOST ? rows.rows : GROUPS_MOST,
        *with = memory_alloc((size_t)count + 1, sizeof *with);
    for (int i = 0; i < count; i++)
        with[i] = (int)result_number(&rows, i, 0);
    if (*sweep)
        plot_pages_make(pages, &from->groups, with, count, e->shape.plan, e->shape.most);
    free(with);
    result_rows_fini(&rows);
    return STATUS_OK;
}

/* A page of groups goes into as many figures as its lines take. */
struct parts {
    struct result_rows lines; /* of the figure's own query; none: one part */
    int most, count;
};

static int find_parts(struct parts *p, struct results *from, const struct plot_figure *figure, struct error *err)
{
    int status = STATUS_OK;
    p->count = 1;
    p->most = figure->lines_most;
    if (figure->lines)
        status = result_query(&p->lines, from->store, figure->entry->id, figure->lines, NULL, err);
    if (!status && p->lines.rows > p->most)
        p->count = (p->lines.rows + p->most - 1) / p->most;
    return status;
}

static int set_page(struct results *from, const struct plot_pages *pages, const struct parts *parts, int number,
                    struct error *err)
{
    int page = number / parts->count, first = number % parts->count * parts->most;
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fputs("DELETE FROM page", out);
    for (int i = 0; i < pages->groups[page]; i++)
        fprintf(out, "%s(%d)", i ? ", " : "; INSERT INTO page VALUES ", pages->group[page][i]);
    fputs("; DELETE FROM page_line", out);
    for (int i = first; i < parts->lines.rows && i < first + parts->most; i++) {
        char *line = result_quote(result_text(&parts->lines, i, 0));
        fprintf(out, "%s(%d, %s)", i > first ? ", " : "; INSERT INTO page_line VALUES ", i + 1, line);
        free(line);
    }
    fclose(out);
    int status = store_make_temporary(from->store, "the groups and lines drawn", sql, err);
    free(sql);
    return status;
}

/* What to do about more than can be drawn. */
static char *advice(const struct plot_image *image, const struct results *from, const struct catalogue_entry *e,
                    const struct parts *parts)
{
    const struct result_groups *g = &from->groups;
    if (parts->count > 1)
        return memory_format("%s: %d sites of %d configurations are too many lines for one figure: %d%s; narrow with "
                             "'--metric NAME:SITE' or --where",
                             e->id, parts->lines.rows, g->count, image->pages,
                             image->pages_left > 0 ? " are drawn, not all" : " are drawn");
    bool key = g->key_count > 0;
    char *where = g->count == 0 ? memory_string("variant=NAME")
                  : key         ? memory_format("%s=%s", g->keys[0], g->group[0].values[0])
                                : memory_format("variant=%s", g->group[g->count - 1].variant);
    char *text = memory_format(
        "%s: %d configurations are too many for one figure: %d%s of them; narrow with 'taper plot "
        "%s --sweep %s --where %s'",
        e->id, g->count, image->pages, image->pages_left > 0 ? " are drawn, not all" : "", e->id, image->sweep, where);
    free(where);
    return text;
}

static int make_page(struct plot_image *out, struct results *from, struct drawing *f, const struct plot_pages *pages,
                     const struct parts *parts, int page, bool *empty, struct error *err)
{
    int deal = page / parts->count, status = set_page(from, pages, parts, page, err);
    if (!status)
        status = plot_data_make(&f->d, from->store, f->e->id, f->sql, out->sweep, &from->groups, pages->group[deal],
                                f->e->shape.plan == FIGURE_NAMED ? 0 : pages->groups[deal], err);
    if (!status && !plot_data_has_any(&f->d)) {
        *empty = true;
        status =
            error_set(err, STATUS_FAILED, "%s: nothing to draw in sweep %s: no value is finite", f->e->id, out->sweep);
    }
    if (!status && strcmp(f->x_name, "step") == 0)
        status = plot_marks_find(&f->marks, from->store, &f->d, err);
    if (status)
        return status;
    if (f->look->smooth > 1)
        plot_data_smooth(&f->d, f->look->smooth);
    f->style = memory_alloc((size_t)f->d.series + 1, sizeof *f->style);
    plot_styles(f->d.series_names, f->d.series, f->style);
    if (f->format == PLOT_PNG || f->format == PLOT_PDF)
        f->spelled = plot_font_spell(&f->d);
    status = make_caption(out, from, f, page, err);
    if (!status && (f->format == PLOT_PNG || f->format == PLOT_PDF))
        plot_font_spell_text(&out->caption);
    if (!status) {
        out->title = memory_string(f->e->title);
        out->width = canvas_of(f).width;
        status = draw(out, f, err);
    }
    return status;
}

int plot_figure_draw(struct plot_image *out, struct results *from, const struct plot_figure *figure, const char *sweep,
                     int page, enum plot_format format, bool inline_svg, bool *empty, struct error *err)
{
    const struct catalogue_entry *e = figure->entry;
    struct drawing f = {.e = e,
                        .sql = figure->sql,
                        .script = figure->script,
                        .x_name = figure->x_name,
                        .look = &from->choice.look,
                        .format = format,
                        .inline_svg = inline_svg};
    struct plot_pages pages;
    struct parts parts = {0};
    bool nothing = false;
    const struct result_look *look = &from->choice.look;
    *out = (struct plot_image){0};
    if ((look->log_y || look->smooth) && !e->shape.shares_lines)
        return error_set(err, STATUS_BAD_INPUT, "%s: %s is for figures of lines over the steps", e->id,
                         look->log_y ? "--logy" : "--smooth");
    int status = find_groups(&pages, &out->sweep, from, e, sweep, err);
    if (!status && pages.count == 0) {
        nothing = true;
        status = error_set(err, STATUS_FAILED, "%s: nothing to draw%s%s: %s", e->id, sweep ? " in sweep " : "",
                           sweep ? sweep : "", e->needs);
    }
    if (!status)
        status = find_parts(&parts, from, figure, err);
    if (!status) {
        int count = pages.count * parts.count;
        out->pages = count < PLOT_PAGES_MOST ? count : PLOT_PAGES_MOST;
        out->pages_left = count - out->pages;
        if (count > 1)
            out->advice = advice(out, from, e, &parts);
        status = make_page(out, from, &f, &pages, &parts, page, &nothing, err);
    }
    if (empty)
        *empty = nothing;
    plot_pages_fini(&pages);
    result_rows_fini(&parts.lines);
    plot_data_fini(&f.d);
    plot_marks_fini(&f.marks);
    free(f.style);
    if (status)
        plot_image_fini(out);
    return status;
}

int plot_figure_make(struct plot_image *out, struct results *from, const char *id, const char *sweep, int page,
                     enum plot_format format, bool inline_svg, bool *empty, struct error *err)
{
    const struct catalogue_entry *e = catalogue_find(id, true);
    *out = (struct plot_image){0};
    if (empty)
        *empty = false;
    if (!e)
        return error_set(err, STATUS_BAD_INPUT, "no figure '%s'; 'taper help plot' lists them", id);
    char *query = memory_format("plots/%s.sql", e->id);
    struct plot_figure figure = {.entry = e, .sql = embedded_find(query)->text, .x_name = "step"};
    int status = plot_figure_draw(out, from, &figure, sweep, page, format, inline_svg, empty, err);
    free(query);
    return status;
}

void plot_image_fini(struct plot_image *image)
{
    free(image->bytes);
    free(image->title);
    free(image->caption);
    free(image->sweep);
    free(image->advice);
    *image = (struct plot_image){0};
}
