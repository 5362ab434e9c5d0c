#include "harness/daemon/daemon_engine.h"

#include <stdlib.h>
#include <string.h>

static int bad_slots(struct error *err, const char *pool, const char *value)
{
    return error_set(err, STATUS_BAD_INPUT, "--slots: want cpu:N, gpu:N, gpu:each=N or gpu:LIST, got '%s%s'", pool,
                     value);
}

/* "each=2", "8", or which GPUs: "0-3,6", "GPU-..". */
static int take_gpu_slots(struct engine_options *o, const char *value, struct error *err)
{
    long long n;
    bool each = strncmp(value, "each=", 5) == 0;
    bool ids = strncmp(value, "GPU-", 4) == 0 || strncmp(value, "MIG-", 4) == 0;
    if (ids || (value[0] >= '0' && value[0] <= '9' && strpbrk(value, "-,"))) {
        o->gpu_list = value;
        return STATUS_OK;
    }
    if (!each && value[strspn(value, "0123456789")])
        return bad_slots(err, "gpu:", value);
    int status = options_integer("--slots gpu", each ? value + 5 : value, 0, SLOTS_MOST, &n, err);
    if (status)
        return status;
    o->gpu_runs = each ? (int)n : 0;
    o->gpu_total = each ? 0 : (int)n;
    o->gpu_given = true;
    return STATUS_OK;
}

static int take_slots(void *arg, const char *value, struct error *err)
{
    struct engine_options *o = arg;
    long long n;
    if (strncmp(value, "gpu:", 4) == 0 && value[4])
        return take_gpu_slots(o, value + 4, err);
    if (strncmp(value, "cpu:", 4) != 0)
        return bad_slots(err, "", value);
    int status = options_integer("--slots", value + 4, 0, SLOTS_MOST, &n, err);
    if (!status) {
        o->cpu_slots = (int)n;
        o->cpu_given = true;
    }
    return status;
}

struct slots_options engine_slots(const struct engine_options *o, uint64_t gpu_foreign)
{
    return (struct slots_options){.cpu = o->cpu_given ? o->cpu_slots : -1,
                                  .gpu_runs = o->gpu_given ? o->gpu_runs : 1,
                                  .gpu_total = o->gpu_total,
                                  .gpu_list = o->gpu_list,
                                  .visible = getenv("CUDA_VISIBLE_DEVICES"),
                                  .gpu_foreign = gpu_foreign};
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
    *n = (struct numbers){30, 5, 64ull << 20, ENGINE_GPU_BUSY};
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
    const struct slots_options slots = engine_slots(options, n.gpu_busy);
    if (!status)
        status = slots_check(&slots, err);
    if (!status && options->payload) {
        payload = strchr(options->payload, '/') ? realpath(options->payload, NULL) : strdup(options->payload);
        if (!payload)
            status = error_set(err, STATUS_BAD_INPUT, "--payload: no program '%s'", options->payload);
    }
    if (!status)
        status = home_init(&e->home, home, true, err);
    if (!status)
        home_announce(&e->home);
    if (!status)
        status = store_open(&e->store, &e->home, STORE_WRITE, err);
    if (!status) {
        uv_loop_init(&e->loop);
        e->looping = true;
        const struct executor_options executor = {.payload = payload, .slots = slots};
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
