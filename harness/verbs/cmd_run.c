#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/data/dataset.h"
#include "harness/verbs/commands.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/daemon/foreground.h"
#include "harness/spec/spec.h"
#include "harness/verbs/spec_print.h"
#include "harness/daemon/submit.h"

/* The runs a sweep stands for, and what the home knows of them, without doing anything. */
static int print_runs(const char *path, const char *home_given, bool as_json, struct error *err)
{
    struct spec spec;
    struct home home = {0};
    struct store *store = NULL;
    int status = spec_load(&spec, path, stderr, err);
    if (status)
        return status;
    if (home_init(&home, home_given, false, NULL) == STATUS_OK)
        store_open(&store, &home, STORE_READ, NULL);
    int64_t doubles;
    status = spec_print(&spec, dataset_digests, store, stdout, as_json ? LISTING_JSON : LISTING_TEXT, &doubles, err);
    if (!status && !as_json) {
        printf("%lld runs", (long long)(spec.run_count - doubles));
        if (doubles)
            printf("; %lld named twice", (long long)doubles);
        if (spec.limits.pack > 1)
            printf(", up to %lld of equal shape share a worker: %lld workers", (long long)spec.limits.pack,
                   (long long)spec_workers(&spec));
        putchar('\n');
        spec_print_stop(&spec, stdout);
    }
    store_close(store);
    home_fini(&home);
    spec_fini(&spec);
    return status;
}

static int run_exec(int argc, char **argv, struct error *err)
{
    struct engine_options engine = {0};
    const char *home = NULL;
    bool dry = false, as_json = false;
    struct option_spec specs[ENGINE_OPTIONS + 4] = {{0}};
    int n = engine_option_specs(&engine, specs), operands;
    specs[n++] = (struct option_spec){.name = "home", .value = &home};
    specs[n++] = (struct option_spec){.name = "dry-run", .flag = &dry};
    specs[n++] = (struct option_spec){.name = "json", .flag = &as_json};
    json_t *body = NULL;
    int status = options_parse(&cmd_run, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_run, err, "wants one sweep file");
    if (!status && as_json && !dry)
        status = command_usage(&cmd_run, err, "--json goes with --dry-run");
    if (!status && dry)
        return print_runs(argv[1], home, as_json, err);
    if (!status)
        status = spec_check(argv[1], err);
    if (!status)
        status = submit_request(argv[1], &body, err);
    if (!status)
        status = foreground_run(&engine, home, body, err);
    json_decref(body);
    return status;
}

static const struct option_row run_options[] = {
    {"dry-run", 'n', NULL, "print the runs it stands for, and do nothing"},
    {"json", 0, NULL, "with --dry-run: as JSON"},
    OPTION_HOME,
    ENGINE_ROWS,
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .operands = "SPEC|-",
    .brief = "run a sweep here, without a daemon",
    .about = "Goes on where an earlier one stopped; only this sweep's runs are started. Ctrl-C has the workers "
             "checkpoint and end,\n"
             "a second one kills them. Exit status 0 when all runs are done, 1 when one failed, 3 when it was "
             "stopped,\n"
             "2 when the queue is paused: 'taper resume' comes first.\n",
    .options = run_options,
    .exec = run_exec,
};
