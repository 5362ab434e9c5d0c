#include "harness/store/store_rows.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

struct store_rows {
    struct store *s;
    sqlite3_stmt *statement;
    const char *name;
};

int store_rows_open(struct store_rows **out, struct store *s, const char *name, const char *sql, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    *out = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return store_fail(s, err, name);
    if (!statement || !sqlite3_stmt_readonly(statement)) {
        sqlite3_finalize(statement);
        return store_refuse(s, err, "%s: want a statement that reads", name);
    }
    *out = memory_alloc(1, sizeof **out);
    **out = (struct store_rows){s, statement, name};
    return STATUS_OK;
}

void store_rows_close(struct store_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->statement);
    free(rows);
}

void store_rows_bind(struct store_rows *rows, const char *parameter, const char *text)
{
    int at = rows ? sqlite3_bind_parameter_index(rows->statement, parameter) : 0;
    if (at > 0)
        store_bind_text(rows->statement, at, text);
}

int store_rows_next(struct store_rows *rows, bool *found, struct error *err)
{
    int code = sqlite3_step(rows->statement);
    *found = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : store_fail(rows->s, err, rows->name);
}

int store_rows_columns(const struct store_rows *rows)
{
    return sqlite3_column_count(rows->statement);
}

const char *store_rows_column(const struct store_rows *rows, int column)
{
    return sqlite3_column_name(rows->statement, column);
}

struct store_value store_rows_at(const struct store_rows *rows, int column)
{
    struct store_value v = {.type = STORE_NULL, .number = NAN};
    switch (sqlite3_column_type(rows->statement, column)) {
    case SQLITE_INTEGER:
        v.type = STORE_INTEGER;
        v.integer = sqlite3_column_int64(rows->statement, column);
        v.number = (double)v.integer;
        break;
    case SQLITE_FLOAT:
        v.type = STORE_REAL;
        v.number = sqlite3_column_double(rows->statement, column);
        break;
    case SQLITE_TEXT:
        v.type = STORE_TEXT;
        v.text = (const char *)sqlite3_column_text(rows->statement, column);
        break;
    default:
        break;
    }
    return v;
}
