#include <stdio.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/daemon/submit.h"
#include "harness/verbs/spec_print.h"

static int submit_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false, dry = false, by_daemon = true;
    const struct option_spec specs[] = {
        {.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {.name = "dry-run", .flag = &dry}, {0}};
    struct home home = {0};
    json_t *body = NULL, *reply = NULL;
    int operands, status = options_parse(&cmd_submit, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_submit, err, "wants one sweep file");
    if (!status)
        status = spec_check(argv[1], err);
    if (!status)
        status = submit_request(argv[1], &body, err);
    if (!status && !dry)
        status = home_init(&home, given, true, err);
    if (!status && !dry)
        home_announce(&home);
    if (!status && dry)
        status = submit_preview(given, body, &reply, err);
    else if (!status)
        status = client_ask_home(&home, "submit", body, &reply, &by_daemon, err);
    else
        json_decref(body);
    if (!status && as_json) {
        json_dumpf(reply, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (!status) {
        submit_print(reply, stdout);
        if (!by_daemon)
            printf("no daemon serves this home: start it with 'taper daemon'\n");
    }
    json_decref(reply);
    home_fini(&home);
    return status;
}

static const struct option_row submit_options[] = {
    {"dry-run", 'n', NULL, "say which runs are new, changed, kept or dropped, and do nothing"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_submit = {
    .name = "submit",
    .operands = "SPEC|-",
    .brief = "queue the runs of a sweep",
    .about =
        "The file (- is standard input) is checked whole: nothing is queued unless all of it is right. A run that "
        "exists is not "
        "repeated;\n"
        "while it waits it takes what has changed of what is not in its name (device, log.every, retries ...), and "
        "what it\n"
        "cannot take is said.\n",
    .options = submit_options,
    .exec = submit_exec,
};
