/* Shared by the files of the ledger; nothing else includes it. */
#ifndef TAPER_HARNESS_QUEUE_SLOTS_INTERNAL_H
#define TAPER_HARNESS_QUEUE_SLOTS_INTERNAL_H

#include <sched.h>

#include "harness/queue/nvml.h"
#include "harness/queue/slots.h"

struct gpu {
    struct nvml_device device;
    uint64_t foreign;  /* bytes used by others */
    uint64_t promised; /* bytes, to the grants */
    bool gone;         /* the driver no longer lists it */
    int taken[SLOTS_MOST];
};

struct aside {
    char device[SLOTS_DEVICE], why[SLOTS_WHY];
    int64_t since;
};

struct slots {
    struct slots_options options;
    char *gpu_list, *visible; /* the options' own */
    int processors[CPU_SETSIZE], processor_count;
    int taken[SLOTS_MOST]; /* runs on a CPU slot: more than one only after a restart with fewer slots */
    struct nvml *nvml;
    struct gpu *gpus; /* those that are ours to use */
    int gpu_count;
    int gpu_each;   /* slots of a GPU */
    int gpu_hidden; /* GPUs that are not ours to use */
    struct aside *aside;
    int aside_count;
    char missing[512]; /* why there are no GPUs, or not those that are meant */
};

/* Add text to what stands there. */
void slots_append(char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fill in what follows from a grant's pool, device and units. */
void slots_describe(const struct slots *s, struct slots_grant *g);

/* NULL: not ours to use, or never seen. */
struct gpu *slots_gpu(const struct slots *s, const char *id);
const struct aside *slots_aside(const struct slots *s, const char *id);

int slots_gpu_free(const struct slots *s, const struct gpu *gpu); /* its units */
int slots_gpu_taken(const struct slots *s);                       /* of all */

/* It takes no runs now: gone, set aside, or others use it. */
bool slots_gpu_busy(const struct slots *s, const struct gpu *gpu);

/* The emptiest one that would do now; NULL: none. */
struct gpu *slots_gpu_pick(const struct slots *s, const struct slots_wish *wish);

#endif
