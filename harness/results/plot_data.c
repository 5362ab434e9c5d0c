#include "harness/results/plot_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/results/statistics.h"
#include "harness/store/store_rows.h"

enum { AT_COL, AT_ROW, AT_SERIES, AT_SEED, AT_X, AT_Y, AT_GRP, AT_AT, AT_BESIDE, COLUMNS };

static const char *const names[COLUMNS] = {"col", "row", "series", "seed", "x", "y", "grp", "at", "beside"};

/* The place of a text in a list that grows. */
static int place_of(char ***list, int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp((*list)[i], text) == 0)
            return i;
    *list = memory_resize(*list, (size_t)*count + 1, sizeof **list);
    (*list)[*count] = memory_string(text);
    return (*count)++;
}

/* --------------------------------------------------------------------------------------------- reading */

struct reader {
    struct plot_data *d;
    struct store_rows *rows;
    int at[COLUMNS]; /* of the query; -1: none */
    char **texts;    /* every text of x */
    int text_count, room;
};

static int find_columns(struct reader *r, const char *id, struct error *err)
{
    for (int i = 0; i < COLUMNS; i++) {
        r->at[i] = -1;
        for (int c = 0; c < store_rows_columns(r->rows); c++)
            if (strcmp(store_rows_column(r->rows, c), names[i]) == 0)
                r->at[i] = c;
    }
    static const int needed[] = {AT_ROW, AT_SEED, AT_X, AT_Y};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (r->at[needed[i]] < 0)
            return error_set(err, STATUS_FAILED, "%s: the query has no column '%s'", id, names[needed[i]]);
    if (r->at[AT_GRP] < 0 && (r->at[AT_COL] < 0 || r->at[AT_SERIES] < 0))
        return error_set(err, STATUS_FAILED, "%s: the query has no column 'grp', and not both of 'col' and 'series'",
                         id);
    return STATUS_OK;
}

/* Panels and lines of the groups drawn, in their order. */
static void place_groups(struct reader *r, const struct result_groups *groups, const int *page, int page_count)
{
    struct plot_data *d = r->d;
    d->group_count = groups ? groups->count : 0;
    d->column_of = memory_alloc((size_t)d->group_count + 1, sizeof *d->column_of);
    d->series_of = memory_alloc((size_t)d->group_count + 1, sizeof *d->series_of);
    for (int g = 0; g < d->group_count; g++)
        d->column_of[g] = d->series_of[g] = -1;
    for (int i = 0; i < page_count; i++) {
        const struct result_group *g = &groups->group[page[i]];
        if (r->at[AT_COL] < 0 && r->at[AT_SERIES] >= 0) { /* a group is a column of its own */
            char *name =
                strcmp(g->panel, g->size) == 0 ? memory_string(g->line) : memory_format("%s, %s", g->line, g->panel);
            d->column_of[page[i]] = place_of(&d->column_names, &d->columns, name);
            free(name);
        } else if (r->at[AT_COL] < 0) {
            d->column_of[page[i]] = place_of(&d->column_names, &d->columns, g->panel);
        }
        if (r->at[AT_SERIES] < 0)
            d->series_of[page[i]] = place_of(&d->series_names, &d->series, g->line);
    }
}

static const char *text_at(const struct reader *r, int which)
{
    const char *text = store_rows_at(r->rows, r->at[which]).text;
    return text ? text : "";
}

static void take_value(struct reader *r)
{
    struct plot_data *d = r->d;
    struct store_value x = store_rows_at(r->rows, r->at[AT_X]);
    int g = r->at[AT_GRP] < 0 ? -1 : (int)store_rows_at(r->rows, r->at[AT_GRP]).integer;
    bool grouped = g >= 0 && g < d->group_count;
    struct plot_value v = {.row = (int)store_rows_at(r->rows, r->at[AT_ROW]).integer - 1,
                           .seed = (int)store_rows_at(r->rows, r->at[AT_SEED]).integer};
    v.column = r->at[AT_COL] >= 0 ? place_of(&d->column_names, &d->columns, text_at(r, AT_COL))
               : grouped          ? d->column_of[g]
                                  : -1;
    v.series = r->at[AT_SERIES] >= 0 ? place_of(&d->series_names, &d->series, text_at(r, AT_SERIES))
               : grouped             ? d->series_of[g]
                                     : -1;
    if (v.column < 0 || v.series < 0 || v.row < 0)
        return; /* of a group that is not on this page */
    d->rows = v.row >= d->rows ? v.row + 1 : d->rows;
    v.x = x.type == STORE_TEXT ? place_of(&r->texts, &r->text_count, x.text) : x.number;
    v.at = r->at[AT_AT] >= 0 ? store_rows_at(r->rows, r->at[AT_AT]).number : v.x;
    v.y = store_rows_at(r->rows, r->at[AT_Y]).number;
    if (d->value_count == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        d->values = memory_resize(d->values, (size_t)r->room, sizeof *d->values);
    }
    if (v.row == 0 && r->at[AT_BESIDE] >= 0) {
        d->timed++;
        d->beside += store_rows_at(r->rows, r->at[AT_BESIDE]).integer > 0;
    }
    if (isfinite(v.y))
        d->values[d->value_count++] = v;
    else
        d->left_out++;
}

/* Categories of one column: its own texts of x, in the order they come in. */
static void number_categories(struct reader *r)
{
    struct plot_data *d = r->d;
    int total = 0, *number = memory_alloc((size_t)r->text_count + 1, sizeof *number);
    d->category_first = memory_alloc((size_t)d->columns + 1, sizeof *d->category_first);
    d->category_count = memory_alloc((size_t)d->columns + 1, sizeof *d->category_count);
    d->categories = memory_alloc((size_t)d->columns * (size_t)r->text_count + 1, sizeof *d->categories);
    for (int column = 0; column < d->columns; column++) {
        memset(number, 0, (size_t)r->text_count * sizeof *number);
        d->category_first[column] = total;
        for (int i = 0; r->text_count > 0 && i < d->value_count; i++) {
            struct plot_value *v = &d->values[i];
            if (v->column != column)
                continue;
            int text = (int)v->x;
            if (!number[text]) {
                number[text] = ++d->category_count[column];
                d->categories[total++] = memory_string(r->texts[text]);
            }
            v->x = v->at = number[text];
        }
    }
    free(number);
}

static int read_values(struct reader *r, struct error *err)
{
    bool found = false;
    int status;
    while (!(status = store_rows_next(r->rows, &found, err)) && found)
        take_value(r);
    if (!status)
        number_categories(r);
    return status;
}

/* --------------------------------------------------------------------------------------------- lines */

static int by_x(const void *a, const void *b)
{
    double x = ((const struct plot_value *)a)->x, y = ((const struct plot_value *)b)->x;
    return (x > y) - (x < y);
}

/* Values [0, n) as one point. */
static struct plot_point summarize(const struct plot_value *v, int n, bool fewer)
{
    double *y = memory_alloc((size_t)n, sizeof *y), at = 0;
    for (int i = 0; i < n; i++) {
        y[i] = v[i].y;
        at += v[i].at / n;
    }
    struct summary s = statistics_summary(y, n);
    free(y);
    return (struct plot_point){.x = v[0].at == v[n - 1].at ? v[0].at : at,
                               .mean = s.mean,
                               .low = s.min,
                               .high = s.max,
                               .std = s.std,
                               .n = n,
                               .fewer = fewer};
}

/* The end of the values of one x. */
static int end_of(const struct plot_value *v, int begin, int n)
{
    int end = begin + 1;
    while (end < n && v[end].x == v[begin].x)
        end++;
    return end;
}

/* Sorted values to points: equal x together, and `wide` distinct ones in a bin. */
static void make_line(struct plot_line *line, struct plot_value *v, int n, int *wide)
{
    int distinct = 0;
    qsort(v, (size_t)n, sizeof *v, by_x);
    for (int begin = 0, end; begin < n; begin = end, distinct++) {
        end = end_of(v, begin, n);
        line->seeds = end - begin > line->seeds ? end - begin : line->seeds;
    }
    *wide = (distinct + PLOT_POINTS_MOST - 1) / PLOT_POINTS_MOST;
    line->points = memory_alloc((size_t)distinct + 1, sizeof *line->points);
    for (int begin = 0, end; begin < n; begin = end) {
        bool fewer = false;
        end = begin;
        for (int i = 0; i < *wide && end < n; i++) {
            int next = end_of(v, end, n);
            fewer |= next - end < line->seeds;
            end = next;
        }
        line->points[line->count++] = summarize(v + begin, end - begin, fewer);
    }
}

static int line_of(const struct plot_data *d, const struct plot_value *v)
{
    return (v->column * d->rows + v->row) * d->series + v->series;
}

static void make_lines(struct plot_data *d)
{
    int lines = d->columns * d->rows * d->series;
    int *first = memory_alloc((size_t)lines + 2, sizeof *first), *next = memory_alloc((size_t)lines + 1, sizeof *next);
    struct plot_value *sorted = memory_alloc((size_t)d->value_count + 1, sizeof *sorted);
    d->lines = memory_alloc((size_t)lines + 1, sizeof *d->lines);
    for (int i = 0; i < d->value_count; i++)
        first[line_of(d, &d->values[i]) + 1]++;
    for (int l = 0; l < lines; l++) {
        first[l + 1] += first[l];
        next[l] = first[l];
    }
    for (int i = 0; i < d->value_count; i++)
        sorted[next[line_of(d, &d->values[i])]++] = d->values[i];
    for (int l = 0; l < lines; l++) {
        int wide = 1;
        if (first[l + 1] > first[l])
            make_line(&d->lines[l], sorted + first[l], first[l + 1] - first[l], &wide);
        d->binned |= wide > 1;
    }
    free(sorted);
    free(first);
    free(next);
}

static void note_seeds(struct plot_data *d)
{
    for (int column = 0; column < d->columns; column++)
        for (int s = 0; d->rows > 0 && s < d->series; s++) {
            const struct plot_line *line = plot_data_line(d, column, 0, s);
            for (int p = 0; p < line->count; p++) {
                int n = line->points[p].n;
                d->seeds_low = d->seeds_low == 0 || n < d->seeds_low ? n : d->seeds_low;
                d->seeds_high = n > d->seeds_high ? n : d->seeds_high;
                d->fewer |= line->points[p].fewer;
            }
        }
}

int plot_data_make(struct plot_data *out, struct store *s, const char *id, const char *sql, const char *sweep,
                   const struct result_groups *groups, const int *page, int page_count, struct error *err)
{
    struct reader r = {.d = out};
    *out = (struct plot_data){0};
    int status = store_rows_open(&r.rows, s, id, sql, err);
    store_rows_bind(r.rows, ":sweep", sweep);
    if (!status)
        status = find_columns(&r, id, err);
    if (!status) {
        place_groups(&r, groups, page, page_count);
        status = read_values(&r, err);
    }
    store_rows_close(r.rows);
    if (!status) {
        make_lines(out);
        note_seeds(out);
    }
    for (int i = 0; i < r.text_count; i++)
        free(r.texts[i]);
    free(r.texts);
    if (status)
        plot_data_fini(out);
    return status;
}

static void smooth_line(struct plot_line *line, int points)
{
    double *mean = memory_alloc((size_t)line->count + 1, sizeof *mean);
    for (int p = 0; p < line->count; p++) {
        int first = p - (points - 1) / 2, last = p + points / 2, n = 0;
        for (int q = first > 0 ? first : 0; q <= last && q < line->count; q++, n++)
            mean[p] += line->points[q].mean;
        mean[p] /= n;
    }
    for (int p = 0; p < line->count; p++) {
        struct plot_point *q = &line->points[p];
        q->mean = mean[p];
        q->low = fmin(q->low, q->mean); /* a band holds its line */
        q->high = fmax(q->high, q->mean);
    }
    free(mean);
}

enum { GATE_ROW = 1 };

void plot_data_smooth(struct plot_data *d, int points)
{
    for (int column = 0; column < d->columns; column++)
        for (int row = 0; row < d->rows; row++)
            for (int s = 0; row != GATE_ROW && s < d->series; s++)
                smooth_line(&d->lines[(column * d->rows + row) * d->series + s], points);
    d->smoothed = points;
}

void plot_data_fini(struct plot_data *d)
{
    for (int l = 0; d->lines && l < d->columns * d->rows * d->series; l++)
        free(d->lines[l].points);
    for (int i = 0; d->category_first && d->columns > 0 &&
                    i < d->category_first[d->columns - 1] + d->category_count[d->columns - 1];
         i++)
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
    free(d->column_of);
    free(d->series_of);
    free(d->values);
    *d = (struct plot_data){0};
}

const struct plot_line *plot_data_line(const struct plot_data *d, int column, int row, int series)
{
    return &d->lines[(column * d->rows + row) * d->series + series];
}

bool plot_data_has_any(const struct plot_data *d)
{
    return d->value_count > 0;
}
