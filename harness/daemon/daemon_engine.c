#include "harness/daemon/daemon_engine.h"

#include <stdlib.h>
#include <string.h>

static int take_slots(void *arg, const char *value, struct error *err)
{
    struct engine_options *o = arg;
    long long n;
    bool cpu = strncmp(value, "cpu:", 4) == 0;
    if (!cpu && strncmp(value, "gpu:", 4) != 0)
        return error_set(err, STATUS_BAD_INPUT, "--slots: want cpu:N or gpu:N, got '%s'", value);
    int status = options_integer("--slots", value + 4, 0, SLOTS_MOST, &n, err);
    if (status)
        return status;
    if (cpu) {
        o->cpu_slots = (int)n;
        o->cpu_given = true;
    } else {
        o->gpu_runs = (int)n;
        o->gpu_given = true;
    }
    return STATUS_OK;
}

int engine_option_specs(struct engine_options *o, struct option_spec *specs)
{
    const struct option_spec rows[ENGINE_OPTIONS] = {
        {.name = "slots", .each = take_slots, .arg = o}, {.name = "gpu-busy", .value = &o->gpu_busy},
        {.name = "grace", .value = &o->grace},           {.name = "retry-delay", .value = &o->retry_delay},
        {.name = "min-free", .value = &o->min_free},     {.name = "payload", .value = &o->payload}};
    memcpy(specs, rows, sizeof rows);
    return ENGINE_OPTIONS;
}

struct numbers {
    double grace, retry_delay;
    unsigned long long min_free, gpu_busy;
};

static int read_numbers(const struct engine_options *o, struct numbers *n, struct error *err)
{
    int status = STATUS_OK;
    *n = (struct numbers){30, 5, 64ull << 20, 512ull << 20};
    if (o->grace)
        status = options_real("--grace", o->grace, 0, 86400, &n->grace, err);
    if (!status && o->retry_delay)
        status = options_real("--retry-delay", o->retry_delay, 0, 86400, &n->retry_delay, err);
    if (!status && o->min_free)
        status = options_size("--min-free", o->min_free, &n->min_free, err);
    if (!status && o->gpu_busy)
        status = options_size("--gpu-busy", o->gpu_busy, &n->gpu_busy, err);
    return status;
}

int engine_open(struct engine *e, const struct engine_options *options, const char *home, const char *sweep,
                void (*log)(void *arg, const char *text), void (*changed)(void *arg), void *arg, struct error *err)
{
    struct numbers n;
    char *payload = NULL;
    *e = (struct engine){0};
    int status = read_numbers(options, &n, err);
    if (!status && options->payload) {
        payload = strchr(options->payload, '/') ? realpath(options->payload, NULL) : strdup(options->payload);
        if (!payload)
            status = error_set(err, STATUS_BAD_INPUT, "--payload: no program '%s'", options->payload);
    }
    if (!status)
        status = home_init(&e->home, home, true, err);
    if (!status)
        status = store_open(&e->store, &e->home, STORE_WRITE, err);
    if (!status) {
        uv_loop_init(&e->loop);
        e->looping = true;
        const struct executor_options executor = {.payload = payload,
                                                  .slots = {.cpu = options->cpu_given ? options->cpu_slots : -1,
                                                            .gpu_runs = options->gpu_given ? options->gpu_runs : 1,
                                                            .gpu_foreign = n.gpu_busy}};
        for (int i = 0; i < ENGINE_EXECUTORS && executor_kind_at(i); i++)
            e->executors[i] = executor_kind_at(i)->create(&e->loop, &executor);
        struct scheduler_options scheduler = {.loop = &e->loop,
                                              .home = &e->home,
                                              .store = e->store,
                                              .executors = e->executors,
                                              .sweep = sweep,
                                              .grace = n.grace,
                                              .retry_delay = n.retry_delay,
                                              .min_free = n.min_free,
                                              .log = log,
                                              .changed = changed,
                                              .arg = arg};
        e->scheduler = scheduler_create(&scheduler);
    }
    free(payload);
    if (status)
        engine_close(e);
    return status;
}

void engine_close(struct engine *e)
{
    scheduler_destroy(e->scheduler);
    for (int i = 0; e->executors[i]; i++)
        e->executors[i]->destroy(e->executors[i]);
    if (e->looping) {
        uv_run(&e->loop, UV_RUN_DEFAULT); /* only closing handles are left */
        uv_loop_close(&e->loop);
    }
    store_close(e->store);
    home_fini(&e->home);
    *e = (struct engine){0};
}
