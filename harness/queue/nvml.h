/* NVIDIA's management library, loaded when it is there: which GPUs, and how much of their memory is taken.
 *
 * Ids are opaque texts (GPU-..., MIG-...), never indices: what an index means depends on the process. A GPU that is
 * split by MIG is represented by its parts. Without the library, or without a driver, there are no devices, and the
 * reason is told. One thread. Which library: TAPER_NVML, else libnvidia-ml.so.1. */
#ifndef TAPER_HARNESS_QUEUE_NVML_H
#define TAPER_HARNESS_QUEUE_NVML_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

enum { NVML_ID = 96, NVML_PROCESSES = 64 };

struct nvml_device {
    char id[NVML_ID], name[NVML_ID];
    int index;            /* of the GPU, from 0, in the driver's order, as nvidia-smi shows it */
    bool mig;             /* a part of that GPU */
    char whole[NVML_ID];  /* the GPU's own id, of which a part is one; "" when it is no part */
    bool unknown;         /* its memory could not be read just now */
    uint64_t total, used; /* bytes */
    int processes;        /* that compute on it; at most NVML_PROCESSES are listed */
    struct {
        pid_t pid;
        uint64_t bytes; /* 0 when the driver does not tell */
    } process[NVML_PROCESSES];
};

struct nvml;

/* STATUS_FAILED with the reason when there is no library, or no driver behind it. */
int nvml_open(struct nvml **out, struct error *err);
void nvml_close(struct nvml *n); /* NULL is fine */

/* "535.104.05"; "" when it does not say. */
const char *nvml_driver(const struct nvml *n);

/* The devices as they are now, on the heap (the caller frees it), *count rows. */
int nvml_devices(struct nvml *n, struct nvml_device **out, int *count, struct error *err);

#endif
