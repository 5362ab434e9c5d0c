/* cancel, retry, pause, resume: a request each. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

struct control {
    const struct command *command;
    const char *home;
    bool as_json, wait, all, done, running;
};

static long long number(const json_t *reply, const char *name)
{
    return json_integer_value(json_object_get(reply, name));
}

static void print_reply(const struct control *c, const char *word, const json_t *reply, bool by_daemon)
{
    if (c->as_json) {
        json_dumpf(reply, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (c->command == &cmd_cancel) {
        printf("%s: %lld cancelled, %lld ending", word, number(reply, "queued"), number(reply, "live"));
        if (number(reply, "kept"))
            printf(", %lld kept for another sweep", number(reply, "kept"));
        puts(number(reply, "live") && !by_daemon ? " once a daemon runs" : "");
    } else if (c->command == &cmd_retry) {
        printf("%s: %lld queued again\n", word, number(reply, "queued"));
    } else if (c->command == &cmd_resume) {
        printf("%s: resumed%s\n", word, json_object_get(reply, "run") ? ", to its end" : "");
    } else {
        long long live = number(reply, "live"), stopping = number(reply, "stopping");
        printf("%s: paused", word);
        if (stopping)
            printf("; %lld running stop%s at a checkpoint, to be queued again", stopping, stopping > 1 ? "" : "s");
        if (live > stopping)
            printf("; %lld running go%s on%s", live - stopping, live - stopping > 1 ? "" : "es",
                   c->running && !by_daemon ? ", since no daemon is there to stop them"
                   : c->running             ? ", being wanted by another sweep or at their end"
                                            : " ('taper pause --running' stops them)");
        puts(live ? "" : "; nothing runs");
    }
}

static int ask_one(const struct control *c, const struct home *home, const char *word, struct error *err)
{
    json_t *reply = NULL, *body = NULL;
    bool by_daemon;
    bool targets = c->command == &cmd_cancel || c->command == &cmd_retry;
    if (word)
        body = json_pack("{s:s}", targets ? "what" : "sweep", word);
    else
        body = json_pack("{s:b}", "all", (int)c->all);
    if (c->done)
        json_object_set_new(body, "done", json_true());
    if (c->running)
        json_object_set_new(body, "running", json_true());
    int status = client_ask_home(home, c->command->name, body, &reply, &by_daemon, err);
    if (!status)
        print_reply(c,
                    word                                  ? word
                    : c->command == &cmd_resume && c->all ? "the queue and all sweeps"
                                                          : "the queue",
                    reply, by_daemon);
    json_decref(reply);
    if (!status && c->wait && by_daemon) {
        struct client *client = NULL;
        reply = NULL;
        status = client_open(&client, home, err);
        if (!status && client)
            status = client_ask(client, "wait", json_pack("{s:s}", "what", word), &reply, err);
        json_decref(reply);
        client_close(client);
    }
    return status;
}

static int control_exec(struct control *c, int argc, char **argv, struct error *err)
{
    bool pausing = c->command == &cmd_pause || c->command == &cmd_resume;
    const struct option_spec specs[] = {{.name = "home", .value = &c->home},
                                        {.name = "json", .flag = &c->as_json},
                                        {.name = pausing                     ? "all"
                                                 : c->command == &cmd_cancel ? "wait"
                                                                             : "done",
                                         .flag = pausing                     ? &c->all
                                                 : c->command == &cmd_cancel ? &c->wait
                                                                             : &c->done},
                                        {.name = c->command == &cmd_pause ? "running" : NULL, .flag = &c->running},
                                        {0}};
    struct home home = {0};
    int operands, status = options_parse(c->command, specs, argc, argv, &operands, err);
    if (!status && (c->all ? operands != 0 : !pausing && operands < 1))
        status = command_usage(c->command, err, pausing ? "wants sweeps, or --all" : "wants sweeps or runs");
    if (!status)
        status = home_init(&home, c->home, false, err);
    if (!status && operands < 1)
        status = ask_one(c, &home, NULL, err);
    for (int i = 1; i <= operands && !status; i++)
        status = ask_one(c, &home, argv[i], err);
    home_fini(&home);
    return status;
}

static int cancel_exec(int argc, char **argv, struct error *err)
{
    return control_exec(&(struct control){.command = &cmd_cancel}, argc, argv, err);
}

static int retry_exec(int argc, char **argv, struct error *err)
{
    return control_exec(&(struct control){.command = &cmd_retry}, argc, argv, err);
}

static int pause_exec(int argc, char **argv, struct error *err)
{
    return control_exec(&(struct control){.command = &cmd_pause}, argc, argv, err);
}

static int resume_exec(int argc, char **argv, struct error *err)
{
    return control_exec(&(struct control){.command = &cmd_resume}, argc, argv, err);
}

static const struct option_row cancel_options[] = {
    {"wait", 0, NULL, "return when nothing of it runs any more"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_cancel = {
    .name = "cancel",
    .operands = "SWEEP|RUN...",
    .brief = "end runs, and take them off the queue",
    .about = "A run that is running is asked to checkpoint and end, with all its processes, and killed when it "
             "does not; it counts\n"
             "as cancelled once all of them are gone. A run that another sweep wants too goes on.\n",
    .options = cancel_options,
    .exec = cancel_exec,
};

static const struct option_row retry_options[] = {
    {"done", 0, NULL, "those that are done instead, to be trained afresh"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_retry = {
    .name = "retry",
    .operands = "SWEEP|RUN...",
    .brief = "queue failed and cancelled runs again",
    .about =
        "Runs that are done are left alone. A run that has a checkpoint goes on from it.\n"
        "With --done it is the done ones: each is trained anew, and computed as its sweep was last submitted. Until "
        "the first\n"
        "step of the new training its old rows stay and are shown; until it starts, 'taper cancel' takes it back.\n",
    .options = retry_options,
    .exec = retry_exec,
};

static const struct option_row pause_options[] = {
    {"running", 0, NULL,
     "stop what runs too, at a checkpoint: it is queued again, and goes on from there when resumed"},
    {"all", 0, NULL, "the same as no sweep"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_pause = {
    .name = "pause",
    .operands = "[SWEEP...]",
    .brief = "start no more runs of a sweep, or none at all",
    .about = "What runs already goes on, unless --running says otherwise. Without a sweep nothing of the queue is "
             "started any more, also\n"
             "nothing that is submitted later, until 'taper resume'; 'taper run' refuses to begin then. A sweep "
             "that\n"
             "is paused by name goes on when 'taper run' runs it.\n",
    .options = pause_options,
    .exec = pause_exec,
};

static const struct option_row resume_options[] = {
    {"all", 0, NULL, "the queue, and every sweep there is"},
    {"json", 0, NULL, "print the counts as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_resume = {
    .name = "resume",
    .operands = "[SWEEP|RUN...]",
    .brief = "start runs of a paused sweep, or of the paused queue, again",
    .about = "Without a sweep the queue goes on; sweeps paused by name stay so. A run is one that its search has "
             "paused at a rung: it\n"
             "is trained to its end, whatever its rank.\n",
    .options = resume_options,
    .exec = resume_exec,
};
