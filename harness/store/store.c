/* Opening, locking and closing a store; transactions and prepared statements for its other files. */
#include "harness/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

enum { PATIENCE_MS = 250 };

/* A reader that holds one snapshot for hours makes the log grow; cut it back to this when it is over. */
#define LOG_LIMIT "67108864"

int64_t store_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

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
    if ((code & 0xff) == SQLITE_IOERR)
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

/* --------------------------------------------------------------------------------------------- transactions */

int store_begin(struct store *s, bool full, struct error *err)
{
    if (s->grouped)
        return s->group_failed || full ? store_refuse(s, err, "%s: not in this group of changes", s->path) : STATUS_OK;
    if (s->mode != STORE_WRITE)
        return store_refuse(s, err, "%s: opened for reading", s->path);
    if (full != s->full_sync) {
        int status = store_exec(s, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", "begin", err);
        if (status)
            return status;
        s->full_sync = full;
    }
    sqlite3_stmt *begin = store_prepare(s, "BEGIN IMMEDIATE", err);
    if (!begin)
        return STATUS_FAILED;
    int status = store_step(s, begin, "begin", err);
    s->in_transaction = !status;
    return status;
}

int store_commit(struct store *s, struct error *err)
{
    if (s->grouped)
        return STATUS_OK;
    sqlite3_stmt *commit = store_prepare(s, "COMMIT", err);
    int status = commit ? store_step(s, commit, "commit", err) : STATUS_FAILED;
    if (status)
        store_rollback(s);
    else
        s->trouble = STORE_FINE;
    s->in_transaction = false;
    return status;
}

void store_rollback(struct store *s)
{
    if (s->grouped) {
        s->group_failed = true;
        return;
    }
    /* SQLite has already rolled back after some failures, a full disk among them. */
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = false;
}

int store_group_begin(struct store *s, struct error *err)
{
    int status = store_begin(s, false, err);
    s->grouped = !status;
    s->group_failed = false;
    return status;
}

int store_group_end(struct store *s, bool keep, struct error *err)
{
    bool failed = s->group_failed;
    s->grouped = s->group_failed = false;
    if (keep && !failed)
        return store_commit(s, err);
    store_rollback(s);
    return failed ? STATUS_FAILED : STATUS_OK;
}

int store_add_event(struct store *s, const char *sweep, const char *run, int attempt, const char *kind,
                    const char *text, struct error *err)
{
    sqlite3_stmt *insert = store_prepare(
        s, "INSERT INTO event (time, sweep, run, attempt, kind, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_int(insert, 1, store_now());
    store_bind_text(insert, 2, sweep);
    store_bind_text(insert, 3, run);
    store_bind_int_or_null(insert, 4, attempt, 0);
    store_bind_text(insert, 5, kind);
    store_bind_text(insert, 6, text ? text : "");
    return store_step(s, insert, "record an event", err);
}

int store_event(struct store *s, const char *sweep, const char *run, int attempt, const char *kind, const char *text,
                struct error *err)
{
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = store_add_event(s, sweep, run, attempt, kind, text, err);
    if (status) {
        store_rollback(s);
        return status;
    }
    return store_commit(s, err);
}

/* --------------------------------------------------------------------------------------------- opening */

/* The lock lives as long as the descriptor: a killed process leaves none behind, whatever its file says. */
static int take_lock(struct store *s, const struct home *home, struct error *err)
{
    s->lock = open(home->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (s->lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot open", home->lock);
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return error_errno(err, STATUS_FAILED, errno, "%s: cannot lock", home->lock);
        char holder[64] = "";
        ssize_t got = pread(s->lock, holder, sizeof holder - 1, 0);
        holder[got > 0 ? got : 0] = '\0';
        holder[strcspn(holder, "\n")] = '\0';
        s->trouble = STORE_BUSY;
        return error_set(err, STATUS_FAILED, "home %s is in use by process %s; one daemon or 'taper run' at a time",
                         home->dir, holder[0] ? holder : "(unknown)");
    }
    char self[32];
    int length = snprintf(self, sizeof self, "%ld\n", (long)getpid());
    /* For the message above only; on a full disk it stays empty. */
    if (ftruncate(s->lock, 0) != 0 || pwrite(s->lock, self, (size_t)length, 0) != length)
        errno = 0;
    return STATUS_OK;
}

/* "file:" URI of a path: everything that means something in a URI is escaped. */
static char *uri_of(const char *path)
{
    static const char hex[] = "0123456789abcdef";
    size_t length = strlen(path), at = 0;
    char *uri = memory_alloc(3 * length + 32, 1);
    at += (size_t)snprintf(uri, 8, "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     strchr("/._-", *p) != NULL;
        if (plain) {
            uri[at++] = (char)*p;
        } else {
            uri[at++] = '%';
            uri[at++] = hex[*p >> 4];
            uri[at++] = hex[*p & 15];
        }
    }
    snprintf(uri + at, 24, "?mode=ro&immutable=1");
    return uri;
}

/* In a directory that cannot be written, WAL's shared memory cannot be made. Without a log there is nothing to share:
 * nobody can be writing, so the file is read as it is. */
static bool must_be_immutable(const struct home *home)
{
    struct stat st;
    char *wal = memory_format("%s-wal", home->database), *shm = memory_format("%s-shm", home->database);
    bool frozen = access(home->dir, W_OK) != 0 && (stat(wal, &st) != 0 || st.st_size == 0) && access(shm, R_OK) != 0;
    free(wal);
    free(shm);
    return frozen;
}

static int open_connection(struct store *s, const struct home *home, struct error *err)
{
    int flags = s->mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY, code;
    if (s->mode != STORE_WRITE && access(home->database, F_OK) != 0)
        return error_errno(err, STATUS_BAD_INPUT, errno, "%s: no database", home->database);
    if (s->mode != STORE_WRITE && must_be_immutable(home)) {
        char *uri = uri_of(home->database);
        code = sqlite3_open_v2(uri, &s->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
        free(uri);
    } else {
        code = sqlite3_open_v2(home->database, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    }
    if (code != SQLITE_OK)
        return s->db ? store_fail(s, err, "open") : error_set(err, STATUS_FAILED, "%s: out of memory", home->database);
    sqlite3_extended_result_codes(s->db, 1);
    store_set_patience(s, PATIENCE_MS);
    if (s->mode != STORE_WRITE)
        return store_exec(s, "PRAGMA query_only = ON; PRAGMA cache_size = -16384", "open", err);
    int status = store_exec(s,
                            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                            "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -65536;"
                            "PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = " LOG_LIMIT,
                            "open", err);
    return status ? status : store_migrate(s, err);
}

/* A reader of an older schema: bring it up to date first, if nobody is writing and the home may be written. */
static int refresh_schema(const struct home *home, int version, struct error *err)
{
    struct store *writer = NULL;
    int status = store_open(&writer, home, STORE_WRITE, err);
    store_close(writer);
    if (status) {
        error_wrap(err,
                   "%s: its schema is version %d, this program reads version %d, and it cannot be brought up to date",
                   home->database, version, store_version_known());
        return status;
    }
    return STATUS_OK;
}

static int open_once(struct store **out, const struct home *home, enum store_mode mode, struct error *err)
{
    struct store *s = memory_alloc(1, sizeof *s);
    *s = (struct store){.mode = mode, .lock = -1, .path = memory_string(home->database)};
    int status = mode == STORE_WRITE ? take_lock(s, home, err) : STATUS_OK;
    if (!status)
        status = open_connection(s, home, err);
    if (status) {
        store_close(s);
        return status;
    }
    *out = s;
    return STATUS_OK;
}

int store_open(struct store **out, const struct home *home, enum store_mode mode, struct error *err)
{
    *out = NULL;
    int status = open_once(out, home, mode, err), version = 0;
    if (status || mode == STORE_WRITE)
        return status;
    status = store_version(*out, &version, err);
    if (!status && version > store_version_known())
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: its schema is version %d, this program knows up to %d; use the "
                           "taper that wrote it, or a newer one",
                           home->database, version, store_version_known());
    if (!status && version == store_version_known())
        return STATUS_OK;
    store_close(*out);
    *out = NULL;
    if (status)
        return status;
    status = refresh_schema(home, version, err);
    if (status && !(mode == STORE_QUERY && version > 0))
        return status;
    return open_once(out, home, mode, err);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->cached; i++)
        sqlite3_finalize(s->cache[i].statement);
    sqlite3_close(s->db);
    if (s->lock >= 0)
        close(s->lock);
    free(s->path);
    free(s);
}

sqlite3 *store_connection(struct store *s)
{
    return s->db;
}

void store_set_patience(struct store *s, int milliseconds)
{
    s->patience = milliseconds;
    sqlite3_busy_timeout(s->db, milliseconds);
}
