#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "harness/commands.h"
#include "harness/options.h"
#include "harness/worker.h"

struct words {
    const char *attempt, *go, *device, *threads, *grace, *timeout, *processors, *after, *payload;
};

static int read_numbers(const struct words *w, struct worker_job *job, struct supervisor_plan *plan, struct error *err)
{
    long long attempt = 1, go = -1, threads = 0;
    int status = STATUS_OK;
    plan->grace = 30;
    if (w->attempt)
        status = options_integer("--attempt", w->attempt, 1, 1000000000, &attempt, err);
    if (!status && w->go)
        status = options_integer("--go", w->go, 0, 1 << 20, &go, err);
    if (!status && w->threads)
        status = options_integer("--threads", w->threads, 0, 1024, &threads, err);
    if (!status && w->grace)
        status = options_real("--grace", w->grace, 0, 1e9, &plan->grace, err);
    if (!status && w->timeout)
        status = options_real("--timeout", w->timeout, 0, 1e12, &plan->timeout, err);
    job->attempt = plan->attempt = (int)attempt;
    job->threads = (int)threads;
    plan->go = (int)go;
    return status;
}

static int worker_exec(int argc, char **argv, struct error *err)
{
    struct words w = {0};
    const struct option_spec specs[] = {
        {"attempt", 0, NULL, &w.attempt, NULL, NULL},       {"go", 0, NULL, &w.go, NULL, NULL},
        {"device", 0, NULL, &w.device, NULL, NULL},         {"threads", 0, NULL, &w.threads, NULL, NULL},
        {"grace", 0, NULL, &w.grace, NULL, NULL},           {"timeout", 0, NULL, &w.timeout, NULL, NULL},
        {"processors", 0, NULL, &w.processors, NULL, NULL}, {"after", 0, NULL, &w.after, NULL, NULL},
        {"payload", 0, NULL, &w.payload, NULL, NULL},       {0}};
    struct worker_job job = {0};
    struct supervisor_plan plan = {0};
    struct worker_plan steps;
    json_t *after = NULL;
    json_error_t where;
    int operands, status = options_parse(&cmd_worker, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_worker, err, "wants one run directory");
    if (!status)
        status = read_numbers(&w, &job, &plan, err);
    if (!status && w.after && !(after = json_loads(w.after, JSON_REJECT_DUPLICATES, &where)))
        status = error_set(err, STATUS_BAD_INPUT, "--after: %s", where.text);
    if (!status && w.processors)
        status = worker_pin(w.processors, err);
    if (status) {
        json_decref(after);
        return status;
    }
    job.device = w.device;
    job.payload = w.payload;
    status = worker_plan_init(&steps, &job, after, err);
    json_decref(after);
    if (status)
        return status;
    plan.dir = argv[1];
    plan.token = getenv("TAPER_TOKEN");
    plan.steps = steps.steps;
    plan.count = steps.count;
    exit(supervisor_run(&plan)); /* its statuses are finer than an error's */
}

const struct command cmd_worker = {
    "worker", "[OPTION]... RUNDIR", "carry out one attempt of a run (started by the daemon)",
    "Trains the run whose config.json is in RUNDIR, then does what is to be done after. The process supervises:\n"
    "the work is done in children of it, and it ends when all of them are gone. RUNDIR/exit.json says how it went.\n"
    "TERM: checkpoint and end; USR1: end at once.\n\n"
    "  --attempt N         the attempt's number (default 1)\n"
    "  --device ID         cpu, or the GPU of the slot\n"
    "  --threads N         CPU threads; 0: as the configuration says\n"
    "  --processors LIST   run on these processors only, such as 0-3,8\n"
    "  --timeout SECONDS   end the attempt after this time\n"
    "  --grace SECONDS     between TERM and KILL (default 30)\n"
    "  --after JSON        what to do after training: {\"fold\":true,\"bench\":{...}}\n"
    "  --payload PROGRAM   run this program, with the attempt's number, instead of the training\n"
    "  --go FD             wait for a byte on this descriptor first; end when it closes\n",
    worker_exec};
