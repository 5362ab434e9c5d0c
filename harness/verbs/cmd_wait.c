#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/base/options.h"
#include "harness/base/terminal.h"
#include "harness/daemon/client.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/store/status.h"
#include "harness/verbs/commands.h"

enum { LOOK_MS = 1000 };

/* What is waited for now, and until when. */
struct waiting {
    const struct home *home;
    const char *word;
    double until;        /* monotonic seconds; INFINITY: for ever */
    bool late;           /* it was not finished then */
    struct store *store; /* for the line on a terminal; NULL elsewhere */
};

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "tiny: 3 done, 2 running", or a run's step; "" where that cannot be read just now. */
static void describe(const struct waiting *w, char *to, size_t room)
{
    char counts[160];
    json_t *all = NULL;
    struct store_run run;
    bool is_sweep;
    to[0] = '\0';
    if (requests_resolve(w->store, w->word, &is_sweep, &run, NULL) != STATUS_OK)
        return;
    if (!is_sweep)
        snprintf(to, room, "%s: %s, step %lld of %lld", w->word, run_state_name(run.state), (long long)run.step,
                 (long long)run.steps);
    else if (status_collect(w->store, w->home, w->word, &all, NULL) == STATUS_OK)
        snprintf(to, room, "%s: %s", w->word, status_counts(json_array_get(json_object_get(all, "sweeps"), 0), counts));
    json_decref(all);
}

static int look(void *arg)
{
    struct waiting *w = arg;
    double left = w->until - now_seconds();
    if (w->store) {
        char line[256];
        describe(w, line, sizeof line);
        fprintf(stderr, "\r\033[K%.*s", (int)terminal_cut(line, terminal_of(STDERR_FILENO).columns - 1), line);
        fflush(stderr);
    }
    w->late = left <= 0;
    return w->late ? -1 : 1e3 * left < LOOK_MS ? (int)(1e3 * left) + 1 : LOOK_MS;
}

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

static int wait_one(struct waiting *w, bool *done, struct error *err)
{
    struct client *client = NULL;
    json_t *reply = NULL;
    int status = client_open(&client, w->home, err);
    if (!status && !client)
        return look_only(w->home, w->word, done, err);
    if (!status) {
        client_watch(client, look, w);
        status = client_ask(client, "wait", json_pack("{s:s}", "what", w->word), &reply, err);
    }
    if (w->store)
        fputs("\r\033[K", stderr);
    if (w->late)
        status = error_set(err, STATUS_STOPPED, "%s is not finished yet", w->word);
    const char *stuck = json_string_value(json_object_get(reply, "stuck"));
    if (!status && stuck)
        status = error_set(err, STATUS_FAILED, "%s can never be finished: %s", w->word, stuck);
    if (!status)
        *done = json_is_true(json_object_get(reply, "done"));
    json_decref(reply);
    client_close(client);
    return status;
}

static int wait_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL, *timeout = NULL;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "timeout", .value = &timeout}, {0}};
    struct home home = {0};
    struct waiting w = {.home = &home, .until = INFINITY};
    double seconds = 0;
    bool all = true;
    int operands, status = options_parse(&cmd_wait, specs, argc, argv, &operands, err);
    if (!status && operands < 1)
        status = command_usage(&cmd_wait, err, "wants sweeps or runs");
    if (!status && timeout)
        status = options_real("--timeout", timeout, 0, 1e9, &seconds, err);
    if (!status)
        status = home_init(&home, given, false, err);
    if (!status && timeout)
        w.until = now_seconds() + seconds;
    if (!status && isatty(STDERR_FILENO))
        status = store_open(&w.store, &home, STORE_READ, err);
    for (int i = 1; i <= operands && !status; i++) {
        bool done = false;
        w.word = argv[i];
        status = wait_one(&w, &done, err);
        all = all && done;
    }
    store_close(w.store);
    home_fini(&home);
    if (!status && !all)
        return error_set(err, STATUS_FAILED, "not all runs are done");
    return status;
}

static const struct option_row wait_options[] = {
    {"timeout", 't', "SECONDS", "wait no longer than that: exit status 3 when it is not finished then"},
    OPTION_HOME,
    {0},
};

const struct command cmd_wait = {
    .name = "wait",
    .operands = "SWEEP|RUN...",
    .brief = "wait until runs have ended",
    .about =
        "Exit status 0 when all of them are done, 1 when any failed or was cancelled, or when nothing that is left\n"
        "can ever start; the text says why. On a terminal a line says how far it is.\n",
    .options = wait_options,
    .exec = wait_exec,
};
