#include "harness/store/store_queue.h"

#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"

enum { QUICK_US = 10000000, QUICK_COUNTED = 16 };

void store_queue_fini(struct store_queue *q)
{
    sqlite3_finalize(q->next);
    sqlite3_finalize(q->mates);
    sqlite3_finalize(q->texts);
    *q = (struct store_queue){0};
}

static int prepare(struct store *s, sqlite3_stmt **statement, const char *sql, struct error *err)
{
    if (!*statement && sqlite3_prepare_v3(store_connection(s), sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL))
        return error_set(err, STATUS_FAILED, "the queue cannot be read: %s", sqlite3_errmsg(store_connection(s)));
    return STATUS_OK;
}

int store_queue_next(struct store_queue *q, struct store *s, const char *sweep, int device, int64_t slots, int64_t now,
                     struct store_run *run, bool *found, struct error *err)
{
    if (!sweep)
        return store_next_queued(s, device, slots, now, run, found, err);
    char id[CONFIG_ID] = "";
    int status = prepare(s, &q->next,
                         "SELECT id FROM run r WHERE state = 'queued' AND wants = ?1 AND slots <= ?2 "
                         "AND not_before <= ?3 AND EXISTS (SELECT 1 FROM sweep_run m JOIN sweep w "
                         "ON w.name = m.sweep WHERE m.run = r.id AND m.wanted AND NOT w.paused "
                         "AND m.sweep = ?4) ORDER BY priority DESC, position LIMIT 1",
                         err);
    if (status)
        return status;
    sqlite3_bind_text(q->next, 1, device == DEVICE_CPU ? "cpu" : "cuda", -1, SQLITE_STATIC);
    sqlite3_bind_int64(q->next, 2, slots);
    sqlite3_bind_int64(q->next, 3, now);
    sqlite3_bind_text(q->next, 4, sweep, -1, SQLITE_STATIC);
    int code = sqlite3_step(q->next);
    if (code == SQLITE_ROW)
        snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(q->next, 0));
    sqlite3_reset(q->next);
    *found = id[0] != '\0';
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return error_set(err, STATUS_FAILED, "the queue cannot be read: %s", sqlite3_errstr(code));
    return *found ? store_run_find(s, id, run, err) : STATUS_OK;
}

int store_queue_mates(struct store_queue *q, struct store *s, const char *sweep, const struct store_run *run,
                      int64_t now, int most, struct store_run *mates, int *count, struct error *err)
{
    *count = 0;
    int code = SQLITE_DONE,
        status = prepare(s, &q->mates,
                         "SELECT id FROM run r WHERE shape = ?1 AND priority = ?2 AND state = 'queued' AND pack > 1 "
                         "AND pack = ?3 AND slots = ?4 AND not_before <= ?5 AND id <> ?6 "
                         "AND EXISTS (SELECT 1 FROM sweep_run m JOIN sweep w ON w.name = m.sweep WHERE m.run = r.id "
                         "AND m.wanted AND NOT w.paused AND (?7 IS NULL OR m.sweep = ?7)) ORDER BY position LIMIT ?8",
                         err);
    if (status)
        return status;
    sqlite3_bind_text(q->mates, 1, run->shape, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q->mates, 2, run->priority);
    sqlite3_bind_int64(q->mates, 3, run->pack);
    sqlite3_bind_int64(q->mates, 4, run->slots);
    sqlite3_bind_int64(q->mates, 5, now);
    sqlite3_bind_text(q->mates, 6, run->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(q->mates, 7, sweep, -1, SQLITE_STATIC);
    sqlite3_bind_int(q->mates, 8, most);
    while (!status && *count < most && (code = sqlite3_step(q->mates)) == SQLITE_ROW)
        status = store_run_find(s, (const char *)sqlite3_column_text(q->mates, 0), &mates[(*count)++], err);
    sqlite3_reset(q->mates);
    if (!status && code != SQLITE_ROW && code != SQLITE_DONE)
        status = error_set(err, STATUS_FAILED, "the queue cannot be read: %s", sqlite3_errstr(code));
    return status;
}

int store_queue_texts(struct store_queue *q, struct store *s, const char *run, char **config, char **after,
                      struct error *err)
{
    *config = *after = NULL;
    int status = prepare(s, &q->texts, "SELECT config, after FROM run WHERE id = ?1", err);
    if (status)
        return status;
    sqlite3_bind_text(q->texts, 1, run, -1, SQLITE_STATIC);
    int code = sqlite3_step(q->texts);
    if (code == SQLITE_ROW) {
        const char *then = (const char *)sqlite3_column_text(q->texts, 1);
        *config = memory_string((const char *)sqlite3_column_text(q->texts, 0));
        *after = then && strcmp(then, "{}") != 0 ? memory_string(then) : NULL;
    }
    sqlite3_reset(q->texts);
    return *config ? STATUS_OK : error_set(err, STATUS_FAILED, "run %s cannot be read: %s", run, sqlite3_errstr(code));
}

int store_queue_quick_in_a_row(struct store *s, const char *run, int attempt, enum outcome outcome)
{
    sqlite3_stmt *query = NULL;
    int times = 0;
    sqlite3_prepare_v2(
        store_connection(s),
        "SELECT attempt, cause, started, coalesce(ended, ?3) FROM attempt WHERE run = ?1 AND attempt <= ?2 "
        "ORDER BY attempt DESC",
        -1, &query, NULL);
    sqlite3_bind_text(query, 1, run, -1, SQLITE_STATIC);
    sqlite3_bind_int(query, 2, attempt);
    sqlite3_bind_int64(query, 3, store_now());
    while (times < QUICK_COUNTED && sqlite3_step(query) == SQLITE_ROW) {
        const char *cause = (const char *)sqlite3_column_text(query, 1);
        bool same = sqlite3_column_int(query, 0) == attempt || (cause && strcmp(cause, outcome_name(outcome)) == 0);
        int64_t lived = sqlite3_column_int64(query, 3) - sqlite3_column_int64(query, 2);
        if (!same || lived > QUICK_US)
            break;
        times++;
    }
    sqlite3_finalize(query);
    return times;
}

static void list_names(sqlite3_stmt *query, struct store_queue_sweeps *out)
{
    while (sqlite3_step(query) == SQLITE_ROW) {
        out->names = memory_resize(out->names, out->count + 1, sizeof *out->names);
        snprintf(out->names[out->count++], SPEC_NAME, "%s", (const char *)sqlite3_column_text(query, 0));
    }
    sqlite3_finalize(query);
}

void store_queue_fail_fast(struct store *s, const char *run, struct store_queue_sweeps *out)
{
    sqlite3_stmt *query = NULL;
    *out = (struct store_queue_sweeps){0};
    sqlite3_prepare_v2(store_connection(s),
                       "SELECT DISTINCT m.sweep FROM sweep_run m JOIN sweep w ON w.name = m.sweep "
                       "WHERE m.run = ?1 AND m.wanted AND w.fail_fast",
                       -1, &query, NULL);
    sqlite3_bind_text(query, 1, run, -1, SQLITE_STATIC);
    list_names(query, out);
}

void store_queue_sweeps(struct store *s, struct store_queue_sweeps *out)
{
    sqlite3_stmt *query = NULL;
    *out = (struct store_queue_sweeps){0};
    sqlite3_prepare_v2(store_connection(s), "SELECT name FROM sweep ORDER BY created, name", -1, &query, NULL);
    list_names(query, out);
}
