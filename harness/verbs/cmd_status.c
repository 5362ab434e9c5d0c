#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/daemon/standing.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/verbs/status_text.h"

enum { WATCH_MS = 1000 };

enum shape { TEXT, JSON, WINDOW };

static int show_once(const struct home *home, const char *sweep, enum shape shape, struct error *err)
{
    struct store *store = NULL;
    json_t *all = NULL;
    int status = store_open(&store, home, STORE_READ, err);
    if (!status)
        status = store_own_views(store, err);
    if (!status)
        status = standing_collect(store, home, sweep, &all, err);
    store_close(store);
    if (status) {
        json_decref(all);
        return status;
    }
    if (shape == JSON) {
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putchar('\n');
    } else if (shape == TEXT) {
        status_print(stdout, all, home);
    } else {
        status_print_window(stdout, all, home, terminal_of(STDOUT_FILENO), terminal_colours(STDOUT_FILENO));
    }
    json_decref(all);
    return STATUS_OK;
}

static int watch(const struct home *home, const char *sweep, struct error *err)
{
    const struct timespec pause = {WATCH_MS / 1000, WATCH_MS % 1000 * 1000000};
    printf("\033[2J");
    for (;;) {
        int status = show_once(home, sweep, WINDOW, err);
        if (status)
            return status;
        if (fflush(stdout) != 0)
            return error_errno(err, STATUS_FAILED, errno, "cannot write");
        nanosleep(&pause, NULL);
    }
}

static int status_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false, watching = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given},
                                        {.name = "json", .flag = &as_json},
                                        {.name = "watch", .flag = &watching},
                                        {0}};
    struct home home = {0};
    int operands, status = options_parse(&cmd_status, specs, argc, argv, &operands, err);
    if (!status && operands > 1)
        status = command_usage(&cmd_status, err, "wants one sweep, or none for all");
    if (!status && watching && (as_json || !isatty(1)))
        status = command_usage(&cmd_status, err, "--watch is for a terminal");
    if (!status)
        status = home_init_reader(&home, given, err);
    const char *sweep = operands == 1 ? argv[1] : NULL;
    if (!status)
        status = watching ? watch(&home, sweep, err) : show_once(&home, sweep, as_json ? JSON : TEXT, err);
    home_fini(&home);
    return status;
}

static const struct option_row status_options[] = {
    {"json", 0, NULL, "the same as JSON"},
    {"watch", 'w', NULL, "again every second, until interrupted"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_status = {
    .name = "status",
    .operands = "[SWEEP]",
    .brief = "how the sweeps stand, and what is running",
    .about = "Reads the database, so it works without a daemon too. Times are local; in JSON they are UTC, in "
             "microseconds.\n"
             "'no step for' is said of a run whose journal has not grown for 30 s and ten times the time between its "
             "rows.\n"
             "What queued runs wait for is said group by group; without a daemon or 'taper run', who hand out slots, "
             "only what\nwould keep them waiting with one.\n",
    .options = status_options,
    .exec = status_exec,
};
