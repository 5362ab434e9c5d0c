/* Opening, locking and closing a store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/base/process.h"
#include "harness/store/store_connection.h"
#include "harness/store/store_internal.h"
#include "harness/store/store_rebuild.h"

enum { PATIENCE_MS = 250 };

/* A reader that holds one snapshot for hours makes the log grow; cut it back to this when it is over. */
#define LOG_LIMIT "67108864"

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
 * nobody can be writing, so the file is read as it is. So is a database alone, beside which nothing is to appear. */
static bool must_be_immutable(const struct home *home)
{
    struct stat st;
    char *wal = memory_format("%s-wal", home->database), *shm = memory_format("%s-shm", home->database);
    char *journal = memory_format("%s-journal", home->database);
    bool frozen = (home->alone || access(home->dir, W_OK) != 0) && (stat(wal, &st) != 0 || st.st_size == 0) &&
                  access(shm, R_OK) != 0 && access(journal, R_OK) != 0;
    free(wal);
    free(shm);
    free(journal);
    return frozen;
}

/* Directories of runs that were trained. */
static int count_runs(const struct home *home)
{
    int count = 0;
    DIR *dir = opendir(home->runs);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *journal = home_run_file(home, entry->d_name, RUNDIR_JOURNAL);
        count += entry->d_name[0] != '.' && access(journal, F_OK) == 0;
        free(journal);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* A database that is gone or empty beside runs was lost, not never there: an empty one in its place would hide that. */
static int check_not_lost(const struct home *home, struct error *err)
{
    struct stat st;
    int runs = 0;
    bool there = stat(home->database, &st) == 0;
    if (!home->alone && (!there || st.st_size == 0) && (runs = count_runs(home)) > 0)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: %s, but %s holds %d runs with journals: put back a copy of the database, make it again from "
            "them with 'taper rebuild', or move that directory away to begin an empty home",
            home->database, there ? "empty" : "missing", home->runs, runs);
    return STATUS_OK;
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
    int status = home->alone ? error_set(err, STATUS_BAD_INPUT, "a database alone is only read")
                             : store_open(&writer, home, STORE_WRITE, err);
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
    int status = mode == STORE_WRITE ? store_lease_take(s, home, err) : STATUS_OK;
    if (!status)
        status = check_not_lost(home, err);
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
    if (!status && version == store_version_known() && (status = store_newest_views(*out, err)) == STATUS_OK)
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

/* Files of a database, behind its path. */
static const char *const database_files[] = {"", "-wal", "-shm"};

enum { DATABASE_FILES = sizeof database_files / sizeof database_files[0] };

static bool has_content(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

static int check_may_rebuild(const struct home *home, bool force, struct error *err)
{
    if (!has_content(home->database))
        return STATUS_OK;
    if (!force)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: there, and not empty; --force makes another and keeps this one as taper.db.old",
                         home->database);
    char *old = memory_format("%s.old", home->database);
    int status = access(old, F_OK) == 0 ? error_set(err, STATUS_BAD_INPUT, "%s: there already: move it away first", old)
                                        : STATUS_OK;
    free(old);
    return status;
}

int store_rebuild_open(struct store **out, const struct home *home, bool force, struct error *err)
{
    struct store *s = memory_alloc(1, sizeof *s);
    *s = (struct store){.mode = STORE_WRITE, .lock = -1, .path = memory_format("%s.rebuild", home->database)};
    struct home beside = *home;
    beside.database = s->path;
    *out = NULL;
    int status = store_lease_take(s, home, err);
    if (!status)
        status = check_may_rebuild(home, force, err);
    for (int i = 0; i < DATABASE_FILES && !status; i++) { /* of a rebuild that was killed */
        char *path = memory_format("%s%s", s->path, database_files[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot remove", path);
        free(path);
    }
    if (!status)
        status = open_connection(s, &beside, err);
    if (status) {
        store_close(s);
        return status;
    }
    *out = s;
    return STATUS_OK;
}

/* A log without its database would be taken for the new one's: it goes with the old name. */
static int put_old_aside(const struct home *home, struct error *err)
{
    int status = STATUS_OK;
    for (int i = 0; i < DATABASE_FILES && !status; i++) {
        char *path = memory_format("%s%s", home->database, database_files[i]);
        char *old = memory_format("%s.old%s", home->database, database_files[i]);
        if ((i > 0 || has_content(path)) && rename(path, old) != 0 && errno != ENOENT)
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot rename", path);
        free(path);
        free(old);
    }
    return status;
}

/* The lock stays. */
static int close_connection(struct store *s)
{
    for (int i = 0; i < s->cached; i++)
        sqlite3_finalize(s->cache[i].statement);
    s->cached = 0;
    int code = sqlite3_close(s->db);
    s->db = NULL;
    return code;
}

int store_rebuild_finish(struct store *s, const struct home *home, struct error *err)
{
    int status = store_exec(s, "PRAGMA wal_checkpoint(TRUNCATE)", "write it out", err);
    if (!status && close_connection(s) != SQLITE_OK)
        status = error_set(err, STATUS_FAILED, "%s: cannot close", s->path);
    if (!status)
        status = put_old_aside(home, err);
    if (!status && rename(s->path, home->database) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot rename", s->path);
    return status;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    close_connection(s);
    store_lease_drop(s);
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
