#include "harness/results/plot_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/results/statistics.h"
#include "harness/base/listing.h"

enum { UNFINISHED_NAMED = 4 }; /* the small print is no place for a list */

struct columns {
    int col, row, series, seed, state, x, y;
};

/* The place of a text in a list that grows. */
static int place_of(char ***names, int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp((*names)[i], text) == 0)
            return i;
    *names = memory_resize(*names, (size_t)*count + 1, sizeof **names);
    (*names)[*count] = memory_string(text);
    return (*count)++;
}

static int find_columns(const struct result_rows *rows, struct columns *c, const char *id, struct error *err)
{
    const struct {
        const char *name;
        int *at;
    } wanted[] = {{"col", &c->col}, {"row", &c->row}, {"series", &c->series}, {"seed", &c->seed}, {"state", &c->state},
                  {"x", &c->x},     {"y", &c->y}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        *wanted[i].at = result_column(rows, wanted[i].name);
        if (*wanted[i].at < 0)
            return error_set(err, STATUS_FAILED, "%s: the query has no column '%s'", id, wanted[i].name);
    }
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- the grid */

static const char *name_at(const struct result_rows *rows, int r, int column)
{
    const char *text = result_text(rows, r, column);
    return text ? text : "";
}

/* Categories of one column: its own texts of x, in the order they come in. */
static void number_categories(struct plot_data *d, const struct columns *c, const int *column_of)
{
    const struct result_rows *rows = &d->raw;
    int total = 0;
    d->category_first = memory_alloc((size_t)d->columns + 1, sizeof *d->category_first);
    d->category_count = memory_alloc((size_t)d->columns + 1, sizeof *d->category_count);
    for (int column = 0; column < d->columns; column++) {
        char **names = NULL;
        int count = 0;
        for (int r = 0; r < rows->rows; r++)
            if (column_of[r] == column && result_text(rows, r, c->x))
                d->raw_x[r] = place_of(&names, &count, result_text(rows, r, c->x)) + 1;
        d->category_first[column] = total;
        d->category_count[column] = count;
        d->categories = memory_resize(d->categories, (size_t)(total + count) + 1, sizeof *d->categories);
        for (int i = 0; i < count; i++)
            d->categories[total++] = names[i];
        free(names);
    }
}

static void place_rows(struct plot_data *d, const struct columns *c)
{
    const struct result_rows *rows = &d->raw;
    int *column_of = memory_alloc((size_t)rows->rows + 1, sizeof *column_of);
    int *series_of = memory_alloc((size_t)rows->rows + 1, sizeof *series_of);
    d->raw_line = memory_alloc((size_t)rows->rows + 1, sizeof *d->raw_line);
    d->raw_x = memory_alloc((size_t)rows->rows + 1, sizeof *d->raw_x);
    for (int r = 0; r < rows->rows; r++) {
        int row = (int)result_number(rows, r, c->row);
        column_of[r] = place_of(&d->column_names, &d->columns, name_at(rows, r, c->col));
        series_of[r] = place_of(&d->series_names, &d->series, name_at(rows, r, c->series));
        d->raw_x[r] = result_number(rows, r, c->x);
        d->rows = row > d->rows ? row : d->rows;
    }
    number_categories(d, c, column_of);
    for (int r = 0; r < rows->rows; r++)
        d->raw_line[r] = (column_of[r] * d->rows + (int)result_number(rows, r, c->row) - 1) * d->series + series_of[r];
    free(column_of);
    free(series_of);
}

/* --------------------------------------------------------------------------------------------- lines */

struct value {
    double x, y;
};

static int by_x(const void *a, const void *b)
{
    double x = ((const struct value *)a)->x, y = ((const struct value *)b)->x;
    return (x > y) - (x < y);
}

static struct plot_point summarize(const struct value *v, int n)
{
    double *y = memory_alloc((size_t)n, sizeof *y), x = 0;
    for (int i = 0; i < n; i++) {
        y[i] = v[i].y;
        x += v[i].x / n;
    }
    struct summary s = statistics_summary(y, n);
    free(y);
    return (struct plot_point){
        .x = v[0].x == v[n - 1].x ? v[0].x : x, .mean = s.mean, .low = s.min, .high = s.max, .std = s.std, .n = n};
}

static int count_distinct(const struct value *v, int n)
{
    int distinct = 0;
    for (int i = 0; i < n; i++)
        distinct += i == 0 || v[i].x != v[i - 1].x;
    return distinct;
}

/* Sorted values to points: equal x together, and `wide` distinct ones in a bin. */
static void make_line(struct plot_line *line, struct value *v, int n, int *wide)
{
    qsort(v, (size_t)n, sizeof *v, by_x);
    int distinct = count_distinct(v, n);
    *wide = (distinct + PLOT_POINTS_MOST - 1) / PLOT_POINTS_MOST;
    line->points = memory_alloc((size_t)distinct + 1, sizeof *line->points);
    for (int begin = 0, end; begin < n; begin = end) {
        int seen = 0;
        for (end = begin; end < n; end++) {
            if (end == begin || v[end].x != v[end - 1].x)
                seen++;
            if (seen > *wide)
                break;
        }
        line->points[line->count++] = summarize(v + begin, end - begin);
    }
}

static void make_lines(struct plot_data *d, const struct columns *c)
{
    const struct result_rows *rows = &d->raw;
    int lines = d->columns * d->rows * d->series;
    int *count = memory_alloc((size_t)lines + 1, sizeof *count),
        *first = memory_alloc((size_t)lines + 2, sizeof *first);
    struct value *values = memory_alloc((size_t)rows->rows + 1, sizeof *values);
    d->lines = memory_alloc((size_t)lines + 1, sizeof *d->lines);
    for (int r = 0; r < rows->rows; r++)
        if (isfinite(result_number(rows, r, c->y)))
            count[d->raw_line[r]]++;
        else
            d->left_out++;
    for (int l = 0; l < lines; l++) {
        first[l + 1] = first[l] + count[l];
        count[l] = 0;
    }
    for (int r = 0; r < rows->rows; r++) {
        int l = d->raw_line[r];
        if (isfinite(result_number(rows, r, c->y)))
            values[first[l] + count[l]++] = (struct value){d->raw_x[r], result_number(rows, r, c->y)};
    }
    for (int l = 0; l < lines; l++) {
        int wide = 1;
        if (count[l] > 0)
            make_line(&d->lines[l], values + first[l], count[l], &wide);
        d->binned |= wide > 1;
    }
    free(values);
    free(first);
    free(count);
}

/* --------------------------------------------------------------------------------------------- what to say */

static void note_unfinished(struct plot_data *d, const struct columns *c)
{
    const struct result_rows *rows = &d->raw;
    char **said = NULL;
    int count = 0, who = result_column(rows, "who");
    d->unfinished = memory_string("");
    for (int r = 0; r < rows->rows; r++) {
        const char *state = result_text(rows, r, c->state);
        if (!state || strcmp(state, "done") == 0)
            continue;
        char *name = memory_format("%s seed %.0f (%s)", name_at(rows, r, who < 0 ? c->series : who),
                                   result_number(rows, r, c->seed), state);
        int before = count;
        bool fresh = place_of(&said, &count, name) == before;
        if (fresh && before < UNFINISHED_NAMED) {
            char *longer = memory_format("%s%s%s", d->unfinished, before ? ", " : "", name);
            free(d->unfinished);
            d->unfinished = longer;
        }
        free(name);
    }
    if (count > UNFINISHED_NAMED) {
        char *longer = memory_format("%s and %d more", d->unfinished, count - UNFINISHED_NAMED);
        free(d->unfinished);
        d->unfinished = longer;
    }
    for (int i = 0; i < count; i++)
        free(said[i]);
    free(said);
}

static void note_seeds(struct plot_data *d)
{
    for (int column = 0; column < d->columns; column++)
        for (int s = 0; s < d->series; s++) {
            const struct plot_line *line = plot_data_line(d, column, 0, s);
            for (int p = 0; p < line->count; p++) {
                int n = line->points[p].n;
                d->seeds_low = d->seeds_low == 0 || n < d->seeds_low ? n : d->seeds_low;
                d->seeds_high = n > d->seeds_high ? n : d->seeds_high;
            }
        }
}

int plot_data_make(struct plot_data *out, struct result_rows *rows, const char *id, struct error *err)
{
    struct columns c;
    *out = (struct plot_data){.raw = *rows};
    *rows = (struct result_rows){0};
    int status = out->raw.columns == 0 ? STATUS_OK : find_columns(&out->raw, &c, id, err);
    if (status) {
        plot_data_fini(out);
        return status;
    }
    if (out->raw.rows == 0) {
        out->unfinished = memory_string("");
        return STATUS_OK;
    }
    place_rows(out, &c);
    make_lines(out, &c);
    note_unfinished(out, &c);
    note_seeds(out);
    return STATUS_OK;
}

void plot_data_fini(struct plot_data *d)
{
    for (int l = 0; d->lines && l < d->columns * d->rows * d->series; l++)
        free(d->lines[l].points);
    for (int i = 0; d->category_first && i < d->category_first[d->columns - 1] + d->category_count[d->columns - 1]; i++)
        free(d->categories[i]);
    for (int i = 0; i < d->columns; i++)
        free(d->column_names[i]);
    for (int i = 0; i < d->series; i++)
        free(d->series_names[i]);
    free(d->lines);
    free(d->categories);
    free(d->category_first);
    free(d->category_count);
    free(d->column_names);
    free(d->series_names);
    free(d->raw_line);
    free(d->raw_x);
    free(d->unfinished);
    result_rows_fini(&d->raw);
    *d = (struct plot_data){0};
}

const struct plot_line *plot_data_line(const struct plot_data *d, int column, int row, int series)
{
    return &d->lines[(column * d->rows + row) * d->series + series];
}

bool plot_data_has_any(const struct plot_data *d)
{
    return d->seeds_high > 0;
}

/* --------------------------------------------------------------------------------------------- gnuplot */

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
    fprintf(out, "array %s[%d]\n", largest ? "highest" : "lowest", cells);
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

static void put_line(FILE *out, const struct plot_line *line)
{
    char text[5][32];
    if (line->count == 0)
        fputs("NaN NaN NaN NaN NaN 0\n", out);
    for (int p = 0; p < line->count; p++) {
        const struct plot_point *q = &line->points[p];
        fprintf(out, "%s %s %s %s %s %d\n", format_real(text[0], q->x), format_real(text[1], q->mean),
                format_real(text[2], q->low), format_real(text[3], q->high), format_real(text[4], q->std), q->n);
    }
    fputs("\n\n", out);
}

static void put_values(FILE *out, const struct plot_data *d, int line, int y, int seed)
{
    char text[2][32];
    int count = 0;
    for (int r = 0; r < d->raw.rows; r++)
        if (d->raw_line[r] == line && isfinite(result_number(&d->raw, r, y))) {
            fprintf(out, "%s %s %.0f\n", format_real(text[0], d->raw_x[r]),
                    format_real(text[1], result_number(&d->raw, r, y)), result_number(&d->raw, r, seed));
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

void plot_data_print(const struct plot_data *d, FILE *out)
{
    int lines = d->columns * d->rows * d->series, last = d->columns - 1;
    int *points = memory_alloc((size_t)lines + 1, sizeof *points);
    bool categories = d->category_first[last] + d->category_count[last] > 0;
    for (int l = 0; l < lines; l++)
        points[l] = d->lines[l].count;
    fprintf(out, "columns = %d\nrows = %d\nseries = %d\n", d->columns, d->rows, d->series);
    put_names(out, "column_name", d->column_names, d->columns);
    put_names(out, "series_name", d->series_names, d->series);
    put_categories(out, d, d->category_first[last] + d->category_count[last]);
    put_integers(out, "category_first", d->category_first, d->columns);
    put_integers(out, "category_count", d->category_count, d->columns);
    put_integers(out, "points", points, lines);
    put_extremes(out, d, false);
    put_extremes(out, d, true);
    fputs("$lines << END\n", out);
    for (int l = 0; l < lines; l++)
        put_line(out, &d->lines[l]);
    fputs("END\n", out);
    if (categories) { /* few values: each is drawn too */
        fputs("$values << END\n", out);
        for (int l = 0; l < lines; l++)
            put_values(out, d, l, result_column(&d->raw, "y"), result_column(&d->raw, "seed"));
        fputs("END\n", out);
    }
    free(points);
}
