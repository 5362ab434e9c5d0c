#include <stdio.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/base/options.h"

/* Without a daemon nothing will change: say how it is. */
static int look_only(const struct home *home, const char *word, bool *done, struct error *err)
{
    struct store *store = NULL;
    bool finished = false;
    int status = store_open(&store, home, STORE_READ, err);
    if (!status)
        status = requests_finished(store, word, &finished, done, err);
    if (!status && !finished)
        status = error_set(err, STATUS_FAILED, "%s is not finished, and no daemon serves this home", word);
    store_close(store);
    return status;
}

static int wait_one(const struct home *home, const char *word, bool *done, struct error *err)
{
    struct client *client = NULL;
    json_t *reply = NULL;
    int status = client_open(&client, home, err);
    if (!status && !client)
        return look_only(home, word, done, err);
    if (!status)
        status = client_ask(client, "wait", json_pack("{s:s}", "what", word), &reply, err);
    const char *stuck = json_string_value(json_object_get(reply, "stuck"));
    if (!status && stuck)
        status = error_set(err, STATUS_FAILED, "%s can never be finished: %s", word, stuck);
    if (!status)
        *done = json_is_true(json_object_get(reply, "done"));
    json_decref(reply);
    client_close(client);
    return status;
}

static int wait_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {0}};
    struct home home = {0};
    bool all = true;
    int operands, status = options_parse(&cmd_wait, specs, argc, argv, &operands, err);
    if (!status && operands < 1)
        status = command_usage(&cmd_wait, err, "wants sweeps or runs");
    if (!status)
        status = home_init(&home, given, false, err);
    for (int i = 1; i <= operands && !status; i++) {
        bool done = false;
        status = wait_one(&home, argv[i], &done, err);
        all = all && done;
    }
    home_fini(&home);
    if (!status && !all)
        return error_set(err, STATUS_FAILED, "not all runs are done");
    return status;
}

static const struct option_row wait_options[] = {
    OPTION_HOME,
    {0},
};

const struct command cmd_wait = {
    .name = "wait",
    .operands = "SWEEP|RUN...",
    .brief = "wait until runs have ended",
    .about =
        "Exit status 0 when all of them are done, 1 when any failed or was cancelled, or when nothing that is left\n"
        "can ever start; the text says why.\n",
    .options = wait_options,
    .exec = wait_exec,
};
