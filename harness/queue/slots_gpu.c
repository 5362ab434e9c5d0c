/* The GPUs of the ledger: which are ours, which are free, and what of their memory is promised. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/config/config.h"
#include "harness/queue/gpu_choice.h"
#include "harness/queue/slots_internal.h"

struct gpu *slots_gpu(const struct slots *s, const char *id)
{
    for (int i = 0; i < s->gpu_count; i++)
        if (strcmp(s->gpus[i].device.id, id) == 0)
            return &s->gpus[i];
    return NULL;
}

const struct aside *slots_aside(const struct slots *s, const char *id)
{
    for (int i = 0; i < s->aside_count; i++)
        if (strcmp(s->aside[i].device, id) == 0)
            return &s->aside[i];
    return NULL;
}

void slots_set_aside(struct slots *s, const char *device, const char *why, int64_t since)
{
    for (int i = 0; i < s->aside_count; i++)
        if (strcmp(s->aside[i].device, device) == 0)
            s->aside[i] = s->aside[--s->aside_count];
    if (!why)
        return;
    s->aside = memory_resize(s->aside, (size_t)s->aside_count + 1, sizeof *s->aside);
    struct aside *a = &s->aside[s->aside_count++];
    a->since = since;
    snprintf(a->device, sizeof a->device, "%s", device);
    snprintf(a->why, sizeof a->why, "%s", why);
}

bool slots_all_aside(const struct slots *s)
{
    int here = 0;
    for (int i = 0; i < s->gpu_count; i++) {
        here += !s->gpus[i].gone;
        if (!s->gpus[i].gone && !slots_aside(s, s->gpus[i].device.id))
            return false;
    }
    return here > 0;
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

int slots_gpu_free(const struct slots *s, const struct gpu *gpu)
{
    int n = 0;
    for (int i = 0; i < s->gpu_each; i++)
        n += !gpu->taken[i];
    return n;
}

int slots_gpu_taken(const struct slots *s)
{
    int n = 0;
    for (int i = 0; i < s->gpu_count; i++)
        for (int unit = 0; unit < SLOTS_MOST; unit++)
            n += s->gpus[i].taken[unit] > 0;
    return n;
}

static bool in_use(const struct gpu *gpu)
{
    for (int i = 0; i < SLOTS_MOST; i++)
        if (gpu->taken[i])
            return true;
    return false;
}

/* What others use. Where the driver does not say whose memory it is (other pid namespaces, old drivers), what is used
 * beside a run of ours is taken to be its own. */
static uint64_t foreign(const struct slots *s, const struct gpu *gpu)
{
    bool told = !in_use(gpu);
    for (int i = 0; i < gpu->device.processes && s->options.owns; i++)
        told |= gpu->device.process[i].bytes && s->options.owns(s->options.arg, gpu->device.process[i].pid);
    return told ? gpu->foreign : 0;
}

bool slots_gpu_busy(const struct slots *s, const struct gpu *gpu)
{
    return gpu->gone || gpu->device.unknown || slots_aside(s, gpu->device.id) ||
           foreign(s, gpu) > s->options.gpu_foreign;
}

uint64_t slots_largest(const struct slots *s)
{
    uint64_t most = 0;
    for (int i = 0; i < s->gpu_count; i++)
        if (!s->gpus[i].gone && s->gpus[i].device.total > most)
            most = s->gpus[i].device.total;
    return most;
}

static uint64_t memory_left(const struct slots *s, const struct gpu *gpu)
{
    uint64_t gone = gpu->promised + foreign(s, gpu);
    return gone < gpu->device.total ? gpu->device.total - gone : 0;
}

uint64_t slots_memory_left(const struct slots *s, const struct slots_grant *grant)
{
    const struct gpu *gpu = grant->pool == DEVICE_CUDA ? slots_gpu(s, grant->device) : NULL;
    return gpu ? memory_left(s, gpu) : 0;
}

void slots_promise(struct slots *s, struct slots_grant *grant, uint64_t bytes)
{
    struct gpu *gpu = grant->pool == DEVICE_CUDA ? slots_gpu(s, grant->device) : NULL;
    grant->bytes += gpu ? bytes : 0;
    if (gpu)
        gpu->promised += bytes;
}

/* It is large enough, if not always free. */
static bool would_do(const struct slots *s, const struct gpu *gpu, const struct slots_wish *wish)
{
    return !slots_gpu_busy(s, gpu) && wish->count <= s->gpu_each && wish->bytes <= gpu->device.total;
}

struct gpu *slots_gpu_pick(const struct slots *s, const struct slots_wish *wish)
{
    struct gpu *best = NULL;
    bool others = false; /* besides the one to avoid */
    if (s->options.gpu_total && slots_gpu_taken(s) + wish->count > s->options.gpu_total)
        return NULL;
    for (int i = 0; i < s->gpu_count && wish->avoid; i++)
        others |= would_do(s, &s->gpus[i], wish) && strcmp(s->gpus[i].device.id, wish->avoid) != 0;
    for (int i = 0; i < s->gpu_count; i++) {
        struct gpu *gpu = &s->gpus[i];
        if (!would_do(s, gpu, wish) || slots_gpu_free(s, gpu) < wish->count ||
            (others && strcmp(gpu->device.id, wish->avoid) == 0) || (in_use(gpu) && wish->bytes > memory_left(s, gpu)))
            continue;
        if (!best || slots_gpu_free(s, gpu) > slots_gpu_free(s, best))
            best = gpu;
    }
    return best;
}

/* Flags of the devices that are ours to use; a new array. */
static bool *choose(struct slots *s, const struct nvml_device *list, int count, struct error *err)
{
    bool *visible = memory_alloc((size_t)count + 1, sizeof *visible), *ours = NULL;
    gpu_choice_visible(s->visible, list, count, visible);
    if (s->gpu_list) {
        ours = memory_alloc((size_t)count + 1, sizeof *ours);
        gpu_choice_listed(s->gpu_list, list, count, visible, ours, err);
        free(visible);
    }
    return ours ? ours : visible;
}

static void take_in(struct slots *s, const struct nvml_device *device)
{
    struct gpu *gpu = slots_gpu(s, device->id);
    if (!gpu) {
        s->gpus = memory_resize(s->gpus, (size_t)s->gpu_count + 1, sizeof *s->gpus);
        gpu = &s->gpus[s->gpu_count++];
        *gpu = (struct gpu){0};
    }
    gpu->device = *device;
    gpu->gone = false;
    gpu->foreign = foreign_bytes(s, device);
}

void slots_refresh(struct slots *s)
{
    struct nvml_device *list = NULL;
    int count = 0, ours = 0;
    struct error err = {0};
    if (!s->nvml || (s->options.gpu_runs < 1 && s->options.gpu_total < 1))
        return;
    nvml_devices(s->nvml, &list, &count, &err);
    bool *chosen = choose(s, list, count, &err);
    for (int i = 0; i < s->gpu_count; i++)
        s->gpus[i].gone = true;
    for (int i = 0; i < count; i++)
        if (chosen[i]) {
            take_in(s, &list[i]);
            ours++;
        }
    s->gpu_hidden = count - ours;
    snprintf(s->missing, sizeof s->missing, "%.500s", err.text);
    if (!err.text[0] && s->gpu_hidden && !ours)
        snprintf(s->missing, sizeof s->missing, "CUDA_VISIBLE_DEVICES='%.300s' leaves none of the %d here", s->visible,
                 count);
    if (s->options.gpu_total && !s->gpu_each && ours) /* as they were found first: the runs on each do not grow later */
        s->gpu_each = (s->options.gpu_total + ours - 1) / ours;
    free(chosen);
    free(list);
}
