#include "harness/store/store_queue.h"

#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

enum { QUICK_US = 10000000, QUICK_COUNTED = 16 };

#define DELAY_MOST_US "600000000"
_Static_assert(STORE_DELAY_MOST_S == 600, "DELAY_MOST_US says the same in SQL");

/* A run r may start now: ?1 is the time, ?2 the sweep that asks (NULL: any). */
#define MAY_START                                                                                                      \
    "r.state = 'queued' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'paused') "                                     \
    "AND (r.not_before <= ?1 OR r.not_before > ?1 + " DELAY_MOST_US ") "                                               \
    "AND (r.needs IS NULL OR EXISTS (SELECT 1 FROM run n WHERE n.id = r.needs AND n.state = 'done')) "                 \
    "AND EXISTS (SELECT 1 FROM sweep_run m JOIN sweep w ON w.name = m.sweep WHERE m.run = r.id AND m.wanted "          \
    "AND NOT w.paused AND (?2 IS NULL OR m.sweep = ?2)) "

static const char *wants(int device)
{
    return device == DEVICE_CUDA ? "cuda" : "cpu";
}

int store_queue_next(struct store *s, const char *sweep, int device, int64_t slots, int64_t now, int skip,
                     struct store_run *run, bool *found, struct error *err)
{
    static const char sql[] =
        "SELECT " STORE_RUN_COLUMNS "FROM run r WHERE " MAY_START
        "AND r.wants = ?3 AND r.slots <= ?4 ORDER BY r.priority DESC, r.position LIMIT 1 OFFSET ?5";
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_int(row, 1, now);
    store_bind_text(row, 2, sweep);
    store_bind_text(row, 3, wants(device));
    store_bind_int(row, 4, slots);
    store_bind_int(row, 5, skip);
    int code = sqlite3_step(row), status = STATUS_OK;
    *found = code == SQLITE_ROW;
    if (*found)
        store_read_run(row, run);
    else if (code != SQLITE_DONE)
        status = store_fail(s, err, "find the next run");
    sqlite3_reset(row);
    return status;
}

int store_queue_mates(struct store *s, const char *sweep, const struct store_run *run, int64_t now, int most,
                      struct store_run *mates, int *count, struct error *err)
{
    static const char sql[] = "SELECT " STORE_RUN_COLUMNS "FROM run r INDEXED BY run_pack WHERE " MAY_START
                              "AND r.shape = ?3 AND r.pack > 1 AND r.pack = ?4 AND r.slots = ?5 AND r.priority = ?6 "
                              "AND r.id <> ?7 AND r.wants = ?8 AND r.slurm = (SELECT slurm FROM run WHERE id = ?7) "
                              "ORDER BY r.position LIMIT ?9";
    *count = 0;
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_int(row, 1, now);
    store_bind_text(row, 2, sweep);
    store_bind_text(row, 3, run->shape);
    store_bind_int(row, 4, run->pack);
    store_bind_int(row, 5, run->slots);
    store_bind_int(row, 6, run->priority);
    store_bind_text(row, 7, run->id);
    store_bind_text(row, 8, wants(run->device));
    store_bind_int(row, 9, most);
    int code, status = STATUS_OK;
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        store_read_run(row, &mates[(*count)++]);
    if (code != SQLITE_DONE)
        status = store_fail(s, err, "find the runs that share a worker");
    sqlite3_reset(row);
    return status;
}

int store_queue_delay(struct store *s, int64_t now, int64_t *when, struct error *err)
{
    static const char sql[] = "SELECT coalesce(min(not_before), 0) FROM run WHERE state = 'queued' "
                              "AND not_before > ?1 AND not_before <= ?1 + " DELAY_MOST_US;
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_int(row, 1, now);
    int status = STATUS_OK;
    if (sqlite3_step(row) == SQLITE_ROW)
        *when = sqlite3_column_int64(row, 0);
    else
        status = store_fail(s, err, "find the next delay");
    sqlite3_reset(row);
    return status;
}

int store_queue_texts(struct store *s, const char *run, char **config, char **data, char **after, char **slurm,
                      struct error *err)
{
    *config = *data = *after = *slurm = NULL;
    sqlite3_stmt *row = store_prepare(s,
                                      "SELECT config, after, json_object('corpus', corpus, 'tokenizer', tokenizer), "
                                      "nullif(slurm, '') FROM run WHERE id = ?1",
                                      err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int code = sqlite3_step(row), status = STATUS_OK;
    if (code == SQLITE_ROW) {
        const char *then = (const char *)sqlite3_column_text(row, 1);
        *config = memory_string((const char *)sqlite3_column_text(row, 0));
        *data = memory_string((const char *)sqlite3_column_text(row, 2));
        *after = then && strcmp(then, "{}") != 0 ? memory_string(then) : NULL;
        const char *options = (const char *)sqlite3_column_text(row, 3);
        *slurm = options ? memory_string(options) : NULL;
    } else {
        status = code == SQLITE_DONE ? store_refuse(s, err, "no run '%s'", run) : store_fail(s, err, "read a run");
    }
    sqlite3_reset(row);
    return status;
}

bool store_queue_progress(struct store *s, const char *run, int attempt)
{
    static const char sql[] =
        "SELECT coalesce(max(iif(attempt = ?2, step, 0)), 0) > coalesce(max(iif(attempt < ?2, step, 0)), 0) FROM event "
        "WHERE run = ?1 AND kind = 'checkpoint' AND attempt > coalesce((SELECT since FROM redo WHERE run = ?1), 0)";
    sqlite3_stmt *row = store_prepare(s, sql, NULL);
    if (!row)
        return false;
    store_bind_text(row, 1, run);
    store_bind_int(row, 2, attempt);
    bool progress = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) != 0;
    sqlite3_reset(row);
    return progress;
}

int store_queue_quick_in_a_row(struct store *s, const char *run, int attempt, enum outcome outcome)
{
    static const char sql[] = "SELECT attempt, cause, started, coalesce(ended, ?3) FROM attempt WHERE run = ?1 "
                              "AND attempt <= ?2 ORDER BY attempt DESC";
    sqlite3_stmt *row = store_prepare(s, sql, NULL);
    int times = 0;
    if (!row)
        return 0;
    store_bind_text(row, 1, run);
    store_bind_int(row, 2, attempt);
    store_bind_int(row, 3, store_now());
    while (times < QUICK_COUNTED && sqlite3_step(row) == SQLITE_ROW) {
        const char *cause = (const char *)sqlite3_column_text(row, 1);
        bool same = sqlite3_column_int(row, 0) == attempt || (cause && strcmp(cause, outcome_name(outcome)) == 0);
        int64_t lived = sqlite3_column_int64(row, 3) - sqlite3_column_int64(row, 2);
        if (!same || lived > QUICK_US)
            break;
        times++;
    }
    sqlite3_reset(row);
    return times;
}

/* The names a statement lists; ?1 is a run where it has one. */
static void list_names(struct store *s, const char *sql, const char *run, struct store_queue_sweeps *out)
{
    *out = (struct store_queue_sweeps){0};
    sqlite3_stmt *row = store_prepare(s, sql, NULL);
    if (!row)
        return;
    if (run)
        store_bind_text(row, 1, run);
    while (sqlite3_step(row) == SQLITE_ROW) {
        out->names = memory_resize(out->names, out->count + 1, sizeof *out->names);
        snprintf(out->names[out->count++], SPEC_NAME, "%s", (const char *)sqlite3_column_text(row, 0));
    }
    sqlite3_reset(row);
}

void store_queue_fail_fast(struct store *s, const char *run, struct store_queue_sweeps *out)
{
    list_names(s,
               "SELECT DISTINCT m.sweep FROM sweep_run m JOIN sweep w ON w.name = m.sweep "
               "WHERE m.run = ?1 AND m.wanted AND w.fail_fast",
               run, out);
}

void store_queue_sweeps(struct store *s, struct store_queue_sweeps *out)
{
    list_names(s, "SELECT name FROM sweep ORDER BY created, name", NULL, out);
}

int store_queue_holds(struct store *s, const char *run, bool *paused, struct error *err)
{
    sqlite3_stmt *row = store_prepare(
        s,
        "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'paused') OR NOT EXISTS (SELECT 1 FROM sweep_run m JOIN sweep w "
        "ON w.name = m.sweep WHERE m.run = ?1 AND m.wanted AND NOT w.paused)",
        err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int status = STATUS_OK;
    if (sqlite3_step(row) == SQLITE_ROW)
        *paused = sqlite3_column_int(row, 0) != 0;
    else
        status = store_fail(s, err, "see whether a run is paused");
    sqlite3_reset(row);
    return status;
}
