#include <stdio.h>

#include <jansson.h>

#include "harness/base/format.h"
#include "harness/base/options.h"
#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"

static void print_reply(const char *word, const json_t *reply, bool checkpoints)
{
    const bool dry = json_is_true(json_object_get(reply, "dry"));
    const long long runs = (long long)json_integer_value(json_object_get(reply, "runs"));
    const long long kept = (long long)json_integer_value(json_object_get(reply, "kept"));
    const double mib = (double)json_integer_value(json_object_get(reply, "bytes")) / (1 << 20);
    if (checkpoints)
        printf("%s: the checkpoints of %lld done runs, %.1f MiB, %s", word, runs, mib, dry ? "would be" : "are");
    else
        printf("%s: %lld runs and all that was recorded of them, %.1f MiB of files, %s", word, runs, mib,
               dry ? "would be" : "are");
    printf(" removed");
    if (kept)
        printf("; %lld stay, another sweep has them too", kept);
    puts(dry ? "; --yes does it" : "");
}

static int forget_one(const struct home *home, const char *word, bool checkpoints, bool yes, bool as_json,
                      struct error *err)
{
    json_t *reply = NULL,
           *body = json_pack("{s:s, s:b, s:b}", "what", word, "checkpoints", (int)checkpoints, "yes", (int)yes);
    int status = client_ask_home(home, "forget", body, &reply, NULL, err);
    if (!status && as_json) {
        json_dumpf(reply, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (!status) {
        print_reply(word, reply, checkpoints);
    }
    json_decref(reply);
    return status;
}

static int forget_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool checkpoints = false, yes = false, dry = false, as_json = false;
    const struct option_spec specs[] = {{.name = "checkpoints", .flag = &checkpoints},
                                        {.name = "yes", .flag = &yes},
                                        {.name = "dry-run", .flag = &dry},
                                        {.name = "json", .flag = &as_json},
                                        {.name = "home", .value = &given},
                                        {0}};
    struct home home = {0};
    int operands, status = options_parse(&cmd_forget, specs, argc, argv, &operands, err);
    if (!status && operands < 1)
        status = command_usage(&cmd_forget, err, "wants sweeps or runs");
    if (!status && yes && dry)
        status = command_usage(&cmd_forget, err, "wants --yes or --dry-run, not both");
    if (!status)
        status = home_init(&home, given, false, err);
    for (int i = 1; i <= operands && !status; i++)
        status = forget_one(&home, argv[i], checkpoints, yes, as_json, err);
    home_fini(&home);
    return status;
}

static const struct option_row forget_options[] = {
    {"yes", 0, NULL, "do it; without, it is only said what would be done"},
    {"dry-run", 'n', NULL, "only say it, as without --yes"},
    {"checkpoints", 0, NULL, "only the checkpoints of runs that are done; all else stays"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_forget = {
    .name = "forget",
    .operands = "SWEEP|RUN...",
    .brief = "remove runs and sweeps, or checkpoints, for good",
    .about =
        "A sweep goes with the runs that no other sweep has: their rows and their directories. What is live is "
        "never removed,\n"
        "nor what a run that is yet to run needs. A run without a checkpoint keeps its curves and tables, and can no "
        "longer be\n"
        "evaluated, folded or exported.\n",
    .options = forget_options,
    .exec = forget_exec,
};
