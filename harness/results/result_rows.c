#include "harness/results/result_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_rows.h"

static struct result_value copy_value(struct store_value from)
{
    struct result_value v = {.type = RESULT_NULL, .number = from.number};
    switch (from.type) {
    case STORE_NULL:
        break;
    case STORE_INTEGER:
        v.type = RESULT_INTEGER;
        break;
    case STORE_REAL:
        v.type = RESULT_REAL;
        break;
    case STORE_TEXT:
        v.type = RESULT_TEXT;
        v.text = memory_string(from.text);
        break;
    }
    return v;
}

static int read_rows(struct result_rows *out, struct store_rows *rows, struct error *err)
{
    bool found = false;
    int room = 0, status;
    while (!(status = store_rows_next(rows, &found, err)) && found) {
        if (out->rows == room) {
            room = room ? 2 * room : 64;
            out->values = memory_resize(out->values, (size_t)room * (size_t)out->columns, sizeof *out->values);
        }
        for (int c = 0; c < out->columns; c++)
            out->values[(size_t)out->rows * (size_t)out->columns + (size_t)c] = copy_value(store_rows_at(rows, c));
        out->rows++;
    }
    return status;
}

int result_query(struct result_rows *out, struct store *s, const char *name, const char *sql, const char *sweep,
                 struct error *err)
{
    struct store_rows *rows = NULL;
    *out = (struct result_rows){0};
    int status = store_rows_open(&rows, s, name, sql, err);
    if (status)
        return status;
    store_rows_bind(rows, ":sweep", sweep);
    out->columns = store_rows_columns(rows);
    out->names = memory_alloc((size_t)out->columns, sizeof *out->names);
    for (int c = 0; c < out->columns; c++)
        out->names[c] = memory_string(store_rows_column(rows, c));
    status = read_rows(out, rows, err);
    if (status)
        result_rows_fini(out);
    store_rows_close(rows);
    return status;
}

char *result_quote(const char *text)
{
    char *quoted = NULL;
    size_t size = 0;
    if (!text)
        return memory_string("NULL");
    FILE *out = open_memstream(&quoted, &size);
    fputc('\'', out);
    for (const char *p = text; *p; p++)
        fprintf(out, "%s%c", *p == '\'' ? "'" : "", *p);
    fputc('\'', out);
    fclose(out);
    return quoted;
}

void result_rows_fini(struct result_rows *rows)
{
    for (int i = 0; i < rows->rows * rows->columns; i++)
        free(rows->values[i].text);
    for (int c = 0; c < rows->columns; c++)
        free(rows->names[c]);
    free(rows->values);
    free(rows->names);
    *rows = (struct result_rows){0};
}

int result_column(const struct result_rows *rows, const char *name)
{
    for (int c = 0; c < rows->columns; c++)
        if (strcmp(rows->names[c], name) == 0)
            return c;
    return -1;
}

const struct result_value *result_at(const struct result_rows *rows, int row, int column)
{
    static const struct result_value none = {.type = RESULT_NULL, .number = NAN};
    return column < 0 ? &none : &rows->values[(size_t)row * (size_t)rows->columns + (size_t)column];
}

double result_number(const struct result_rows *rows, int row, int column)
{
    return result_at(rows, row, column)->number;
}

const char *result_text(const struct result_rows *rows, int row, int column)
{
    return result_at(rows, row, column)->text;
}

bool result_equal(const struct result_value *a, const struct result_value *b)
{
    if (a->type == RESULT_TEXT || b->type == RESULT_TEXT)
        return a->type == b->type && strcmp(a->text, b->text) == 0;
    if (a->type == RESULT_NULL || b->type == RESULT_NULL)
        return a->type == b->type;
    return a->number == b->number;
}
