#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/worker/worker.h"

struct words {
    const char *attempt, *go, *device, *threads, *grace, *timeout, *processors, *after, *payload;
};

/* "1,3,1": number `place` of a list of `count`, copied to item (ITEM bytes); a list of one is everybody's. */
enum { ITEM = 40 };

static int list_item(const char *what, const char *list, int place, int count, char *item, struct error *err)
{
    int length = 1;
    const char *at = list;
    for (const char *p = list; *p; p++)
        length += *p == ',';
    if (length != 1 && length != count)
        return error_set(err, STATUS_BAD_INPUT, "%s: want one value or %d, got %d", what, count, length);
    for (int i = 0; i < place && length > 1; i++)
        at = strchr(at, ',') + 1;
    snprintf(item, ITEM, "%.*s", (int)strcspn(at, ","), at);
    return STATUS_OK;
}

static int read_run(const struct words *w, const json_t *after, int place, int count, struct worker_run *run,
                    struct error *err)
{
    char item[ITEM];
    long long attempt = 1;
    int status = STATUS_OK;
    if (w->attempt)
        status = list_item("--attempt", w->attempt, place, count, item, err);
    if (w->attempt && !status)
        status = options_integer("--attempt", item, 1, 1000000000, &attempt, err);
    if (w->timeout && !status)
        status = list_item("--timeout", w->timeout, place, count, item, err);
    if (w->timeout && !status)
        status = options_real("--timeout", item, 0, 1e12, &run->timeout, err);
    if (!status && json_is_array(after) && (int)json_array_size(after) != count)
        status = error_set(err, STATUS_BAD_INPUT, "--after: want an object or a list of %d, got a list of %d", count,
                           (int)json_array_size(after));
    run->attempt = (int)attempt;
    run->after = json_is_array(after) ? json_array_get(after, (size_t)place) : after;
    return status;
}

static int read_numbers(const struct words *w, struct worker_job *job, struct supervisor_plan *plan, struct error *err)
{
    long long go = -1, threads = 0;
    int status = STATUS_OK;
    plan->grace = 30;
    if (w->go)
        status = options_integer("--go", w->go, 0, 1 << 20, &go, err);
    if (!status && w->threads)
        status = options_integer("--threads", w->threads, 0, 1024, &threads, err);
    if (!status && w->grace)
        status = options_real("--grace", w->grace, 0, 1e9, &plan->grace, err);
    job->threads = (int)threads;
    plan->go = (int)go;
    return status;
}

static int worker_exec(int argc, char **argv, struct error *err)
{
    struct words w = {0};
    const struct option_spec specs[] = {
        {.name = "attempt", .value = &w.attempt},       {.name = "go", .value = &w.go},
        {.name = "device", .value = &w.device},         {.name = "threads", .value = &w.threads},
        {.name = "grace", .value = &w.grace},           {.name = "timeout", .value = &w.timeout},
        {.name = "processors", .value = &w.processors}, {.name = "after", .value = &w.after},
        {.name = "payload", .value = &w.payload},       {0}};
    struct supervisor_plan plan = {0};
    struct worker_plan steps;
    json_t *after = NULL;
    json_error_t where;
    int count, status = options_parse(&cmd_worker, specs, argc, argv, &count, err);
    if (!status && count < 1)
        status = command_usage(&cmd_worker, err, "wants run directories");
    if (status)
        return status;
    struct worker_run *runs = memory_alloc((size_t)count, sizeof *runs);
    struct worker_job job = {.runs = runs, .count = count, .device = w.device, .payload = w.payload};
    status = read_numbers(&w, &job, &plan, err);
    if (!status && w.after && !(after = json_loads(w.after, JSON_REJECT_DUPLICATES, &where)))
        status = error_set(err, STATUS_BAD_INPUT, "--after: %s", where.text);
    for (int i = 0; i < count && !status; i++) {
        runs[i].dir = argv[1 + i];
        status = read_run(&w, after, i, count, &runs[i], err);
    }
    if (!status && w.processors)
        status = worker_pin(w.processors, err);
    if (!status)
        status = worker_plan_init(&steps, &job, err);
    json_decref(after);
    if (status) {
        free(runs);
        return status;
    }
    plan.token = getenv("TAPER_TOKEN");
    plan.first = steps.first;
    plan.runs = steps.runs;
    plan.count = count;
    exit(supervisor_run(&plan)); /* its statuses are finer than an error's */
}

static const struct option_row worker_options[] = {
    {"attempt", 0, "N,...", "the attempts' numbers (default 1)"},
    {"device", 0, "ID", "cpu, or the GPU of the slot"},
    {"threads", 0, "N", "CPU threads, shared by the runs; 0: as the configuration says"},
    {"processors", 0, "LIST", "run on these processors only, such as 0-3,8"},
    {"timeout", 0, "S,...", "end an attempt after this many seconds; 0: never"},
    {"grace", 0, "SECONDS", "between TERM and KILL (default 30)"},
    {"after", 0, "JSON", "what to do after training: {\"fold\":true,\"bench\":{...}}, or a list of such"},
    {"payload", 0, "PROGRAM", "run this program, with the attempt's number, instead of the training"},
    {"go", 0, "FD", "wait for a byte on this descriptor first; end when it closes"},
    {0},
};

const struct command cmd_worker = {
    .name = "worker",
    .operands = "RUNDIR...",
    .brief = "carry out one attempt of a run, or of several (started by the daemon)",
    .about = "Trains the run whose config.json is in RUNDIR, then does what is to be done after. The process "
             "supervises:\n"
             "the work is done in children of it, and it ends when all of them are gone. RUNDIR/exit.json says "
             "how it went.\n"
             "Several runs (a pack) are trained at once in one process, each as if it were alone; what follows "
             "the training is\n"
             "done run by run once all are trained. TERM: checkpoint and end; USR1: end at once; the first "
             "real-time signal,\n"
             "sent with a number: checkpoint and end the run of that place, from 0.\n",
    .options = worker_options,
    .exec = worker_exec,
};
