#include "harness/queue/slots.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/base/memory.h"
#include "harness/queue/nvml.h"

struct gpu {
    struct nvml_device device;
    uint64_t foreign; /* bytes used by others */
    bool gone;        /* the driver no longer lists it */
    int taken[SLOTS_MOST];
};

struct slots {
    struct slots_options options;
    int processors[CPU_SETSIZE], processor_count;
    int taken[SLOTS_MOST]; /* runs on a CPU slot: more than one only after a restart with fewer slots */
    struct nvml *nvml;
    struct gpu *gpus;
    int gpu_count;
    char missing[512]; /* why there are no GPUs */
};

static void find_processors(struct slots *s)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0)
        CPU_SET(0, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            s->processors[s->processor_count++] = i;
}

/* Slot i's processors, [*begin, *end) of the list: equal shares; with more slots than processors, one each in turn. */
static void share(const struct slots *s, int slot, int *begin, int *end)
{
    int slots = s->options.cpu, all = s->processor_count;
    if (slots > all) {
        *begin = slot % all;
        *end = *begin + 1;
        return;
    }
    *begin = (int)((long long)slot * all / slots);
    *end = (int)((long long)(slot + 1) * all / slots);
}

static void append(char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void append(char *to, size_t room, const char *format, ...)
{
    size_t used = strlen(to);
    va_list args;
    va_start(args, format);
    vsnprintf(to + used, room - used, format, args);
    va_end(args);
}

/* "0-3,8" of a set. Returns how many. */
static int list_processors(const cpu_set_t *set, char *to, size_t room)
{
    to[0] = '\0';
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, set))
            continue;
        int last = i;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        append(to, room, last > i ? "%s%d-%d" : "%s%d", to[0] ? "," : "", i, last);
        i = last;
    }
    return CPU_COUNT(set);
}

/* Fill in what follows from pool, device and units. */
static void describe(const struct slots *s, struct slots_grant *g)
{
    if (g->pool == DEVICE_CPU) {
        cpu_set_t set;
        CPU_ZERO(&set);
        snprintf(g->name, sizeof g->name, "cpu:");
        snprintf(g->device, sizeof g->device, "cpu");
        for (int i = 0; i < g->count; i++) {
            int begin, end;
            append(g->name, sizeof g->name, i ? ",%d" : "%d", g->units[i]);
            share(s, g->units[i], &begin, &end);
            for (int p = begin; p < end; p++)
                CPU_SET(s->processors[p], &set);
        }
        g->threads = list_processors(&set, g->processors, sizeof g->processors);
        return;
    }
    snprintf(g->name, sizeof g->name, "gpu:%s:", g->device);
    for (int i = 0; i < g->count; i++)
        append(g->name, sizeof g->name, i ? ",%d" : "%d", g->units[i]);
    int each = s->processor_count / (s->gpu_count * s->options.gpu_runs);
    g->threads = g->count * (each > 1 ? each : 1);
}

static struct gpu *gpu_find(const struct slots *s, const char *id)
{
    for (int i = 0; i < s->gpu_count; i++)
        if (strcmp(s->gpus[i].device.id, id) == 0)
            return &s->gpus[i];
    return NULL;
}

/* Memory in use that is not our workers'. */
static uint64_t foreign_bytes(const struct slots *s, const struct nvml_device *d)
{
    uint64_t ours = 0;
    for (int i = 0; i < d->processes; i++)
        if (s->options.owns && s->options.owns(s->options.arg, d->process[i].pid))
            ours += d->process[i].bytes;
    return d->used > ours ? d->used - ours : 0;
}

static bool gpu_in_use(const struct slots *s, const struct gpu *gpu)
{
    for (int i = 0; i < s->options.gpu_runs; i++)
        if (gpu->taken[i])
            return true;
    return false;
}

/* Where the driver does not say whose memory it is (other pid namespaces, old drivers), what is used beside a run of
 * ours is taken to be its own. */
static bool gpu_busy(const struct slots *s, const struct gpu *gpu)
{
    if (gpu->gone || gpu->device.unknown)
        return true;
    if (gpu_in_use(s, gpu)) {
        bool told = false;
        for (int i = 0; i < gpu->device.processes && s->options.owns; i++)
            told |= gpu->device.process[i].bytes && s->options.owns(s->options.arg, gpu->device.process[i].pid);
        if (!told)
            return false;
    }
    return gpu->foreign > s->options.gpu_foreign;
}

void slots_refresh(struct slots *s)
{
    struct nvml_device *list = NULL;
    int count = 0;
    struct error err = {0};
    if (!s->nvml || s->options.gpu_runs < 1)
        return;
    if (nvml_devices(s->nvml, &list, &count, &err))
        snprintf(s->missing, sizeof s->missing, "%.500s", err.text);
    for (int i = 0; i < s->gpu_count; i++)
        s->gpus[i].gone = true;
    for (int i = 0; i < count; i++) {
        struct gpu *gpu = gpu_find(s, list[i].id);
        if (!gpu) {
            s->gpus = memory_resize(s->gpus, (size_t)s->gpu_count + 1, sizeof *s->gpus);
            gpu = &s->gpus[s->gpu_count++];
            *gpu = (struct gpu){0};
        }
        gpu->device = list[i];
        gpu->gone = false;
        gpu->foreign = foreign_bytes(s, &list[i]);
    }
    free(list);
}

struct slots *slots_create(const struct slots_options *options)
{
    struct slots *s = memory_alloc(1, sizeof *s);
    struct error err = {0};
    s->options = *options;
    find_processors(s);
    if (s->options.cpu < 0)
        s->options.cpu = s->processor_count < 8 ? 1 : s->processor_count / 4;
    if (s->options.cpu > SLOTS_MOST)
        s->options.cpu = SLOTS_MOST;
    if (s->options.gpu_runs > SLOTS_MOST)
        s->options.gpu_runs = SLOTS_MOST;
    if (s->options.gpu_runs > 0 && nvml_open(&s->nvml, &err))
        snprintf(s->missing, sizeof s->missing, "%.500s", err.text);
    slots_refresh(s);
    return s;
}

void slots_destroy(struct slots *s)
{
    if (!s)
        return;
    nvml_close(s->nvml);
    free(s->gpus);
    free(s);
}

static int free_units(const struct slots *s, const struct gpu *gpu)
{
    int n = 0;
    for (int i = 0; i < s->options.gpu_runs; i++)
        n += !gpu->taken[i];
    return n;
}

int slots_total(const struct slots *s, int pool)
{
    int n = 0;
    if (pool == DEVICE_CPU)
        return s->options.cpu;
    for (int i = 0; i < s->gpu_count; i++)
        n += s->gpus[i].gone ? 0 : s->options.gpu_runs;
    return n;
}

int slots_widest(const struct slots *s, int pool)
{
    return pool == DEVICE_CPU ? s->options.cpu : slots_total(s, pool) ? s->options.gpu_runs : 0;
}

int slots_free(const struct slots *s, int pool)
{
    int n = 0;
    if (pool == DEVICE_CPU) {
        for (int i = 0; i < s->options.cpu; i++)
            n += !s->taken[i];
        return n;
    }
    for (int i = 0; i < s->gpu_count; i++)
        n += gpu_busy(s, &s->gpus[i]) ? 0 : free_units(s, &s->gpus[i]);
    return n;
}

static bool take_units(int *taken, int most, int count, struct slots_grant *g)
{
    g->count = 0;
    for (int i = 0; i < most && g->count < count; i++)
        if (!taken[i])
            g->units[g->count++] = i;
    if (g->count < count)
        return false;
    for (int i = 0; i < count; i++)
        taken[g->units[i]]++;
    return true;
}

bool slots_take(struct slots *s, int pool, int count, struct slots_grant *g)
{
    memset(g, 0, sizeof *g);
    g->pool = pool;
    if (count < 1)
        count = 1;
    if (pool == DEVICE_CPU) {
        if (!take_units(s->taken, s->options.cpu, count, g))
            return false;
        describe(s, g);
        return true;
    }
    struct gpu *best = NULL;
    for (int i = 0; i < s->gpu_count; i++) /* the emptiest one */
        if (!gpu_busy(s, &s->gpus[i]) && free_units(s, &s->gpus[i]) >= count &&
            (!best || free_units(s, &s->gpus[i]) > free_units(s, best)))
            best = &s->gpus[i];
    if (!best)
        return false;
    snprintf(g->device, sizeof g->device, "%.95s", best->device.id);
    take_units(best->taken, s->options.gpu_runs, count, g);
    describe(s, g);
    return true;
}

static int *ledger(struct slots *s, const struct slots_grant *g)
{
    if (g->pool == DEVICE_CPU)
        return s->taken;
    struct gpu *gpu = gpu_find(s, g->device);
    return gpu ? gpu->taken : NULL;
}

void slots_adopt(struct slots *s, const char *name, struct slots_grant *g)
{
    memset(g, 0, sizeof *g);
    snprintf(g->name, sizeof g->name, "%s", name ? name : "");
    const char *units = strrchr(g->name, ':');
    g->pool = strncmp(g->name, "gpu:", 4) == 0 ? DEVICE_CUDA : DEVICE_CPU;
    snprintf(g->device, sizeof g->device, "cpu");
    if (g->pool == DEVICE_CUDA && units && units > g->name + 4)
        snprintf(g->device, sizeof g->device, "%.*s", (int)(units - g->name - 4), g->name + 4);
    for (const char *at = units; at && *at && g->count < SLOTS_MOST;) {
        char *end;
        long unit = strtol(at + 1, &end, 10);
        if (end == at + 1)
            break;
        if (unit >= 0 && unit < SLOTS_MOST)
            g->units[g->count++] = (int)unit;
        at = *end == ',' ? end : NULL;
    }
    int *taken = ledger(s, g);
    for (int i = 0; taken && i < g->count; i++)
        taken[g->units[i]]++;
}

void slots_give(struct slots *s, const struct slots_grant *g)
{
    int *taken = ledger((struct slots *)s, g);
    for (int i = 0; taken && i < g->count; i++)
        if (taken[g->units[i]] > 0)
            taken[g->units[i]]--;
}

static json_t *cpu_to_json(const struct slots *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->options.cpu; i++) {
        struct slots_grant g = {.pool = DEVICE_CPU, .count = 1, .units = {i}};
        describe(s, &g);
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:b}", "slot", i, "processors", g.processors, "threads",
                                              g.threads, "used", s->taken[i] > 0));
    }
    return json_pack("{s:i, s:o}", "processors", s->processor_count, "slots", list);
}

json_t *slots_to_json(const struct slots *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:b, s:i, s:i}", "id", gpu->device.id, "name",
                                        gpu->device.name, "mig", (int)gpu->device.mig, "total",
                                        (json_int_t)gpu->device.total, "used", (json_int_t)gpu->device.used, "foreign",
                                        (json_int_t)gpu->foreign, "busy", (int)gpu_busy(s, gpu), "runs",
                                        s->options.gpu_runs, "taken", s->options.gpu_runs - free_units(s, gpu)));
    }
    json_t *gpu = json_pack("{s:s, s:s, s:o}", "driver", s->nvml ? nvml_driver(s->nvml) : "", "missing", s->missing,
                            "devices", list);
    return json_pack("{s:o, s:o}", "cpu", cpu_to_json(s), "gpu", gpu);
}
