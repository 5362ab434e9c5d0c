/* What a run gets of a pool to start with: slots, on a GPU that it did not fail on, with the memory that it will need.
 * The ledger of memory has what each live run will need, whether it has taken it yet or not, so that those that share a
 * GPU fit beside each other. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rundir.h"
#include "core/model/gpu_memory.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/store/store_queue.h"

enum { MIB = 1 << 20, PROCESS = GPU_MEMORY_CONTEXT + GPU_MEMORY_KERNELS };

/* The GPU that the last attempt of a run failed on; false: it did not fail, or not on one. */
static bool failed_on(const struct scheduler *s, const struct store_run *run, char device[SLOTS_DEVICE])
{
    struct store_attempt last = {0};
    enum outcome cause;
    bool failed =
        run->attempts > 0 && run->device == DEVICE_CUDA &&
        store_attempt_get(s->o.store, run->id, 0, &last, NULL) == STATUS_OK && last.device &&
        outcome_parse(last.cause, &cause) &&
        (cause == OUTCOME_FAILED || cause == OUTCOME_SIGNAL || cause == OUTCOME_MEMORY || cause == OUTCOME_TIMEOUT);
    if (failed)
        snprintf(device, SLOTS_DEVICE, "%.95s", last.device);
    store_attempt_fini(&last);
    return failed;
}

/* Bytes of a GPU that a run needs besides its process'; 0: none, or its configuration cannot be read, which its worker
 * will say. largest: of a GPU; STATUS_BAD_INPUT when the run is too large for that (0: it is not known). */
static int need_of(const struct scheduler *s, const char *run, uint64_t largest, uint64_t *bytes, struct error *err)
{
    char *text = NULL, *data = NULL, *after = NULL, *slurm = NULL;
    struct config cfg;
    *bytes = 0;
    json_t *object = NULL;
    if (store_queue_texts(s->o.store, run, &text, &data, &after, &slurm, NULL) == STATUS_OK)
        object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    free(data);
    free(after);
    free(slurm);
    int status = object ? config_from_json(&cfg, object, RUNDIR_CONFIG, NULL) : STATUS_FAILED;
    json_decref(object);
    if (status || cfg.device != DEVICE_CUDA)
        return STATUS_OK;
    const bool half = cfg.precision != PRECISION_FP32;
    *bytes = gpu_memory_need(&cfg, half).total;
    return largest ? gpu_memory_fits(&cfg, half, largest, err) : STATUS_OK;
}

void scheduler_promise(struct scheduler *s, struct crew *crew, const char *run, bool first)
{
    uint64_t bytes;
    if (crew->grant.pool != DEVICE_CUDA || !crew->executor->slots)
        return;
    need_of(s, run, 0, &bytes, NULL);
    slots_promise(crew->executor->slots, &crew->grant, bytes + (first && bytes ? PROCESS : 0));
}

int scheduler_fit_mates(struct scheduler *s, struct crew *crew, const struct store_run *mates, int count)
{
    const struct slots *slots = crew->executor->slots;
    uint64_t bytes;
    int fit = 0;
    if (crew->grant.pool != DEVICE_CUDA || !slots)
        return count;
    for (; fit < count; fit++) {
        need_of(s, mates[fit].id, 0, &bytes, NULL);
        if (bytes > slots_memory_left(slots, &crew->grant))
            break;
        scheduler_promise(s, crew, mates[fit].id, false);
    }
    return fit;
}

/* Why a run whose slots are free waits all the same. */
static void say_short(struct scheduler *s, const struct slots *slots, const struct store_run *run,
                      const struct slots_grant *grant, uint64_t bytes)
{
    snprintf(s->short_of, sizeof s->short_of, "run %s takes about %llu MiB, of %s %llu MiB are not promised to others",
             run->id, (unsigned long long)((bytes + MIB - 1) / MIB), grant->device,
             (unsigned long long)(slots_memory_left(slots, grant) / MIB));
}

enum taking scheduler_take(struct scheduler *s, struct executor *ex, const struct store_run *run,
                           struct slots_grant *grant, struct error *never)
{
    char avoid[SLOTS_DEVICE];
    struct slots_wish wish = {.pool = run->device, .count = (int)run->slots};
    if (run->device == DEVICE_CUDA && ex->slots) {
        if (need_of(s, run->id, slots_largest(ex->slots), &wish.bytes, never))
            return TAKING_NEVER;
        wish.bytes += wish.bytes ? PROCESS : 0;
    }
    if (failed_on(s, run, avoid))
        wish.avoid = avoid;
    if (ex->take(ex, &wish, grant))
        return TAKING_DONE;
    /* What is it that it lacks? What is taken to find out is given back at once. */
    if (wish.avoid) {
        wish.avoid = NULL;
        if (ex->take(ex, &wish, grant)) {
            ex->give(ex, grant);
            return TAKING_PASSED;
        }
    }
    const uint64_t bytes = wish.bytes;
    wish.bytes = 0;
    if (bytes && ex->take(ex, &wish, grant)) {
        say_short(s, ex->slots, run, grant, bytes);
        ex->give(ex, grant);
    }
    return TAKING_WAITS;
}
