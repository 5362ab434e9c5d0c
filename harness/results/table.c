#include "harness/base/format.h"
#include "harness/results/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/embedded.h"
#include "harness/results/catalogue.h"
#include "harness/results/table_notes.h"
#include "harness/base/listing.h"

const char *table_id(int i)
{
    return catalogue_table(i) ? catalogue_table(i)->id : NULL;
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
        cell->text = memory_string(format_duration(text, v->number / 1e6));
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

/* A key of the configuration that all rows of a group share; its number, too, where it is one. */
static void key_cell(struct table_cell *cell, const struct result_groups *groups, int group, int key)
{
    char *end;
    cell->half_width = cell->value = NAN;
    if (group < 0 || group >= groups->count)
        return;
    cell->text = memory_string(groups->group[group].values[key]);
    double value = strtod(cell->text, &end);
    if (*cell->text && !*end)
        cell->value = value;
}

static void group(struct table *t, const struct result_rows *rows, const struct result_groups *groups)
{
    const struct table_layout *layout = &t->layout;
    int grp = result_column(rows, "grp"), room = 0;
    for (int begin = 0, end; begin < rows->rows; begin = end) {
        for (end = begin + 1; end < rows->rows && same_group(layout, rows, begin, end); end++)
            ;
        if (t->rows == room) {
            room = room ? 2 * room : 16;
            t->cells = memory_resize(t->cells, (size_t)room * (size_t)layout->column_count, sizeof *t->cells);
        }
        for (int i = 0; i < layout->column_count; i++) {
            struct table_cell *cell = &t->cells[t->rows * layout->column_count + i];
            const struct layout_column *c = &layout->columns[i];
            *cell = (struct table_cell){0};
            if (c->group_key > 0)
                key_cell(cell, groups, (int)result_number(rows, begin, grp), c->group_key - 1);
            else
                fill(cell, c, rows, begin, end);
        }
        t->rows++;
    }
}

enum { ONCE_NAMED = 8 };

/* "a, b": the distinct values of a column, NULLs left out; nothing when there are none. */
static char *distinct_values(const struct result_rows *rows, int column)
{
    const struct result_value *found[ONCE_NAMED];
    char *text = memory_string("");
    int count = 0;
    for (int r = 0; r < rows->rows && count <= ONCE_NAMED; r++) {
        const struct result_value *v = result_at(rows, r, column);
        bool seen = v->type == RESULT_NULL;
        for (int i = 0; !seen && i < count; i++)
            seen = result_equal(v, found[i]);
        if (seen)
            continue;
        char number[32];
        char *longer = memory_format("%s%s%s", text, count ? ", " : "",
                                     count == ONCE_NAMED ? "..."
                                     : v->text           ? v->text
                                                         : format_real(number, v->number));
        free(text);
        text = longer;
        if (count < ONCE_NAMED)
            found[count] = v;
        count++;
    }
    return text;
}

/* "label a, b; other c": what all rows share is said once. */
static char *say_once(const struct table_layout *layout, const struct result_rows *rows, const char *baseline)
{
    bool compares = rows->rows > 0 && result_column(rows, "pair") >= 0;
    char *text = !compares || (baseline && strcmp(baseline, "baseline") == 0) ? memory_string("")
                 : baseline ? memory_format("compared with %s", baseline)
                            : memory_string("no untapered variant to compare with (--compare NAME takes another)");
    for (int i = 0; i < layout->once_count; i++) {
        char *values = distinct_values(rows, result_column(rows, layout->once_columns[i]));
        if (*values) {
            char *longer = memory_format("%s%s%s %s", text, *text ? "; " : "", layout->once_labels[i], values);
            free(text);
            text = longer;
        }
        free(values);
    }
    return text;
}

/* The query with :kind put in. */
static char *bound(const char *sql, const char *kind)
{
    const char *at = kind ? strstr(sql, ":kind") : NULL;
    return at ? memory_format("%.*s'%s'%s", (int)(at - sql), sql, kind, at + strlen(":kind")) : memory_string(sql);
}

static void take_keys(struct table *t, const struct result_rows *rows, const struct result_groups *groups)
{
    if (result_column(rows, "grp") < 0)
        return;
    t->keys = memory_alloc((size_t)groups->key_count + 1, sizeof *t->keys);
    for (t->key_count = 0; t->key_count < groups->key_count; t->key_count++)
        t->keys[t->key_count] = memory_string(groups->keys[t->key_count]);
    table_layout_add_keys(&t->layout, t->keys, t->key_count);
}

static int query(struct table *out, struct result_rows *rows, struct results *from, const char *sql, const char *sweep,
                 struct error *err)
{
    const struct table_layout *l = &out->layout;
    char *name = memory_format("results/tables/%s.sql", l->query ? l->query : l->id);
    char *text = bound(sql ? sql : embedded_find(name)->text, l->bind);
    int status = STATUS_OK;
    if (l->all && !sweep)
        status = results_prepare(from, NULL, err);
    if (!status && l->all && !sweep)
        status = result_query(rows, from->store, l->id, text, NULL, err);
    else if (!status)
        status = result_sweep_query(rows, &out->sweep, from, l->id, text, sweep, err);
    free(text);
    free(name);
    return status;
}

int table_make_from(struct table *out, struct results *from, const char *id, const char *sql, const char *layout,
                    const char *sweep, struct error *err)
{
    struct result_rows rows = {0};
    *out = (struct table){0};
    char *name = memory_format("results/tables/%s.json", id);
    int status = table_layout_load(&out->layout, id, name, layout, err);
    free(name);
    if (!status)
        status = query(out, &rows, from, sql, sweep, err);
    if (!status && rows.columns > 0)
        status = check_columns(&out->layout, &rows, err);
    if (!status)
        status = result_sweep_runs(from->store, out->sweep ? out->sweep : sweep, &out->runs, err);
    if (!status) {
        take_keys(out, &rows, &from->groups);
        group(out, &rows, &from->groups);
        out->once = say_once(&out->layout, &rows, from->groups.baseline);
        out->program = result_program();
    }
    result_rows_fini(&rows);
    if (status)
        table_fini(out);
    return status;
}

int table_make(struct table *out, struct results *from, const char *id, const char *sweep, struct error *err)
{
    *out = (struct table){0};
    const struct catalogue_entry *e = catalogue_find(id, false);
    if (!e)
        return error_set(err, STATUS_BAD_INPUT, "no table '%s'; 'taper help table' lists them", id);
    char *layout = memory_format("results/tables/%s.json", e->id);
    int status = table_make_from(out, from, e->id, NULL, embedded_find(layout)->text, sweep, err);
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
    for (int i = 0; i < t->key_count; i++)
        free(t->keys[i]);
    free(t->keys);
    free(t->once);
    free(t->program);
    table_layout_fini(&t->layout);
    *t = (struct table){0};
}
