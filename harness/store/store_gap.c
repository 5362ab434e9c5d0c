/* Rows that a training to its end writes and that are not in the database. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

struct counted {
    int64_t steps, steps_due, evals, evals_due;
    int attempt; /* the run's last */
};

static int count_rows(struct store *s, const char *run, struct counted *n, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s,
                                      "SELECT n.steps, n.steps_due, n.evals, n.evals_due, r.attempts FROM run_rows n "
                                      "JOIN run r ON r.id = n.run WHERE n.run = ?1",
                                      err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int code = sqlite3_step(row), status = STATUS_OK;
    if (code == SQLITE_ROW)
        *n = (struct counted){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2),
                              sqlite3_column_int64(row, 3), sqlite3_column_int(row, 4)};
    else
        status =
            code == SQLITE_DONE ? store_refuse(s, err, "no run '%s'", run) : store_fail(s, err, "count a run's rows");
    sqlite3_reset(row);
    return status;
}

int store_note_gap(struct store *s, const char *run, char **text, struct error *err)
{
    struct counted n = {0};
    if (text)
        *text = NULL;
    int status = count_rows(s, run, &n, err);
    if (status || (n.steps >= n.steps_due && n.evals >= n.evals_due))
        return status;
    char *what = memory_format("rows are missing: %lld of %lld logged steps and %lld of %lld evaluations are there",
                               (long long)n.steps, (long long)n.steps_due, (long long)n.evals, (long long)n.evals_due);
    status = store_event(s, NULL, run, n.attempt, "gap", what, err);
    if (text && !status)
        *text = what;
    else
        free(what);
    return status;
}
