#include <stdio.h>
#include <unistd.h>

#include "harness/base/terminal.h"
#include "harness/results/run_list.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

static int print_runs(struct result_verb *v, enum listing_format format, struct error *err)
{
    struct result_rows rows;
    int status = run_list_make(&rows, &v->from, err);
    if (!status)
        status = result_rows_print(&rows, stdout, format, terminal_of(STDOUT_FILENO).columns, err);
    result_rows_fini(&rows);
    return status;
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
    RESULT_WHERE_ROW,
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
