#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/base/memory.h"
#include "harness/queue/slots_internal.h"

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

void slots_append(char *to, size_t room, const char *format, ...)
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
        slots_append(to, room, last > i ? "%s%d-%d" : "%s%d", to[0] ? "," : "", i, last);
        i = last;
    }
    return CPU_COUNT(set);
}

void slots_describe(const struct slots *s, struct slots_grant *g)
{
    if (g->pool == DEVICE_CPU) {
        cpu_set_t set;
        CPU_ZERO(&set);
        snprintf(g->name, sizeof g->name, "cpu:");
        snprintf(g->device, sizeof g->device, "cpu");
        for (int i = 0; i < g->count; i++) {
            int begin, end;
            slots_append(g->name, sizeof g->name, i ? ",%d" : "%d", g->units[i]);
            share(s, g->units[i], &begin, &end);
            for (int p = begin; p < end; p++)
                CPU_SET(s->processors[p], &set);
        }
        g->threads = list_processors(&set, g->processors, sizeof g->processors);
        return;
    }
    snprintf(g->name, sizeof g->name, "gpu:%s:", g->device);
    for (int i = 0; i < g->count; i++)
        slots_append(g->name, sizeof g->name, i ? ",%d" : "%d", g->units[i]);
    int all = slots_total(s, DEVICE_CUDA), each = all ? s->processor_count / all : 0;
    g->threads = g->count * (each > 1 ? each : 1);
}

static int at_most(int n, int most)
{
    return n < most ? n : most;
}

struct slots *slots_create(const struct slots_options *options)
{
    struct slots *s = memory_alloc(1, sizeof *s);
    struct error err = {0};
    s->options = *options;
    s->gpu_list = options->gpu_list ? memory_string(options->gpu_list) : NULL;
    s->visible = options->visible ? memory_string(options->visible) : NULL;
    find_processors(s);
    if (s->options.cpu < 0)
        s->options.cpu = s->processor_count < 8 ? 1 : s->processor_count / 4;
    s->options.cpu = at_most(s->options.cpu, SLOTS_MOST);
    s->options.gpu_total = at_most(s->options.gpu_total, SLOTS_MOST);
    s->gpu_each = s->options.gpu_total ? 0 : at_most(s->options.gpu_runs, SLOTS_MOST);
    if ((s->options.gpu_runs > 0 || s->options.gpu_total > 0) && nvml_open(&s->nvml, &err))
        snprintf(s->missing, sizeof s->missing, "%.500s", err.text);
    slots_refresh(s);
    return s;
}

int slots_check(const struct slots_options *options, struct error *err)
{
    int status = STATUS_OK;
    if (!options->gpu_list)
        return STATUS_OK;
    struct slots *s = slots_create(options);
    if (s->missing[0])
        status = error_set(err, STATUS_BAD_INPUT, "%s", s->missing);
    slots_destroy(s);
    return status;
}

void slots_destroy(struct slots *s)
{
    if (!s)
        return;
    nvml_close(s->nvml);
    free(s->gpu_list);
    free(s->visible);
    free(s->aside);
    free(s->gpus);
    free(s);
}

int slots_total(const struct slots *s, int pool)
{
    int n = 0;
    if (pool == DEVICE_CPU)
        return s->options.cpu;
    for (int i = 0; i < s->gpu_count; i++)
        n += s->gpus[i].gone ? 0 : s->gpu_each;
    return s->options.gpu_total ? at_most(n, s->options.gpu_total) : n;
}

int slots_widest(const struct slots *s, int pool)
{
    return pool == DEVICE_CPU ? s->options.cpu : slots_total(s, pool) ? s->gpu_each : 0;
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
        n += slots_gpu_busy(s, &s->gpus[i]) ? 0 : slots_gpu_free(s, &s->gpus[i]);
    if (!s->options.gpu_total)
        return n;
    int left = s->options.gpu_total - slots_gpu_taken(s);
    return at_most(n, left > 0 ? left : 0);
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

bool slots_take(struct slots *s, const struct slots_wish *wished, struct slots_grant *g)
{
    struct slots_wish wish = *wished;
    memset(g, 0, sizeof *g);
    g->pool = wish.pool;
    if (wish.count < 1)
        wish.count = 1;
    if (wish.pool == DEVICE_CPU) {
        if (!take_units(s->taken, s->options.cpu, wish.count, g))
            return false;
        slots_describe(s, g);
        return true;
    }
    struct gpu *gpu = slots_gpu_pick(s, &wish);
    if (!gpu)
        return false;
    snprintf(g->device, sizeof g->device, "%.95s", gpu->device.id);
    take_units(gpu->taken, s->gpu_each, wish.count, g);
    slots_promise(s, g, wish.bytes);
    slots_describe(s, g);
    return true;
}

static int *ledger(struct slots *s, const struct slots_grant *g)
{
    if (g->pool == DEVICE_CPU)
        return s->taken;
    struct gpu *gpu = slots_gpu(s, g->device);
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
    int *taken = ledger(s, g);
    for (int i = 0; taken && i < g->count; i++)
        if (taken[g->units[i]] > 0)
            taken[g->units[i]]--;
    struct gpu *gpu = g->pool == DEVICE_CUDA ? slots_gpu(s, g->device) : NULL;
    if (gpu)
        gpu->promised -= g->bytes < gpu->promised ? g->bytes : gpu->promised;
}
