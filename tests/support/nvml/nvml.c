/* A stand-in for libnvidia-ml.so.1, built by the test that loads it. It reads the file that FAKE_NVML names at every
 * question, a word and its values a line:
 *   init CODE              what nvmlInit_v2 returns
 *   gpu ID TOTAL USED      a GPU; memory in bytes
 *   mig ID TOTAL USED      a part of the GPU before it, which is then in MIG mode
 *   process PID BYTES      computes on the device before it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

struct device {
    char id[96];
    unsigned long long total, used;
    int parent; /* -1: a GPU */
    int processes;
    unsigned int pid[MOST];
    unsigned long long bytes[MOST];
};

static struct device devices[MOST];
static int count, init_code;

static void load(void)
{
    char line[256], word[16];
    int gpu = -1;
    const char *path = getenv("FAKE_NVML");
    FILE *in = path ? fopen(path, "r") : NULL;
    count = init_code = 0;
    while (in && fgets(line, sizeof line, in) && sscanf(line, "%15s", word) == 1 && count < MOST) {
        struct device *d = &devices[count], *last = count ? &devices[count - 1] : NULL;
        unsigned int pid;
        unsigned long long bytes;
        if (strcmp(word, "init") == 0 && sscanf(line, "%*s %d", &init_code) == 1)
            continue;
        if (last && strcmp(word, "process") == 0 && sscanf(line, "%*s %u %llu", &pid, &bytes) == 2) {
            last->pid[last->processes] = pid;
            last->bytes[last->processes++] = bytes;
            continue;
        }
        memset(d, 0, sizeof *d);
        if (sscanf(line, "%*s %95s %llu %llu", d->id, &d->total, &d->used) != 3)
            continue;
        d->parent = strcmp(word, "mig") == 0 ? gpu : -1;
        gpu = d->parent < 0 ? count : gpu;
        count++;
    }
    if (in)
        fclose(in);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlSystemGetDriverVersion(char *to, unsigned int room);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **handle);
EXPORT int nvmlDeviceGetUUID(void *handle, char *to, unsigned int room);
EXPORT int nvmlDeviceGetName(void *handle, char *to, unsigned int room);
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *memory);
EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *n);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int i, void **part);

struct process {
    unsigned int pid;
    unsigned long long bytes;
    unsigned int gpu_instance, compute_instance;
};
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *n, struct process *list);

static int index_of(void *handle)
{
    return (int)((struct device *)handle - devices);
}

int nvmlInit_v2(void)
{
    load();
    return init_code;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int code)
{
    return code == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *to, unsigned int room)
{
    snprintf(to, room, "550.1");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
    load();
    *n = 0;
    for (int i = 0; i < count; i++)
        *n += devices[i].parent < 0;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **handle)
{
    for (int at = 0; at < count; at++)
        if (devices[at].parent < 0 && i-- == 0) {
            *handle = &devices[at];
            return 0;
        }
    return 2;
}

int nvmlDeviceGetUUID(void *handle, char *to, unsigned int room)
{
    snprintf(to, room, "%s", ((struct device *)handle)->id);
    return 0;
}

int nvmlDeviceGetName(void *handle, char *to, unsigned int room)
{
    snprintf(to, room, "Stand-in %d", index_of(handle));
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *memory)
{
    const struct device *d = handle;
    memory[0] = d->total;
    memory[1] = d->total - d->used;
    memory[2] = d->used;
    return 0;
}

int nvmlDeviceGetMigMode(void *handle, unsigned int *current, unsigned int *pending)
{
    int at = index_of(handle);
    *current = *pending = at + 1 < count && devices[at + 1].parent == at;
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned int *n)
{
    (void)handle;
    *n = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int i, void **part)
{
    int parent = index_of(handle);
    for (int at = 0; at < count; at++)
        if (devices[at].parent == parent && i-- == 0) {
            *part = &devices[at];
            return 0;
        }
    return 6;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *n, struct process *list)
{
    const struct device *d = handle;
    if (*n < (unsigned int)d->processes) {
        *n = (unsigned int)d->processes;
        return 7;
    }
    *n = (unsigned int)d->processes;
    for (int i = 0; i < d->processes; i++)
        list[i] = (struct process){d->pid[i], d->bytes[i], 0, 0};
    return 0;
}
