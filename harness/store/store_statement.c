/* Prepared statements of the store's other files, and what SQLite says when one of them fails. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/store/store_internal.h"

/* --------------------------------------------------------------------------------------------- failures */

static enum store_trouble trouble_of(int code)
{
    /* Where it is the log's shared index that cannot grow, a full disk shows as one of these. */
    if (code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMMAP)
        return STORE_FULL;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STORE_BUSY;
    case SQLITE_FULL:
        return STORE_FULL;
    default:
        return STORE_BROKEN;
    }
}

int store_fail(struct store *s, struct error *err, const char *doing)
{
    int code = sqlite3_extended_errcode(s->db), number = sqlite3_system_errno(s->db);
    s->trouble = trouble_of(code);
    if ((code & 0xff) == SQLITE_IOERR && (number == ENOSPC || number == EDQUOT))
        s->trouble = STORE_FULL;
    const char *why = sqlite3_errmsg(s->db);
    if (s->trouble == STORE_BUSY)
        return error_set(err, STATUS_FAILED, "%s: %s: another process is writing (%s)", s->path, doing, why);
    if (s->trouble == STORE_FULL)
        return error_set(err, STATUS_FAILED, "%s: %s: no space left (%s)", s->path, doing, why);
    if ((code & 0xff) == SQLITE_CANTOPEN && s->mode != STORE_WRITE)
        return error_set(
            err, STATUS_FAILED,
            "%s: %s: the home cannot be written, and the last changes are still in its -wal file; copy the "
            "home somewhere it can be",
            s->path, doing);
    int status = (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT ? STATUS_BAD_INPUT : STATUS_FAILED;
    if ((code & 0xff) == SQLITE_IOERR && number) /* of a file that is too short there is none */
        return error_set(err, status, "%s: %s: %s (%s)", s->path, doing, why, strerror(number));
    return error_set(err, status, "%s: %s: %s", s->path, doing, why);
}

int store_refuse(struct store *s, struct error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->trouble = STORE_BROKEN;
    return error_set(err, STATUS_FAILED, "%s", text);
}

enum store_trouble store_trouble(const struct store *s)
{
    return s->trouble;
}

/* --------------------------------------------------------------------------------------------- statements */

sqlite3_stmt *store_prepared(const struct store *s, const char *sql)
{
    for (int i = 0; i < s->cached; i++)
        if (s->cache[i].sql == sql)
            return s->cache[i].statement;
    return NULL;
}

sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct error *err)
{
    sqlite3_stmt *known = store_prepared(s, sql);
    if (known) {
        sqlite3_reset(known);
        sqlite3_clear_bindings(known);
        return known;
    }
    if (s->cached == STORE_STATEMENTS) {
        store_refuse(s, err, "%s: too many prepared statements; raise STORE_STATEMENTS", s->path);
        return NULL;
    }
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
        store_fail(s, err, "prepare");
        return NULL;
    }
    s->cache[s->cached].sql = sql;
    s->cache[s->cached++].statement = statement;
    return statement;
}

int store_step(struct store *s, sqlite3_stmt *statement, const char *doing, struct error *err)
{
    int status = STATUS_OK, code = sqlite3_step(statement);
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        status = store_fail(s, err, doing);
    sqlite3_reset(statement);
    return status;
}

int store_exec(struct store *s, const char *sql, const char *doing, struct error *err)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_fail(s, err, doing);
    return STATUS_OK;
}

void store_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(statement, at);
}

void store_bind_int(sqlite3_stmt *statement, int at, int64_t value)
{
    sqlite3_bind_int64(statement, at, value);
}

void store_bind_int_or_null(sqlite3_stmt *statement, int at, int64_t value, int64_t none)
{
    if (value == none)
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_int64(statement, at, value);
}
