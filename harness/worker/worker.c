#include "harness/worker/worker.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"

/* ------------------------------------------------------------------------------------------- steps after training */

struct after_step {
    const char *name; /* key of `after`, and the verb */
    /* Fill words (a copy each) up to WORKER_WORDS_MOST - 1. Returns how many. */
    int (*words)(const json_t *value, char **words);
};

static int fold_words(const json_t *value, char **words)
{
    int n = 0;
    (void)value;
    words[n++] = memory_string("taper");
    words[n++] = memory_string("fold");
    words[n++] = memory_string("--run");
    words[n++] = memory_string(".");
    return n;
}

static int bench_words(const json_t *value, char **words)
{
    int n = 0;
    char *text = json_dumps(value, JSON_COMPACT);
    words[n++] = memory_string("taper");
    words[n++] = memory_string("bench");
    words[n++] = memory_string("--run");
    words[n++] = memory_string(".");
    words[n++] = memory_string("--plan");
    words[n++] = memory_string(text ? text : "{}");
    free(text);
    return n;
}

/* In the order in which they are done. */
static const struct after_step after_steps[] = {{"fold", fold_words}, {"bench", bench_words}};

static bool is_after_step(const char *name)
{
    for (size_t i = 0; i < sizeof after_steps / sizeof after_steps[0]; i++)
        if (strcmp(after_steps[i].name, name) == 0)
            return true;
    return false;
}

static int plan_after(struct worker_after *plan, const json_t *after, const char *program, struct error *err)
{
    const char *name;
    json_t *asked;
    json_object_foreach((json_t *)after, name, asked) if (!is_after_step(name)) return error_set(
        err, STATUS_BAD_INPUT, "after: no step '%s'", name);
    for (size_t i = 0; i < sizeof after_steps / sizeof after_steps[0]; i++) {
        const json_t *value = json_object_get(after, after_steps[i].name);
        if (!value || json_is_false(value))
            continue;
        struct supervisor_step *step = &plan->steps[plan->count];
        *step = (struct supervisor_step){.name = after_steps[i].name, .program = program};
        after_steps[i].words(value, plan->words[plan->count]);
        step->argv = plan->words[plan->count];
        plan->count++;
    }
    return STATUS_OK;
}

int worker_plan_init(struct worker_plan *plan, const struct worker_job *job, char *const *training, struct error *err)
{
    int status = STATUS_OK;
    *plan = (struct worker_plan){.job = *job};
    if (job->payload && job->count > 1)
        return error_set(err, STATUS_BAD_INPUT, "a payload wants one run directory, got %d", job->count);
    plan->after = memory_alloc((size_t)job->count, sizeof *plan->after);
    plan->runs = memory_alloc((size_t)job->count, sizeof *plan->runs);
    if (job->payload) {
        plan->payload[0] = memory_string(job->payload);
        plan->payload[1] = memory_format("%d", job->runs[0].attempt);
        plan->first = (struct supervisor_step){.name = "payload", .argv = plan->payload, .foreign = true};
    } else {
        plan->first = (struct supervisor_step){.name = "train", .argv = training, .program = job->program};
    }
    for (int i = 0; i < job->count && !status; i++) {
        const struct worker_run *run = &job->runs[i];
        status = plan_after(&plan->after[i], run->after, job->program, err);
        plan->runs[i] =
            (struct supervisor_run){run->dir, run->attempt, run->timeout, plan->after[i].steps, plan->after[i].count};
    }
    if (status)
        worker_plan_fini(plan);
    return status;
}

void worker_plan_fini(struct worker_plan *plan)
{
    for (int r = 0; plan->after && r < plan->job.count; r++)
        for (int i = 0; i < WORKER_STEPS_MOST; i++)
            for (int j = 0; j < WORKER_WORDS_MOST; j++)
                free(plan->after[r].words[i][j]);
    free(plan->payload[0]);
    free(plan->payload[1]);
    free(plan->after);
    free(plan->runs);
    *plan = (struct worker_plan){0};
}

int worker_pin(const char *processors, struct error *err)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const char *at = processors;
    for (;;) {
        char *end;
        errno = 0;
        unsigned long low = strtoul(at, &end, 10), high = low;
        bool fine = end != at;
        if (fine && *end == '-') {
            at = end + 1;
            high = strtoul(at, &end, 10);
            fine = end != at;
        }
        if (!fine || errno || high < low || high >= CPU_SETSIZE || (*end && *end != ','))
            return error_set(err, STATUS_BAD_INPUT, "processors: want a list such as 0-3,8, got '%s'", processors);
        for (unsigned long i = low; i <= high; i++)
            CPU_SET(i, &set);
        if (!*end)
            break;
        at = end + 1;
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot use processors %s", processors);
    return STATUS_OK;
}
