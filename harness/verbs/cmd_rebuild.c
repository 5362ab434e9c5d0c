/* rebuild: a lost database again. */
#include <stdio.h>

#include "harness/base/options.h"
#include "harness/daemon/rebuild.h"
#include "harness/verbs/commands.h"

static void print_result(const struct home *home, const struct rebuild_result *r)
{
    printf("%s: %d sweeps", home->database, r->sweeps);
    if (r->sweeps_lost)
        printf(" (%d more could not be submitted again)", r->sweeps_lost);
    printf("; %d run directories: %d done, %d queued", r->runs, r->done, r->runs - r->done);
    if (r->recovered)
        printf("; %d of them are in no sweep that is known: in sweep recovered", r->recovered);
    if (r->lost)
        printf("; %d without a configuration left out", r->lost);
    printf("\n"
           "Not recovered: when, where and by which version attempts ran (their times are the journals'), what was "
           "failed or cancelled (queued now), changed priorities, paused sweeps, events of the queue.\n"
           "The queue is paused: look with 'taper status', then 'taper resume'.\n");
}

static int rebuild_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool force = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "force", .flag = &force}, {0}};
    struct home home = {0};
    struct rebuild_result result;
    int operands, status = options_parse(&cmd_rebuild, specs, argc, argv, &operands, err);
    if (!status && operands != 0)
        status = command_usage(&cmd_rebuild, err, "takes no operands, got '%s'", argv[1]);
    if (!status)
        status = home_init(&home, given, false, err);
    if (!status)
        status = rebuild_home(&home, force, stderr, &result, err);
    if (!status)
        print_result(&home, &result);
    home_fini(&home);
    return status;
}

static const struct option_row rebuild_options[] = {
    {"force", 0, NULL, "also where there is a database: it is kept as taper.db.old"},
    OPTION_HOME,
    {0},
};

const struct command cmd_rebuild = {
    .name = "rebuild",
    .operands = "",
    .brief = "make a lost database again from the run directories",
    .about = "Submits the sweeps kept in HOME/sweeps again, puts runs that none of them names into a sweep "
             "'recovered', and\n"
             "takes in all journals. A run is done when its journal's last word says so; all others are queued, and "
             "the queue is\n"
             "paused. The data that the sweeps name has to be there. Refuses while a daemon or 'taper run' is at "
             "work.\n",
    .options = rebuild_options,
    .exec = rebuild_exec,
};
