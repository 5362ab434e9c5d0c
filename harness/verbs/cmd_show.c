#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/base/format.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/queue/waiting.h"
#include "harness/daemon/standing.h"
#include "harness/base/listing.h"

static bool is_time(const char *name)
{
    static const char *const names[] = {"created", "started", "ended", "time", "not_before", "cancel"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void print_value(const char *name, const json_t *value)
{
    char text[64];
    if (json_is_integer(value) && is_time(name))
        fputs(format_time(text, json_integer_value(value)), stdout);
    else if (json_is_integer(value) && strcmp(name, "cpu_us") == 0)
        printf("%.3f s", 1e-6 * (double)json_integer_value(value));
    else if (json_is_integer(value) && strcmp(name, "peak_bytes") == 0)
        printf("%.1f MiB", (double)json_integer_value(value) / 1048576);
    else if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fputs(format_real(text, json_real_value(value)), stdout);
    else if (json_is_string(value))
        fputs(json_string_value(value), stdout);
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", stdout);
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0);
}

static void print_object(const char *indent, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        bool never = is_time(name) && json_is_integer(value) && json_integer_value(value) == 0;
        if (is_empty(value) || never || json_is_object(value))
            continue;
        printf("%s%-18s ", indent, name);
        print_value(name, value);
        putchar('\n');
    }
}

static void print_rows(const char *title, const json_t *rows)
{
    size_t i;
    const json_t *row;
    for (i = 0; (row = json_array_get(rows, i)); i++) {
        const char *name, *between = "";
        json_t *value;
        printf("%-10s", i ? "" : title);
        json_object_foreach((json_t *)row, name, value)
        {
            if (is_empty(value) || strcmp(name, "id") == 0)
                continue;
            printf("%s%s ", between, name);
            print_value(name, value);
            between = "  ";
        }
        putchar('\n');
    }
}

/* "331 of 401 logged steps": those that are there, of those that a training to the end writes. */
static void print_counts(const json_t *rows)
{
    long long n[4];
    static const char *const names[] = {"steps", "steps_due", "evals", "evals_due"};
    for (int i = 0; i < 4; i++)
        n[i] = (long long)json_integer_value(json_object_get(rows, names[i]));
    printf("%-18s %lld of %lld logged steps, %lld of %lld evaluations\n", "rows", n[0], n[1], n[2], n[3]);
}

/* Lines of these names, which then stand no more in the object. */
static void print_some(json_t *object, const char *const *names)
{
    for (; *names; names++) {
        json_t *value = json_object_get(object, *names);
        bool never = is_time(*names) && json_is_integer(value) && json_integer_value(value) == 0;
        if (value && !is_empty(value) && !never) {
            printf("%-18s ", *names);
            print_value(*names, value);
            putchar('\n');
        }
        json_object_del(object, *names);
    }
}

/* What its search last decided; NULL: nothing. */
static const char *decided(const json_t *all)
{
    const json_t *decisions = json_object_get(all, "decisions");
    return json_string_value(json_object_get(json_array_get(decisions, json_array_size(decisions) - 1), "why"));
}

/* Why it is not done: the last attempt's word, or why it waits. */
static void print_why(const json_t *all, const char *waits)
{
    static const char *const from[] = {"outcome_text", "text", "cause"};
    const json_t *attempts = json_object_get(all, "attempts"), *run = json_object_get(all, "run");
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    const char *state = json_string_value(json_object_get(run, "state"));
    if (waits[0]) {
        printf("%-18s %s\n", "why", waits);
        return;
    }
    if (strcmp(state, "paused") == 0 && decided(all)) {
        printf("%-18s %s; 'taper resume %s' trains it to its end all the same\n", "why", decided(all),
               json_string_value(json_object_get(run, "id")));
        return;
    }
    for (size_t i = 0; strcmp(state, "done") != 0 && i < sizeof from / sizeof from[0]; i++)
        if (!is_empty(json_object_get(last, from[i]))) {
            printf("%-18s %s%s\n", "why", strcmp(state, "queued") == 0 ? "again after: " : "",
                   json_string_value(json_object_get(last, from[i])));
            return;
        }
}

/* What people come for first; what finds processes again last. */
static void print_text(const json_t *all, const char *dir, const char *waits)
{
    static const char *const first[] = {"state", NULL}, *const losses[] = {"val_loss", "loss", "step", "steps", NULL};
    static const char *const place[] = {"id",   "sweep",   "variant", "seed",     "started",    "ended", "device",
                                        "host", "version", "params",  "attempts", "fold_error", NULL};
    size_t i;
    const json_t *attempt;
    json_t *run = json_deep_copy(json_object_get(all, "run"));
    print_some(run, first);
    print_why(all, waits);
    print_some(run, losses);
    print_counts(json_array_get(json_object_get(all, "rows"), 0));
    puts("");
    print_rows("eval", json_object_get(all, "evals"));
    print_rows("rung", json_object_get(all, "decisions"));
    print_rows("event", json_object_get(all, "events"));
    puts("");
    print_some(run, place);
    if (access(dir, F_OK) == 0)
        printf("%-18s %s\n", "directory", dir);
    puts("\nconfiguration");
    print_object("  ", json_object_get(all, "config"));
    char *after = json_dumps(json_object_get(all, "after"), JSON_COMPACT | JSON_ENCODE_ANY);
    printf("  %-18s %s\n", "after", after ? after : "");
    free(after);
    puts("\nin the queue");
    print_object("  ", run);
    json_decref(run);
    for (i = 0; (attempt = json_array_get(json_object_get(all, "attempts"), i)); i++) {
        printf("\nattempt %lld\n", (long long)json_integer_value(json_object_get(attempt, "attempt")));
        json_t *rest = json_copy((json_t *)attempt);
        json_object_del(rest, "run");
        json_object_del(rest, "attempt");
        print_object("  ", rest);
        json_decref(rest);
    }
}

static int show_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {0}};
    struct home home = {0};
    struct store *store = NULL;
    struct store_run run;
    json_t *all = NULL;
    int operands, status = options_parse(&cmd_show, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_show, err, "wants one run");
    if (!status)
        status = home_init_reader(&home, given, err);
    if (!status)
        status = store_open(&store, &home, STORE_READ, err);
    if (!status)
        status = store_run_find(store, argv[1], &run, err);
    if (!status)
        status = store_own_views(store, err);
    if (!status)
        status = standing_run(store, &home, run.id, &all, err);
    char *dir = status ? NULL : home_run_dir(&home, run.id), waits[512] = "";
    if (!status && run.state == RUN_QUEUED)
        status = waiting_stuck(store, NULL, &run, NULL, store_now(), waits, sizeof waits, err);
    if (!status && as_json) {
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        putchar('\n');
    } else if (!status) {
        print_text(all, dir, waits);
    }
    free(dir);
    json_decref(all);
    store_close(store);
    home_fini(&home);
    return status;
}

static const struct option_row show_options[] = {
    {"json", 0, NULL, "the same as JSON, times in UTC microseconds"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_show = {
    .name = "show",
    .operands = "RUN",
    .brief = "everything known about one run",
    .about =
        "RUN is the id, as much of its beginning as no other run has, or SWEEP/VARIANT/SEED. Works without a daemon "
        "too.\n",
    .options = show_options,
    .exec = show_exec,
};
