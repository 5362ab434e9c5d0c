#include "harness/results/result_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/version.h"

int results_init(struct results *r, struct store *s, const struct result_choice *choice, struct error *err)
{
    *r = (struct results){.store = s};
    if (choice)
        r->choice = *choice;
    return store_own_views(s, err);
}

void results_fini(struct results *r)
{
    result_groups_fini(&r->groups);
    *r = (struct results){0};
}

int results_prepare(struct results *r, const char *sweep, struct error *err)
{
    const char *last = r->groups.sweep;
    if (r->prepared && (sweep && last ? strcmp(sweep, last) == 0 : !sweep && !last))
        return STATUS_OK;
    result_groups_fini(&r->groups);
    r->prepared = false;
    int status = result_groups_make(&r->groups, r->store, sweep, &r->choice, err);
    r->prepared = !status;
    return status;
}

static int all_sweeps(struct result_rows *out, struct store *s, struct error *err)
{
    return result_query(out, s, "the sweeps", "SELECT name FROM sweep ORDER BY updated DESC, created DESC, name", NULL,
                        err);
}

int result_sweep_last(struct store *s, char **sweep, struct error *err)
{
    struct result_rows sweeps;
    *sweep = NULL;
    int status = all_sweeps(&sweeps, s, err);
    if (!status && sweeps.rows > 0)
        *sweep = memory_string(result_text(&sweeps, 0, 0));
    result_rows_fini(&sweeps);
    return status;
}

static int query_one(struct result_rows *out, char **sweep, struct results *r, const char *name, const char *sql,
                     const char *given, struct error *err)
{
    int status = results_prepare(r, given, err);
    if (!status)
        status = result_query(out, r->store, name, sql, given, err);
    if (!status && out->rows > 0)
        *sweep = memory_string(given);
    return status;
}

int result_sweep_query(struct result_rows *out, char **sweep, struct results *r, const char *name, const char *sql,
                       const char *given, struct error *err)
{
    struct result_rows sweeps;
    *sweep = NULL;
    *out = (struct result_rows){0};
    if (given) {
        int status = store_sweep_find(r->store, given, err);
        return status ? status : query_one(out, sweep, r, name, sql, given, err);
    }
    int status = all_sweeps(&sweeps, r->store, err);
    for (int i = 0; !status && !*sweep && i < sweeps.rows; i++) {
        result_rows_fini(out);
        status = query_one(out, sweep, r, name, sql, result_text(&sweeps, i, 0), err);
    }
    result_rows_fini(&sweeps);
    return status;
}

int result_sweep_runs(struct store *s, const char *sweep, char **text, struct error *err)
{
    static const char sql[] = "SELECT iif(redoing, 'done and being redone', state) AS stands, count(*) AS runs "
                              "FROM run_shown_state WHERE id IN (SELECT run FROM sweep_run "
                              "WHERE :sweep IS NULL OR sweep = :sweep) GROUP BY stands ORDER BY "
                              "instr('done done and being redone failed cancelled running starting queued', stands)";
    struct result_rows counts;
    int status = result_query(&counts, s, "the states of the runs", sql, sweep, err);
    if (status)
        return status;
    char *list = memory_string("");
    long long total = 0;
    for (int i = 0; i < counts.rows; i++) {
        long long n = (long long)result_number(&counts, i, 1);
        char *longer = memory_format("%s%s%lld %s", list, i ? ", " : "", n, result_text(&counts, i, 0));
        free(list);
        list = longer;
        total += n;
    }
    *text = memory_format("%lld run%s%s%s", total, total == 1 ? "" : "s", total ? ": " : "", list);
    free(list);
    result_rows_fini(&counts);
    return STATUS_OK;
}

char *result_program(void)
{
    return memory_format("taper %s (%s)", version_string(), version_revision());
}
