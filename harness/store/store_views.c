/* The views of results/views.sql and of the configuration's keys: those in the database, and a reader's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/base/memory.h"
#include "core/config/config.h"
#include "harness/base/embedded.h"
#include "harness/store/store_internal.h"

static void digest_text(const char *text, size_t size, char hex[65])
{
    unsigned char digest[32];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text, size, NULL, 0);
    sodium_bin2hex(hex, 65, digest, sizeof digest);
}

/* config_key: what each key is where a configuration does not name it, as JSON has it. A text that is not given is ''.
 */
static void put_keys(FILE *out, const struct config_key *keys, int count)
{
    fputs("\nCREATE VIEW config_key (key, fallback) AS VALUES ", out);
    for (int i = 0; i < count; i++) {
        const char *text = keys[i].fallback;
        bool number = keys[i].type == CONFIG_INT || keys[i].type == CONFIG_REAL;
        if (keys[i].type == CONFIG_BOOL)
            text = strcmp(text, "true") == 0 ? "1" : "0";
        else if (number && strcmp(text, "auto") == 0)
            number = false;
        number |= keys[i].type == CONFIG_BOOL;
        char *quoted = sqlite3_mprintf(number ? "%s" : "%Q", text);
        fprintf(out, "%s('%s', %s)", i ? ", " : "", keys[i].name, quoted);
        sqlite3_free(quoted);
    }
    fputs(";\n", out);
}

/* run_flat: a row for every run of every sweep, to read without JSON and without microseconds. */
static void put_flat(FILE *out, const struct config_key *keys, int count)
{
    fputs("\nCREATE VIEW run_flat AS SELECT r.sweep, r.variant, r.run, r.state, r.val_loss, r.val_loss_raw, "
          "r.fold_error, r.params, r.steps, r.attempts, ",
          out);
    static const char *const times[] = {"created", "started", "ended"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        fprintf(out, "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', r.%s / 1000000, 'unixepoch') AS %s, ", times[i], times[i]);
    fputs("(SELECT sum(hours) FROM attempt_time t WHERE t.run = r.run) AS hours, r.host, r.device AS ran_on, "
          "r.version, (SELECT revision FROM attempt a WHERE a.run = r.run ORDER BY attempt DESC LIMIT 1) AS \"commit\"",
          out);
    for (int i = 0; i < count; i++)
        fprintf(out,
                ", coalesce(r.config ->> '$.\"%s\"', (SELECT fallback FROM config_key WHERE key = '%s')) AS \"%s\"",
                keys[i].name, keys[i].name, keys[i].name);
    fputs(" FROM run_in_sweep r;\n", out);
}

/* All of them, in the order in which they can be made; on the heap. */
static char *views_text(void)
{
    int count;
    char *text = NULL;
    size_t size = 0;
    const struct config_key *keys = config_keys(&count);
    FILE *out = open_memstream(&text, &size);
    fputs(embedded_find("results/views.sql")->text, out);
    put_keys(out, keys, count);
    put_flat(out, keys, count);
    fclose(out);
    return text;
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

static int replace_views(struct store *s, const char *views, const char *digest, struct error *err)
{
    int status = store_drop_views(s, err);
    if (!status)
        status = store_exec(s, views, "make the views", err);
    sqlite3_stmt *note = status ? NULL : store_prepare(s, "INSERT OR REPLACE INTO meta VALUES ('views', ?1)", err);
    if (!note)
        return STATUS_FAILED;
    store_bind_text(note, 1, digest);
    return store_step(s, note, "note the views", err);
}

static int refresh(struct store *s, const char *views, struct error *err)
{
    char digest[65];
    bool current = false;
    digest_text(views, strlen(views), digest);
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

int store_refresh_views(struct store *s, struct error *err)
{
    char *views = views_text();
    int status = refresh(s, views, err);
    free(views);
    return status;
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
        fprintf(memory, "%.*sCREATE TEMP VIEW IF NOT EXISTS", (int)(at - text), text);
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
    char *views = views_text(), *sql = temporary(views);
    /* Whoever wants the views reads a sweep's runs several times over: they are to stay in memory, up to 256 MB. */
    int status = store_exec(s, "PRAGMA cache_size = -262144", "the cache", err);
    if (!status)
        status = store_make_temporary(s, "results/views.sql", sql, err);
    free(sql);
    free(views);
    return status;
}

int store_newest_views(struct store *s, struct error *err)
{
    char digest[65], *views = views_text();
    bool current = false;
    digest_text(views, strlen(views), digest);
    free(views);
    int status = views_are_current(s, digest, &current, err);
    return status || current ? status : store_own_views(s, err);
}
