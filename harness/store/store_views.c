/* The views of results/views.sql: those in the database, and a reader's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/base/embedded.h"
#include "harness/store/store_internal.h"

static void digest_text(const char *text, size_t size, char hex[65])
{
    unsigned char digest[32];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text, size, NULL, 0);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
}

static int views_are_current(struct store *s, const char *digest, bool *current, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, "SELECT value FROM meta WHERE key = 'views'", err);
    if (!statement)
        return STATUS_FAILED;
    const char *stored = NULL;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        stored = (const char *)sqlite3_column_text(statement, 0);
    *current = stored && strcmp(stored, digest) == 0;
    int status = code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : store_fail(s, err, "read the views");
    sqlite3_reset(statement);
    return status;
}

int store_drop_views(struct store *s, struct error *err)
{
    for (;;) {
        sqlite3_stmt *statement = store_prepare(s,
                                                "SELECT 'DROP VIEW \"' || replace(name, '\"', '\"\"') || '\"' "
                                                "FROM sqlite_schema WHERE type = 'view' LIMIT 1",
                                                err);
        if (!statement)
            return STATUS_FAILED;
        int code = sqlite3_step(statement);
        char sql[512] = "";
        if (code == SQLITE_ROW)
            snprintf(sql, sizeof sql, "%s", (const char *)sqlite3_column_text(statement, 0));
        sqlite3_reset(statement);
        if (code == SQLITE_DONE)
            return store_exec(s, "DELETE FROM meta WHERE key = 'views'", "drop the views", err);
        int status = code == SQLITE_ROW ? store_exec(s, sql, "drop a view", err) : store_fail(s, err, "drop a view");
        if (status)
            return status;
    }
}

static int replace_views(struct store *s, const struct embedded *views, const char *digest, struct error *err)
{
    int status = store_drop_views(s, err);
    if (!status)
        status = store_exec(s, views->text, "make the views", err);
    sqlite3_stmt *note = status ? NULL : store_prepare(s, "INSERT OR REPLACE INTO meta VALUES ('views', ?1)", err);
    if (!note)
        return STATUS_FAILED;
    store_bind_text(note, 1, digest);
    return store_step(s, note, "note the views", err);
}

int store_refresh_views(struct store *s, struct error *err)
{
    const struct embedded *views = embedded_find("results/views.sql");
    char digest[65];
    bool current = false;
    digest_text(views->text, views->size, digest);
    int status = views_are_current(s, digest, &current, err);
    if (status || current)
        return status;
    status = store_begin(s, true, err);
    if (status)
        return status;
    status = replace_views(s, views, digest, err);
    if (status) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}

/* The text with every view a temporary one; on the heap. */
static char *temporary(const char *text)
{
    static const char create[] = "CREATE VIEW";
    const size_t length = sizeof create - 1;
    char *sql = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&sql, &size);
    for (const char *at; (at = strstr(text, create)); text = at + length)
        fprintf(memory, "%.*sCREATE TEMP VIEW", (int)(at - text), text);
    fputs(text, memory);
    fclose(memory);
    return sql;
}

int store_make_temporary(struct store *s, const char *name, const char *sql, struct error *err)
{
    /* The file of a reader stays opened for reading alone. */
    int status = store_exec(s, "PRAGMA temp_store = MEMORY; PRAGMA query_only = OFF", name, err);
    if (!status)
        status = store_exec(s, sql, name, err);
    if (s->mode != STORE_WRITE) {
        int again = store_exec(s, "PRAGMA query_only = ON", name, status ? NULL : err);
        status = status ? status : again;
    }
    return status;
}

int store_own_views(struct store *s, struct error *err)
{
    char *sql = temporary(embedded_find("results/views.sql")->text);
    /* Whoever wants the views reads a sweep's runs several times over: they are to stay in memory, up to 256 MB. */
    int status = store_exec(s, "PRAGMA cache_size = -262144", "the cache", err);
    if (!status)
        status = store_make_temporary(s, "results/views.sql", sql, err);
    free(sql);
    return status;
}
