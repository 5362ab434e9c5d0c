#include <stdio.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/queue/slurm_script.h"
#include "harness/spec/spec.h"
#include "harness/daemon/submit.h"
#include "harness/verbs/spec_print.h"

/* Whether Slurm would take the jobs of a sweep that says what they are to be given; on standard error, since it is no
 * part of what would be queued. Where there is no Slurm that is said, and no fault. */
static int try_slurm(const char *path, struct error *err)
{
    struct spec spec;
    struct config cfg;
    char text[300];
    struct error why = {0};
    int status = spec_load(&spec, path, stderr, err);
    if (status || !spec.slurm || spec.run_count == 0) {
        spec_fini(&spec);
        return status;
    }
    spec_run(&spec, 0, &cfg);
    status = slurm_script_try(spec.slurm, cfg.device == DEVICE_CPU ? "cpu" : "cuda", 30, text, sizeof text, &why);
    if (status == STATUS_BAD_INPUT)
        status = error_set(err, status, "%s", why.text);
    else
        fprintf(stderr, "slurm: %s\n", status ? why.text : text);
    spec_fini(&spec);
    return status == STATUS_BAD_INPUT ? status : STATUS_OK;
}

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
    if (!status && dry)
        status = try_slurm(argv[1], err);
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
    {"dry-run", 'n', NULL,
     "say which runs are new, changed, kept or dropped, and do nothing; with run: slurm: Slurm is asked too"},
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
