#include "harness/results/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/result_sweep.h"
#include "harness/results/table_notes.h"
#include "harness/base/listing.h"

static const char *const ids[] = {"table-tinystories", "table-decode", "table-last-token", "table-gpt2",
                                  "table-ablation",    "table-runs",   "table-theory"};

enum { IDS = sizeof ids / sizeof ids[0] };

const char *table_id(int i)
{
    return i >= 0 && i < IDS ? ids[i] : NULL;
}

/* The finite numbers of a column in rows [begin, end); out has room for them. */
static int numbers(const struct result_rows *rows, int begin, int end, int column, double *out)
{
    int n = 0;
    for (int r = begin; r < end; r++)
        if (isfinite(result_number(rows, r, column)))
            out[n++] = result_number(rows, r, column);
    return n;
}

static double sum_of(const struct result_rows *rows, int begin, int end, int column)
{
    double sum = 0;
    for (int r = begin; r < end; r++)
        sum += isfinite(result_number(rows, r, column)) ? result_number(rows, r, column) : 0;
    return sum;
}

static char *spell_duration(double us)
{
    double s = us / 1e6;
    if (s < 60)
        return memory_format("%.1f s", s);
    long long whole = (long long)(s + 0.5);
    if (whole < 3600)
        return memory_format("%lld min %02lld s", whole / 60, whole % 60);
    return memory_format("%lld h %02lld min", whole / 3600, whole % 3600 / 60);
}

static void single(struct table_cell *cell, const struct layout_column *c, const struct result_value *v)
{
    char text[32];
    cell->value = v->number;
    cell->whole = v->type == RESULT_INTEGER;
    if (v->type == RESULT_TEXT)
        cell->text = memory_string(v->text);
    else if (c->kind == COLUMN_TIME && v->type != RESULT_NULL)
        cell->text = memory_string(format_time(text, (int64_t)v->number));
    else if (c->kind == COLUMN_DURATION && v->type != RESULT_NULL)
        cell->text = spell_duration(v->number);
}

static void fill(struct table_cell *cell, const struct layout_column *c, const struct result_rows *rows, int begin,
                 int end)
{
    int value = result_column(rows, c->value), of = c->of ? result_column(rows, c->of) : -1;
    double *x = memory_alloc((size_t)(end - begin), sizeof *x);
    int n = numbers(rows, begin, end, value, x);
    cell->value = cell->half_width = NAN;
    switch (c->kind) {
    case COLUMN_TEXT:
    case COLUMN_NUMBER:
    case COLUMN_TIME:
    case COLUMN_DURATION:
        single(cell, c, result_at(rows, begin, value));
        break;
    case COLUMN_MEAN:
    case COLUMN_CHANGE:
        cell->sums = statistics_summary(x, n);
        cell->half_width = statistics_half_width(&cell->sums, 0.95);
        break;
    case COLUMN_MAX:
        cell->value = statistics_summary(x, n).max;
        break;
    case COLUMN_RATIO:
        cell->value =
            sum_of(rows, begin, end, of) > 0 ? sum_of(rows, begin, end, value) / sum_of(rows, begin, end, of) : NAN;
        break;
    case COLUMN_COUNT:
        cell->count = n;
        cell->of = of >= 0 ? (int)result_number(rows, begin, of) : end - begin;
        break;
    case COLUMN_NOTES:
        cell->text = table_notes(rows, begin, end, c);
        break;
    }
    free(x);
}

static bool same_group(const struct table_layout *layout, const struct result_rows *rows, int a, int b)
{
    for (int k = 0; k < layout->key_count; k++) {
        int column = result_column(rows, layout->keys[k]);
        if (!result_equal(result_at(rows, a, column), result_at(rows, b, column)))
            return false;
    }
    return true;
}

/* Every column a layout names must be one of the query. */
static int check_columns(const struct table_layout *layout, const struct result_rows *rows, struct error *err)
{
    for (int k = 0; k < layout->key_count; k++)
        if (result_column(rows, layout->keys[k]) < 0)
            return error_set(err, STATUS_FAILED, "%s: the query has no column '%s' for its key", layout->id,
                             layout->keys[k]);
    for (int i = 0; i < layout->column_count; i++) {
        const struct layout_column *c = &layout->columns[i];
        const char *names[] = {c->value, c->of, c->pair};
        for (int n = 0; n < 3; n++)
            if (names[n] && result_column(rows, names[n]) < 0)
                return error_set(err, STATUS_FAILED, "%s: column %s: the query has no column '%s'", layout->id, c->name,
                                 names[n]);
    }
    return STATUS_OK;
}

static void group(struct table *t, const struct result_rows *rows)
{
    const struct table_layout *layout = &t->layout;
    t->cells = memory_alloc((size_t)rows->rows * (size_t)layout->column_count + 1, sizeof *t->cells);
    for (int begin = 0, end; begin < rows->rows; begin = end) {
        for (end = begin + 1; end < rows->rows && same_group(layout, rows, begin, end); end++)
            ;
        for (int c = 0; c < layout->column_count; c++)
            fill(&t->cells[t->rows * layout->column_count + c], &layout->columns[c], rows, begin, end);
        t->rows++;
    }
}

/* "label a, b; other c": the distinct values of the columns said once. */
static char *say_once(const struct table_layout *layout, const struct result_rows *rows)
{
    char *text = memory_string("");
    for (int i = 0; i < layout->once_count; i++) {
        int column = result_column(rows, layout->once_columns[i]), found = 0;
        for (int r = 0; r < rows->rows; r++) {
            const struct result_value *v = result_at(rows, r, column);
            bool seen = v->type == RESULT_NULL;
            for (int before = 0; !seen && before < r; before++)
                seen = result_equal(v, result_at(rows, before, column));
            if (seen)
                continue;
            char number[32];
            char *longer = memory_format("%s%s%s%s%s", text,
                                         found   ? ", "
                                         : *text ? "; "
                                                 : "",
                                         found ? "" : layout->once_labels[i], found ? "" : " ",
                                         v->text ? v->text : format_real(number, v->number));
            free(text);
            text = longer;
            found++;
        }
    }
    return text;
}

int table_make_from(struct table *out, struct store *s, const char *id, const char *sql, const char *layout,
                    const char *sweep, struct error *err)
{
    struct result_rows rows = {0};
    *out = (struct table){0};
    char *name = memory_format("results/tables/%s.json", id);
    int status = table_layout_load(&out->layout, id, name, layout, err);
    free(name);
    if (!status && out->layout.all && !sweep)
        status = result_query(&rows, s, id, sql, NULL, err);
    else if (!status)
        status = result_sweep_query(&rows, &out->sweep, s, id, sql, sweep, err);
    if (!status && rows.columns > 0)
        status = check_columns(&out->layout, &rows, err);
    if (!status)
        status = result_sweep_runs(s, out->sweep ? out->sweep : sweep, &out->runs, err);
    if (!status) {
        group(out, &rows);
        out->once = say_once(&out->layout, &rows);
        out->program = result_program();
    }
    result_rows_fini(&rows);
    if (status)
        table_fini(out);
    return status;
}

int table_make(struct table *out, struct store *s, const char *id, const char *sweep, struct error *err)
{
    bool known = false;
    *out = (struct table){0};
    for (int i = 0; i < IDS; i++)
        known |= strcmp(ids[i], id) == 0;
    if (!known)
        return error_set(err, STATUS_BAD_INPUT, "no table '%s'; 'taper help table' lists them", id);
    char *sql = memory_format("results/tables/%s.sql", id), *layout = memory_format("results/tables/%s.json", id);
    int status = table_make_from(out, s, id, embedded_find(sql)->text, embedded_find(layout)->text, sweep, err);
    free(sql);
    free(layout);
    return status;
}

void table_fini(struct table *t)
{
    for (int i = 0; i < t->rows * t->layout.column_count; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t->sweep);
    free(t->runs);
    free(t->once);
    free(t->program);
    table_layout_fini(&t->layout);
    *t = (struct table){0};
}
