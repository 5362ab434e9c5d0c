#include "harness/store/store_redo.h"

#include "harness/store/store_internal.h"

/* Statements of one run (?1) and a step (?2, where it is used). */
static int all_steps(struct store *s, const char *const *sql, size_t count, const char *run, int64_t step,
                     const char *doing, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = store_prepare(s, sql[i], err);
        if (!statement)
            return STATUS_FAILED;
        if (run)
            store_bind_text(statement, 1, run);
        if (sqlite3_bind_parameter_count(statement) >= 2)
            store_bind_int(statement, 2, step);
        int status = store_step(s, statement, doing, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static int ask_redo(struct store *s, const char *sql, const char *run, bool *answer, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, sql, err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int status = sqlite3_step(row) == SQLITE_ROW ? STATUS_OK : store_fail(s, err, "look for a redo");
    *answer = !status && sqlite3_column_int(row, 0);
    sqlite3_reset(row);
    return status;
}

int store_redo_must_clear(struct store *s, const char *run, bool *clear, struct error *err)
{
    return ask_redo(s, "SELECT EXISTS (SELECT 1 FROM redo WHERE run = ?1 AND since IS NOT NULL AND NOT cleared)", run,
                    clear, err);
}

int store_redo_cleared(struct store *s, const char *run, struct error *err)
{
    /* The events stay as what happened; their offsets are those of a journal that is gone. */
    static const char *const sql[] = {"UPDATE redo SET cleared = 1 WHERE run = ?1",
                                      "UPDATE event SET journal = NULL WHERE run = ?1 AND journal IS NOT NULL",
                                      "DELETE FROM journal WHERE run = ?1"};
    int status = store_begin(s, false, err);
    if (status)
        return status;
    status = all_steps(s, sql, sizeof sql / sizeof sql[0], run, 0, "begin a run afresh", err);
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}

int store_redo_ask(struct store *s, struct error *err)
{
    static const char *const sql[] = {
        "INSERT OR IGNORE INTO redo (run) SELECT id FROM chosen",
        "UPDATE redo SET since = r.attempts, cleared = 0, config = r.config, wants = r.wants, shape = r.shape, "
        "ended = r.ended FROM run r WHERE r.id = redo.run AND redo.run IN (SELECT id FROM chosen)",
        "UPDATE run SET config = coalesce(d.next_config, run.config), wants = coalesce(d.next_wants, run.wants), "
        "shape = coalesce(d.next_shape, run.shape) FROM redo d WHERE d.run = run.id AND run.id IN (SELECT id FROM "
        "chosen)"};
    return all_steps(s, sql, sizeof sql / sizeof sql[0], NULL, 0, "ask for a redo", err);
}

int store_redo_take_back(struct store *s, struct error *err)
{
    static const char *const sql[] = {
        "UPDATE run SET state = 'done', ended = d.ended, config = d.config, wants = d.wants, shape = d.shape FROM redo "
        "d WHERE d.run = run.id AND d.since IS NOT NULL AND NOT d.cleared AND run.state = 'cancelled'",
        "DELETE FROM redo WHERE since IS NOT NULL AND NOT cleared AND run IN (SELECT id FROM run WHERE state = "
        "'done')"};
    return all_steps(s, sql, sizeof sql / sizeof sql[0], NULL, 0, "take a redo back", err);
}

#define SINCE "(SELECT since FROM redo WHERE run = ?1)"

/* The rows of the attempts before give way. */
static const char *const old_rows[] = {
    "DELETE FROM step WHERE run = ?1 AND attempt <= " SINCE,
    "DELETE FROM eval WHERE run = ?1 AND coalesce(attempt, 0) <= " SINCE,
    "DELETE FROM bench WHERE run = ?1 AND coalesce(attempt, 0) <= " SINCE,
    "DELETE FROM redo WHERE run = ?1",
};

static int replace_old_rows(struct store *s, const char *run, struct error *err)
{
    int status = all_steps(s, old_rows, sizeof old_rows / sizeof old_rows[0], run, 0, "replace a run's rows", err);
    return status ? status
                  : store_add_event(s, NULL, run, 0, "redone", "the rows of the training before gave way", err);
}

int store_redo_swap(struct store *s, const char *run, int64_t step, struct error *err)
{
    /* Sites have no attempt; those of the one new step are stored already. */
    static const char *const results[] = {
        "DELETE FROM site_step WHERE run = ?1 AND step <> ?2",
        "UPDATE run SET val_loss = NULL, fold_error = NULL WHERE id = ?1",
    };
    int status = all_steps(s, results, sizeof results / sizeof results[0], run, step, "replace a run's rows", err);
    return status ? status : replace_old_rows(s, run, err);
}

int store_redo_done(struct store *s, const char *run, struct error *err)
{
    static const char *const sites[] = {"DELETE FROM site_step WHERE run = ?1"};
    bool pending = false;
    int status =
        ask_redo(s, "SELECT EXISTS (SELECT 1 FROM redo WHERE run = ?1 AND since IS NOT NULL)", run, &pending, err);
    if (status || !pending)
        return status;
    status = all_steps(s, sites, 1, run, 0, "replace a run's rows", err);
    return status ? status : replace_old_rows(s, run, err);
}
