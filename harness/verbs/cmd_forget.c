#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/base/format.h"
#include "harness/base/options.h"
#include "harness/daemon/client.h"
#include "harness/daemon/forget.h"
#include "harness/verbs/commands.h"

static void print_reply(const char *word, const json_t *reply, int64_t bytes)
{
    const bool dry = json_is_true(json_object_get(reply, "dry"));
    const size_t runs = json_array_size(json_object_get(reply, "runs"));
    const long long kept = (long long)json_integer_value(json_object_get(reply, "kept"));
    const char *verb = dry ? "would be removed" : "removed";
    if (json_is_true(json_object_get(reply, "checkpoints")))
        printf("%s: the checkpoints of %zu done runs %s, %.1f MiB", word, runs, verb, (double)bytes / (1 << 20));
    else
        printf("%s: %zu runs and all that was recorded of them %s, %.1f MiB of files", word, runs, verb,
               (double)bytes / (1 << 20));
    if (kept)
        printf("; %lld stay, another sweep has them too", kept);
    puts(dry ? "; --yes does it" : "");
}

struct forgetting {
    const struct home *home;
    bool checkpoints, yes, as_json;
};

static int ask(const struct forgetting *f, const char *word, bool yes, json_t **reply, struct error *err)
{
    json_t *body = json_pack("{s:s, s:b, s:b}", "what", word, "checkpoints", (int)f->checkpoints, "yes", (int)yes);
    *reply = NULL;
    return body ? client_ask_home(f->home, "forget", body, reply, NULL, err)
                : error_set(err, STATUS_BAD_INPUT, "a name that is not UTF-8");
}

/* A run's rows at a time, so that the daemon has time for others in between; the sweep is the last to go, and one that
 * was cut off goes on where it is asked for again. Files are removed here for the same reason. */
static int remove_all(const struct forgetting *f, const char *word, const json_t *list, int64_t *bytes,
                      struct error *err)
{
    const bool each = json_is_true(json_object_get(list, "sweep")) && !f->checkpoints;
    const json_t *runs = each ? json_object_get(list, "runs") : NULL;
    const bool shown = isatty(2) && json_array_size(runs) > 1;
    int status = STATUS_OK;
    json_t *run, *reply;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        if (status)
            break;
        if (shown)
            fprintf(stderr, "\rrun %zu of %zu\033[K", i + 1, json_array_size(runs));
        status = ask(f, json_string_value(run), true, &reply, err);
        json_decref(reply);
    }
    if (shown)
        fprintf(stderr, "\r\033[K");
    if (!status) {
        status = ask(f, word, true, &reply, err);
        json_decref(reply);
    }
    return status ? status : forget_empty(f->home, bytes, err);
}

static int forget_one(const struct forgetting *f, const char *word, struct error *err)
{
    int64_t bytes = 0;
    json_t *reply;
    int status = ask(f, word, false, &reply, err);
    if (!status && f->yes) {
        json_object_set_new(reply, "dry", json_false());
        status = remove_all(f, word, reply, &bytes, err);
    } else if (!status) {
        bytes = forget_size(f->home, reply);
    }
    if (!status && f->as_json) {
        json_object_set_new(reply, "bytes", json_integer(bytes));
        json_dumpf(reply, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (!status) {
        print_reply(word, reply, bytes);
    }
    json_decref(reply);
    return status;
}

static int forget_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool dry = false;
    struct home home = {0};
    struct forgetting f = {.home = &home};
    const struct option_spec specs[] = {{.name = "checkpoints", .flag = &f.checkpoints},
                                        {.name = "yes", .flag = &f.yes},
                                        {.name = "dry-run", .flag = &dry},
                                        {.name = "json", .flag = &f.as_json},
                                        {.name = "home", .value = &given},
                                        {0}};
    int operands, status = options_parse(&cmd_forget, specs, argc, argv, &operands, err);
    if (!status && operands < 1)
        status = command_usage(&cmd_forget, err, "wants sweeps or runs");
    if (!status && f.yes && dry)
        status = command_usage(&cmd_forget, err, "wants --yes or --dry-run, not both");
    if (!status)
        status = home_init(&home, given, false, err);
    for (int i = 1; i <= operands && !status; i++)
        status = forget_one(&f, argv[i], err);
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
    .about = "A sweep goes with the runs that no other sweep has: their rows and their directories. What is live is\n"
             "never removed, nor what a run that is yet to run needs. A run without a checkpoint keeps its curves and\n"
             "tables, and can no longer be evaluated, folded or exported.\n",
    .options = forget_options,
    .exec = forget_exec,
};
