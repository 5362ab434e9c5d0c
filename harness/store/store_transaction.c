/* Transactions, groups of them, and the events that most of them leave. */
#include <time.h>

#include "harness/store/store_internal.h"

int64_t store_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t store_changes(const struct store *s)
{
    return sqlite3_total_changes64(s->db);
}

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
    s->grouped += !status;
    return status;
}

int store_group_end(struct store *s, bool keep, struct error *err)
{
    if (s->grouped > 1) {
        s->grouped--;
        s->group_failed |= !keep;
        return s->group_failed ? STATUS_FAILED : STATUS_OK;
    }
    bool failed = s->group_failed;
    s->grouped = 0;
    s->group_failed = false;
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
