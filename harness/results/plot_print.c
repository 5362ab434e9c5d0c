/* The numbers of a figure as gnuplot reads them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"
#include "harness/results/plot_data.h"

void plot_put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\' || *text == '`')
            fprintf(out, "\\%c", *text); /* a backquote would run a command */
        else if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    fputc('"', out);
}

static void put_names(FILE *out, const char *name, char *const *texts, int count)
{
    fprintf(out, "array %s[%d]\n", name, count > 0 ? count : 1);
    for (int i = 0; i < count; i++) {
        fprintf(out, "%s[%d] = ", name, i + 1);
        plot_put_string(out, texts[i]);
        fputc('\n', out);
    }
}

static void put_integers(FILE *out, const char *name, const int *values, int count)
{
    fprintf(out, "array %s[%d]\n", name, count > 0 ? count : 1);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s[%d] = %d\n", name, i + 1, values[i]);
}

/* The smallest and the largest value of a row of a column; 0 and 1 when it has none. */
static void put_extremes(FILE *out, const struct plot_data *d, bool largest)
{
    int cells = d->columns * d->rows;
    char text[32];
    fprintf(out, "array %s[%d]\n", largest ? "highest" : "lowest", cells > 0 ? cells : 1);
    for (int i = 0; i < cells; i++) {
        double extreme = NAN;
        for (int s = 0; s < d->series; s++) {
            const struct plot_line *line = plot_data_line(d, i / d->rows, i % d->rows, s);
            for (int p = 0; p < line->count; p++) {
                double y = largest ? line->points[p].high : line->points[p].low;
                if (isnan(extreme) || (largest ? y > extreme : y < extreme))
                    extreme = y;
            }
        }
        fprintf(out, "%s[%d] = %s\n", largest ? "highest" : "lowest", i + 1,
                isnan(extreme) ? largest ? "1" : "0" : format_real(text, extreme));
    }
}

/* The mean stands twice more: where all of the line's seeds are there, and where some are not, with the points before
 * and after so that the two meet. */
static void put_line(FILE *out, const struct plot_line *line)
{
    char text[6][32];
    if (line->count == 0)
        fputs("NaN NaN NaN NaN NaN 0 NaN NaN\n", out);
    for (int p = 0; p < line->count; p++) {
        const struct plot_point *q = &line->points[p];
        bool meets =
            q->fewer || (p > 0 && line->points[p - 1].fewer) || (p + 1 < line->count && line->points[p + 1].fewer);
        const char *mean = format_real(text[1], q->mean);
        fprintf(out, "%s %s %s %s %s %d %s %s\n", format_real(text[0], q->x), mean, format_real(text[2], q->low),
                format_real(text[3], q->high), format_real(text[4], q->std), q->n, q->fewer ? "NaN" : mean,
                meets ? mean : "NaN");
    }
    fputs("\n\n", out);
}

static void put_values(FILE *out, const struct plot_data *d, int line)
{
    char text[2][32];
    int count = 0;
    for (int i = 0; i < d->value_count; i++) {
        const struct plot_value *v = &d->values[i];
        if ((v->column * d->rows + v->row) * d->series + v->series != line)
            continue;
        fprintf(out, "%s %s %d\n", format_real(text[0], v->x), format_real(text[1], v->y), v->seed);
        count++;
    }
    fputs(count ? "\n\n" : "NaN NaN NaN\n\n\n", out);
}

/* Labels of tics are formats to gnuplot: a percent sign is doubled. */
static void put_categories(FILE *out, const struct plot_data *d, int count)
{
    char **texts = memory_alloc((size_t)count + 1, sizeof *texts);
    for (int i = 0; i < count; i++) {
        char *to = texts[i] = memory_alloc(2 * strlen(d->categories[i]) + 1, 1);
        for (const char *p = d->categories[i]; *p; p++) {
            *to++ = *p;
            if (*p == '%')
                *to++ = '%';
        }
    }
    put_names(out, "category", texts, count);
    for (int i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void plot_data_print(const struct plot_data *d, const int *style, FILE *out)
{
    int lines = d->columns * d->rows * d->series, last = d->columns - 1;
    int *points = memory_alloc((size_t)lines + 1, sizeof *points);
    int categories = last < 0 ? 0 : d->category_first[last] + d->category_count[last];
    for (int l = 0; l < lines; l++)
        points[l] = d->lines[l].count;
    fprintf(out, "columns = %d\nrows = %d\nseries = %d\n", d->columns, d->rows, d->series);
    put_names(out, "column_name", d->column_names, d->columns);
    put_names(out, "series_name", d->series_names, d->series);
    put_integers(out, "series_style", style, d->series);
    put_categories(out, d, categories);
    put_integers(out, "category_first", d->category_first, d->columns);
    put_integers(out, "category_count", d->category_count, d->columns);
    put_integers(out, "points", points, lines);
    put_extremes(out, d, false);
    put_extremes(out, d, true);
    fputs("$lines << END\n", out);
    for (int l = 0; l < lines; l++)
        put_line(out, &d->lines[l]);
    fputs("END\n", out);
    if (categories > 0) { /* few values: each is drawn too */
        fputs("$values << END\n", out);
        for (int l = 0; l < lines; l++)
            put_values(out, d, l);
        fputs("END\n", out);
    }
    free(points);
}
