#include "harness/results/result_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

static void read_value(struct result_value *v, sqlite3_stmt *row, int c)
{
    *v = (struct result_value){.type = RESULT_NULL, .number = NAN};
    switch (sqlite3_column_type(row, c)) {
    case SQLITE_INTEGER:
        v->type = RESULT_INTEGER;
        v->number = (double)sqlite3_column_int64(row, c);
        break;
    case SQLITE_FLOAT:
        v->type = RESULT_REAL;
        v->number = sqlite3_column_double(row, c);
        break;
    case SQLITE_TEXT:
        v->type = RESULT_TEXT;
        v->text = memory_string((const char *)sqlite3_column_text(row, c));
        break;
    default:
        break;
    }
}

static int read_rows(struct result_rows *out, sqlite3_stmt *statement)
{
    int code, room = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (out->rows == room) {
            room = room ? 2 * room : 64;
            out->values = memory_resize(out->values, (size_t)room * (size_t)out->columns, sizeof *out->values);
        }
        for (int c = 0; c < out->columns; c++)
            read_value(&out->values[(size_t)out->rows * (size_t)out->columns + (size_t)c], statement, c);
        out->rows++;
    }
    return code;
}

int result_query(struct result_rows *out, sqlite3 *db, const char *name, const char *sql, const char *sweep,
                 struct error *err)
{
    sqlite3_stmt *statement = NULL;
    *out = (struct result_rows){0};
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return error_set(err, STATUS_FAILED, "%s: %s", name, sqlite3_errmsg(db));
    int at = sqlite3_bind_parameter_index(statement, ":sweep");
    if (at > 0 && sweep)
        sqlite3_bind_text(statement, at, sweep, -1, SQLITE_TRANSIENT);
    out->columns = sqlite3_column_count(statement);
    out->names = memory_alloc((size_t)out->columns, sizeof *out->names);
    for (int c = 0; c < out->columns; c++)
        out->names[c] = memory_string(sqlite3_column_name(statement, c));
    int status = STATUS_OK;
    if (read_rows(out, statement) != SQLITE_DONE) {
        status = error_set(err, STATUS_FAILED, "%s: %s", name, sqlite3_errmsg(db));
        result_rows_fini(out);
    }
    sqlite3_finalize(statement);
    return status;
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
