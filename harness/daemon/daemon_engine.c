#include "harness/daemon/daemon_engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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
        {.name = "executor", .value = &o->executor},     {.name = "max-jobs", .value = &o->max_jobs},
        {.name = "slots", .each = take_slots, .arg = o}, {.name = "gpu-busy", .value = &o->gpu_busy},
        {.name = "grace", .value = &o->grace},           {.name = "retry-delay", .value = &o->retry_delay},
        {.name = "min-free", .value = &o->min_free},     {.name = "payload", .value = &o->payload},
        {.name = "gpu-aside", .value = &o->gpu_aside}};
    memcpy(specs, rows, sizeof rows);
    return ENGINE_OPTIONS;
}

struct numbers {
    double grace, retry_delay;
    unsigned long long min_free, gpu_busy;
    long long gpu_aside;
    long long jobs; /* 0: the executor's default */
};

static int read_numbers(const struct engine_options *o, struct numbers *n, struct error *err)
{
    int status = STATUS_OK;
    *n = (struct numbers){30, 5, 64ull << 20, ENGINE_GPU_BUSY, ENGINE_GPU_ASIDE, 0};
    if (o->grace)
        status = options_real("--grace", o->grace, 0, 86400, &n->grace, err);
    if (!status && o->retry_delay)
        status = options_real("--retry-delay", o->retry_delay, 0, 86400, &n->retry_delay, err);
    if (!status && o->min_free)
        status = options_size("--min-free", o->min_free, &n->min_free, err);
    if (!status && o->gpu_busy)
        status = options_size("--gpu-busy", o->gpu_busy, &n->gpu_busy, err);
    if (!status && o->gpu_aside)
        status = options_integer("--gpu-aside", o->gpu_aside, 0, SCHEDULER_ASIDE_MOST, &n->gpu_aside, err);
    if (!status && o->max_jobs)
        status = options_integer("--max-jobs", o->max_jobs, 1, 100000, &n->jobs, err);
    return status;
}

int engine_check_descriptors(struct error *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ENGINE_DESCRIPTORS)
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "want at least %d file descriptors, found %llu ('ulimit -n %d' allows them)", ENGINE_DESCRIPTORS,
                     (unsigned long long)limit.rlim_cur, ENGINE_DESCRIPTORS);
}

static int open_loop(struct engine *e, struct error *err)
{
    int code = uv_loop_init(&e->loop);
    if (code)
        return error_set(err, STATUS_FAILED, "cannot make an event loop: %s", uv_strerror(code));
    e->looping = true;
    return STATUS_OK;
}

/* The kind that new attempts go to. */
static int choose_kind(const struct engine_options *o, const struct executor_kind **chosen, struct error *err)
{
    const struct executor_kind *kind = *chosen = executor_kind_at(0);
    for (int i = 0; o->executor && (kind = executor_kind_at(i)) && strcmp(kind->name, o->executor) != 0;)
        i++;
    if (!kind)
        return error_set(err, STATUS_BAD_INPUT, "--executor: want local or slurm, got '%s'", o->executor);
    *chosen = kind;
    if (o->max_jobs && strcmp(kind->name, "slurm") != 0)
        return error_set(err, STATUS_BAD_INPUT, "--max-jobs goes with --executor slurm");
    return kind->check ? kind->check(err) : STATUS_OK;
}

/* The chosen one first; the others that can work here have what an earlier process gave them. */
static void make_executors(struct engine *e, const struct executor_kind *chosen, const struct executor_options *options)
{
    const struct executor_kind *kind;
    int count = 0;
    e->executors[count++] = chosen->create(&e->loop, options);
    for (int i = 0; (kind = executor_kind_at(i)) && count < ENGINE_EXECUTORS; i++)
        if (kind != chosen && (!kind->check || kind->check(NULL) == STATUS_OK))
            e->executors[count++] = kind->create(&e->loop, options);
}

/* Whoever took the home writes to the database now: whatever this process did yet would be to its damage. Workers go
 * on, as after a kill, and are the other's. */
static void on_lease(uv_timer_t *timer)
{
    struct engine *e = timer->data;
    struct error err = {0};
    if (store_lease_beat(e->store, &err) == STATUS_OK)
        return;
    if (e->log)
        e->log(e->arg, err.text);
    _exit(1);
}

static void keep_lease(struct engine *e)
{
    uv_timer_init(&e->loop, &e->lease);
    e->lease.data = e;
    /* Soon after the start, since two may have begun at the same moment. */
    uv_timer_start(&e->lease, on_lease, 1000, 1000 * STORE_LEASE_S);
    uv_unref((uv_handle_t *)&e->lease);
}

int engine_open(struct engine *e, const struct engine_options *options, const char *home, const char *sweep,
                void (*log)(void *arg, const char *text), void (*changed)(void *arg), void *arg, struct error *err)
{
    struct numbers n;
    char *payload = NULL;
    const struct executor_kind *chosen = NULL;
    *e = (struct engine){0};
    int status = engine_check_descriptors(err);
    if (!status)
        status = read_numbers(options, &n, err);
    if (!status)
        status = choose_kind(options, &chosen, err);
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
    if (!status)
        status = open_loop(e, err);
    if (!status) {
        database_sync_begin(&e->sync, &e->loop, e->store, e->home.database);
        const struct executor_options executor = {
            .payload = payload, .slots = slots, .home = e->home.dir, .jobs_most = (int)n.jobs};
        make_executors(e, chosen, &executor);
        e->log = log;
        e->arg = arg;
        keep_lease(e);
        struct scheduler_options scheduler = {.loop = &e->loop,
                                              .home = &e->home,
                                              .store = e->store,
                                              .executors = e->executors,
                                              .sweep = sweep,
                                              .grace = n.grace,
                                              .retry_delay = n.retry_delay,
                                              .min_free = n.min_free,
                                              .aside_after = (int)n.gpu_aside,
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
        uv_close((uv_handle_t *)&e->lease, NULL);
        database_sync_close(&e->sync);
        uv_run(&e->loop, UV_RUN_DEFAULT); /* only closing handles are left */
        uv_loop_close(&e->loop);
        database_sync_end(&e->sync);
    }
    store_close(e->store);
    home_fini(&e->home);
    *e = (struct engine){0};
}
