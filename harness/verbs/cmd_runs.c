#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/listing.h"
#include "harness/base/terminal.h"
#include "harness/results/result_rows.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

/* A row a run, and of one sweep the keys that differ: blank where a run stands for several values, as a baseline does.
 * On the heap. */
static char *make_sql(const struct result_groups *g, bool sizes)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fprintf(out, "SELECT m.run, %sm.variant, %s", g->sweep ? "" : "m.sweep, ", sizes ? "m.size, " : "");
    for (int i = 0; i < g->key_count; i++)
        fprintf(out, "iif(count(DISTINCT m.\"%s\") > 1, NULL, min(m.\"%s\")) AS \"%s\", ", g->keys[i], g->keys[i],
                g->keys[i]);
    fputs("m.seed, m.state, coalesce((SELECT step FROM journal j WHERE j.run = m.run), 0) AS step, m.steps, "
          "(SELECT ce FROM step s WHERE s.run = m.run ORDER BY step DESC LIMIT 1) AS loss, "
          "m.val_loss_raw AS val_loss, CASE WHEN m.state IN ('failed', 'cancelled') THEN "
          "(SELECT coalesce(a.outcome_text, a.text, a.cause) FROM attempt a WHERE a.run = m.run "
          "ORDER BY a.attempt DESC LIMIT 1) WHEN m.state = 'paused' THEN "
          "(SELECT why FROM decision d WHERE d.run = m.run ORDER BY d.id DESC LIMIT 1) END AS why "
          "FROM run_shown m GROUP BY m.sweep, m.run, m.variant ORDER BY m.sweep, min(m.position), m.variant",
          out);
    fclose(out);
    return sql;
}

static bool sizes_differ(const struct result_groups *g)
{
    for (int i = 1; i < g->count; i++)
        if (strcmp(g->group[i].size, g->group[0].size) != 0)
            return true;
    return false;
}

static int print_runs(struct result_verb *v, enum listing_format format, struct error *err)
{
    struct result_rows rows;
    char *sql = make_sql(&v->from.groups, sizes_differ(&v->from.groups));
    int status = result_query(&rows, v->store, "the runs", sql, NULL, err);
    free(sql);
    if (status)
        return status;
    struct listing *t = listing_begin(stdout, format, (const char *const *)rows.names, rows.columns);
    listing_fit(t, terminal_of(STDOUT_FILENO).columns);
    for (int r = 0; r < rows.rows; r++)
        for (int c = 0; c < rows.columns; c++)
            result_verb_put(t, result_at(&rows, r, c));
    result_rows_fini(&rows);
    return listing_end(t, err);
}

static int runs_exec(int argc, char **argv, struct error *err)
{
    bool json = false, csv = false;
    struct result_verb v = {0};
    const struct option_spec specs[] = {{.name = "json", .flag = &json},
                                        {.name = "csv", .flag = &csv},
                                        {.name = "where", .each = result_verb_where, .arg = &v.choice},
                                        {.name = "home", .value = &v.home},
                                        {0}};
    int operands, status = options_parse(&cmd_runs, specs, argc, argv, &operands, err);
    if (!status && operands > 1)
        status = command_usage(&cmd_runs, err, "wants one sweep, or none for all");
    if (!status && json && csv)
        status = command_usage(&cmd_runs, err, "wants one of --csv and --json");
    const char *sweep = operands == 1 ? argv[1] : NULL;
    if (!status)
        status = result_verb_open(&v, err);
    if (!status && sweep)
        status = store_sweep_find(v.store, sweep, err);
    if (!status)
        status = results_prepare(&v.from, sweep, err);
    if (!status)
        status = print_runs(&v, csv ? LISTING_CSV : json ? LISTING_JSON : LISTING_TEXT, err);
    result_verb_close(&v);
    return status;
}

static const struct option_row runs_options[] = {
    {"where", 0, "KEY=VALUE",
     "only runs that have it (a key of the configuration, or variant); again for more: of one key any of the values"},
    {"json", 0, NULL, "JSON, for scripts"},
    {"csv", 0, NULL, "CSV, for scripts"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_runs = {
    .name = "runs",
    .operands = "[SWEEP]",
    .brief = "a line a run: state, seed, losses, the keys that differ",
    .about = "loss is the training loss at the last logged step, val_loss that of the last evaluation once a run is "
             "done. Of one\n"
             "sweep the keys that differ within its variants have a column each. Works without a daemon too.\n",
    .options = runs_options,
    .exec = runs_exec,
};
