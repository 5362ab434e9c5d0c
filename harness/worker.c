#include "harness/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/memory.h"
#include "core/train.h"
#include "harness/command.h"

static atomic_int stop_asked;

static void on_stop(int signal)
{
    (void)signal;
    atomic_store(&stop_asked, 1);
}

static int load_config(const struct worker_job *job, struct config *cfg, struct error *err)
{
    json_error_t where;
    json_t *object = json_load_file("config.json", JSON_REJECT_DUPLICATES, &where);
    if (!object)
        return error_set(err, STATUS_BAD_INPUT, "config.json:%d:%d: %s", where.line, where.column, where.text);
    int status = config_from_json(cfg, object, "config.json", err);
    json_decref(object);
    if (!status && job->threads > 0)
        cfg->threads = job->threads;
    if (!status && job->device && (strcmp(job->device, "cpu") == 0) != (cfg->device == DEVICE_CPU))
        status = error_set(err, STATUS_BAD_INPUT, "config.json: device: the slot is %s, the run wants %s", job->device,
                           cfg->device == DEVICE_CPU ? "cpu" : "cuda");
    return status;
}

/* The training, in a child of its own. Its exit status says how it went; the log says why. */
static int train(void *arg)
{
    const struct worker_job *job = arg;
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    struct error err = {0};
    struct config cfg;
    struct train_result result = {0};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int status = load_config(job, &cfg, &err);
    if (!status) {
        struct train_options options = {.dir = ".", .attempt = job->attempt, .stop = &stop_asked};
        status = train_run(&cfg, &options, &result, &err);
    }
    if (status)
        fprintf(stderr, "taper: %s\n", err.text);
    return error_exit_code(status);
}

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
    words[n++] = memory_string("/proc/self/exe");
    words[n++] = memory_string("fold");
    words[n++] = memory_string("--run");
    words[n++] = memory_string(".");
    return n;
}

static int bench_words(const json_t *value, char **words)
{
    int n = 0;
    char *text = json_dumps(value, JSON_COMPACT);
    words[n++] = memory_string("/proc/self/exe");
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

static int not_in_this_build(void *arg)
{
    fprintf(stderr, "taper: step '%s': not available in this build\n", (const char *)arg);
    return error_exit_code(STATUS_BAD_INPUT);
}

static void plan_after(struct worker_plan *plan, const json_t *after)
{
    for (size_t i = 0; i < sizeof after_steps / sizeof after_steps[0]; i++) {
        const json_t *value = json_object_get(after, after_steps[i].name);
        if (!value || json_is_false(value))
            continue;
        struct supervisor_step *step = &plan->steps[plan->count];
        *step = (struct supervisor_step){.name = after_steps[i].name};
        if (command_find(after_steps[i].name)) {
            after_steps[i].words(value, plan->words[plan->count]);
            step->argv = plan->words[plan->count];
        } else {
            step->call = not_in_this_build;
            step->arg = (void *)after_steps[i].name;
        }
        plan->count++;
    }
}

static bool is_after_step(const char *name)
{
    for (size_t i = 0; i < sizeof after_steps / sizeof after_steps[0]; i++)
        if (strcmp(after_steps[i].name, name) == 0)
            return true;
    return false;
}

int worker_plan_init(struct worker_plan *plan, const struct worker_job *job, const json_t *after, struct error *err)
{
    const char *name;
    json_t *value;
    *plan = (struct worker_plan){.job = *job};
    json_object_foreach((json_t *)after, name, value) if (!is_after_step(name)) return error_set(
        err, STATUS_BAD_INPUT, "after: no step '%s'", name);
    if (job->payload) {
        plan->words[0][0] = memory_string(job->payload);
        plan->words[0][1] = memory_format("%d", job->attempt);
        plan->steps[0] = (struct supervisor_step){.name = "payload", .argv = plan->words[0]};
    } else {
        plan->steps[0] = (struct supervisor_step){.name = "train", .call = train, .arg = &plan->job};
    }
    plan->count = 1;
    plan_after(plan, after);
    return STATUS_OK;
}

void worker_plan_fini(struct worker_plan *plan)
{
    for (int i = 0; i < WORKER_STEPS_MOST; i++)
        for (int j = 0; j < WORKER_WORDS_MOST; j++)
            free(plan->words[i][j]);
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
