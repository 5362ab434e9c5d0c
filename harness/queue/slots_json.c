/* The ledger for people and for the socket. */
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "harness/queue/slots_internal.h"

static json_t *cpu_to_json(const struct slots *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->options.cpu; i++) {
        struct slots_grant g = {.pool = DEVICE_CPU, .count = 1, .units = {i}};
        slots_describe(s, &g);
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:b}", "slot", i, "processors", g.processors, "threads",
                                              g.threads, "used", s->taken[i] > 0));
    }
    return json_pack("{s:i, s:o}", "processors", s->processor_count, "slots", list);
}

static json_t *gpu_to_json(const struct slots *s, const struct gpu *gpu)
{
    const struct nvml_device *d = &gpu->device;
    const struct aside *aside = slots_aside(s, d->id);
    json_t *row =
        json_pack("{s:s, s:i, s:s, s:b}", "id", d->id, "index", d->index, "name", d->name, "mig", (int)d->mig);
    const struct {
        const char *name;
        uint64_t bytes;
    } sizes[] = {{"total", d->total}, {"used", d->used}, {"foreign", gpu->foreign}, {"promised", gpu->promised}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        json_object_set_new(row, sizes[i].name, json_integer((json_int_t)sizes[i].bytes));
    json_object_set_new(row, "busy", json_boolean(slots_gpu_busy(s, gpu)));
    json_object_set_new(row, "runs", json_integer(s->gpu_each));
    json_object_set_new(row, "taken", json_integer(s->gpu_each - slots_gpu_free(s, gpu)));
    json_object_set_new(row, "aside", aside ? json_string(aside->why) : json_null());
    json_object_set_new(row, "since", aside ? json_integer(aside->since) : json_null());
    return row;
}

const char *slots_missing(const struct slots *s)
{
    return s->missing;
}

json_t *slots_to_json(const struct slots *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->gpu_count; i++)
        json_array_append_new(list, gpu_to_json(s, &s->gpus[i]));
    json_t *gpu = json_pack("{s:s, s:s, s:i, s:i, s:o}", "driver", s->nvml ? nvml_driver(s->nvml) : "", "missing",
                            s->missing, "hidden", s->gpu_hidden, "slots", slots_total(s, DEVICE_CUDA), "devices", list);
    return json_pack("{s:o, s:o}", "cpu", cpu_to_json(s), "gpu", gpu);
}

void slots_summary(const struct slots *s, char *to, size_t room)
{
    int here = 0, all = slots_total(s, DEVICE_CUDA);
    for (int i = 0; i < s->gpu_count; i++)
        here += !s->gpus[i].gone;
    snprintf(to, room, "%d slot%s on the CPU", s->options.cpu, s->options.cpu == 1 ? "" : "s");
    if (here)
        slots_append(to, room, ", %d on %d GPU%s", all, here, here == 1 ? "" : "s");
    if (here > 1 && all == here * s->gpu_each)
        slots_append(to, room, " (%d each)", s->gpu_each);
    if (s->gpu_hidden)
        slots_append(to, room, "; %d more GPU%s here are not ours to use", s->gpu_hidden,
                     s->gpu_hidden == 1 ? "" : "s");
}
