#include "harness/queue/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

/* The few declarations of nvml.h that are used; its ABI is stable. */
typedef void *nvml_handle;

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_process { /* nvmlProcessInfo_v2_t */
    unsigned int pid;
    unsigned long long bytes;
    unsigned int gpu_instance, compute_instance;
};

enum { NVML_OK = 0, NVML_TOO_SMALL = 7 };

struct nvml {
    void *library;
    char driver[80];
    int (*shutdown)(void);
    const char *(*error_text)(int);
    int (*get_count)(unsigned int *);
    int (*get_handle)(unsigned int, nvml_handle *);
    int (*get_uuid)(nvml_handle, char *, unsigned int);
    int (*get_name)(nvml_handle, char *, unsigned int);
    int (*get_memory)(nvml_handle, struct nvml_memory *);
    /* These may be missing from an old library. */
    int (*get_processes)(nvml_handle, unsigned int *, struct nvml_process *);
    int (*get_mig_mode)(nvml_handle, unsigned int *, unsigned int *);
    int (*get_mig_most)(nvml_handle, unsigned int *);
    int (*get_mig)(nvml_handle, unsigned int, nvml_handle *);
};

static int load(struct nvml *n, void *to, const char *name, bool needed, struct error *err)
{
    void *symbol = dlsym(n->library, name);
    if (!symbol && needed)
        return error_set(err, STATUS_FAILED, "libnvidia-ml: no %s", name);
    memcpy(to, &symbol, sizeof symbol);
    return STATUS_OK;
}

static int load_all(struct nvml *n, struct error *err)
{
    const struct {
        void *to;
        const char *name;
        bool needed;
    } rows[] = {{&n->shutdown, "nvmlShutdown", true},
                {&n->error_text, "nvmlErrorString", true},
                {&n->get_count, "nvmlDeviceGetCount_v2", true},
                {&n->get_handle, "nvmlDeviceGetHandleByIndex_v2", true},
                {&n->get_uuid, "nvmlDeviceGetUUID", true},
                {&n->get_name, "nvmlDeviceGetName", true},
                {&n->get_memory, "nvmlDeviceGetMemoryInfo", true},
                {&n->get_processes, "nvmlDeviceGetComputeRunningProcesses_v3", false},
                {&n->get_mig_mode, "nvmlDeviceGetMigMode", false},
                {&n->get_mig_most, "nvmlDeviceGetMaxMigDeviceCount", false},
                {&n->get_mig, "nvmlDeviceGetMigDeviceHandleByIndex", false}};
    int status = STATUS_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !status; i++)
        status = load(n, rows[i].to, rows[i].name, rows[i].needed, err);
    if (!status && !n->get_processes)
        status = load(n, &n->get_processes, "nvmlDeviceGetComputeRunningProcesses_v2", false, err);
    return status;
}

int nvml_open(struct nvml **out, struct error *err)
{
    const char *name = getenv("TAPER_NVML");
    struct nvml *n = memory_alloc(1, sizeof *n);
    int (*init)(void) = NULL, (*driver)(char *, unsigned int) = NULL;
    *out = NULL;
    n->library = dlopen(name && *name ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        free(n);
        return error_set(err, STATUS_FAILED, "no NVIDIA driver: %s", dlerror());
    }
    int status = load_all(n, err);
    if (!status)
        status = load(n, &init, "nvmlInit_v2", true, err);
    int code = status ? NVML_OK : init();
    if (code != NVML_OK)
        status = error_set(err, STATUS_FAILED, "NVML does not start: %s", n->error_text(code));
    if (status) {
        dlclose(n->library);
        free(n);
        return status;
    }
    load(n, &driver, "nvmlSystemGetDriverVersion", false, NULL);
    if (!driver || driver(n->driver, sizeof n->driver) != NVML_OK)
        n->driver[0] = '\0';
    *out = n;
    return STATUS_OK;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

const char *nvml_driver(const struct nvml *n)
{
    return n->driver;
}

static void read_processes(struct nvml *n, nvml_handle handle, struct nvml_device *d)
{
    struct nvml_process list[NVML_PROCESSES];
    unsigned int count = NVML_PROCESSES;
    memset(list, 0, sizeof list);
    int code = n->get_processes ? n->get_processes(handle, &count, list) : NVML_TOO_SMALL;
    if (code != NVML_OK)
        count = 0;
    d->processes = (int)(count < NVML_PROCESSES ? count : NVML_PROCESSES);
    for (int i = 0; i < d->processes; i++) {
        d->process[i].pid = (pid_t)list[i].pid;
        d->process[i].bytes = list[i].bytes == ~0ull ? 0 : list[i].bytes; /* all ones: not available */
    }
}

/* False when the device does not even have an id, so that nothing could be done with it. */
static bool read_device(struct nvml *n, nvml_handle handle, bool mig, struct nvml_device *d)
{
    struct nvml_memory memory = {0};
    *d = (struct nvml_device){.mig = mig};
    if (n->get_uuid(handle, d->id, NVML_ID) != NVML_OK || !d->id[0])
        return false;
    if (n->get_name(handle, d->name, NVML_ID) != NVML_OK)
        snprintf(d->name, sizeof d->name, "unknown");
    d->id[NVML_ID - 1] = d->name[NVML_ID - 1] = '\0';
    d->unknown = n->get_memory(handle, &memory) != NVML_OK;
    d->total = memory.total;
    d->used = memory.used;
    read_processes(n, handle, d);
    return true;
}

/* The parts of a GPU in MIG mode, appended; false when it is not in that mode. */
static bool read_parts(struct nvml *n, nvml_handle handle, int index, struct nvml_device **list, int *count)
{
    unsigned int current = 0, pending = 0, most = 0;
    char whole[NVML_ID] = "";
    if (!n->get_mig_mode || !n->get_mig_most || !n->get_mig || n->get_mig_mode(handle, &current, &pending) != NVML_OK ||
        !current)
        return false;
    if (n->get_mig_most(handle, &most) != NVML_OK)
        most = 0;
    if (n->get_uuid(handle, whole, NVML_ID) != NVML_OK)
        whole[0] = '\0';
    for (unsigned int i = 0; i < most && i < 64; i++) {
        nvml_handle part;
        if (n->get_mig(handle, i, &part) != NVML_OK)
            continue;
        *list = memory_resize(*list, (size_t)*count + 1, sizeof **list);
        struct nvml_device *d = &(*list)[*count];
        if (!read_device(n, part, true, d))
            continue;
        d->index = index;
        memcpy(d->whole, whole, sizeof whole);
        ++*count;
    }
    return true;
}

int nvml_devices(struct nvml *n, struct nvml_device **out, int *count, struct error *err)
{
    unsigned int gpus = 0;
    *out = NULL;
    *count = 0;
    int code = n->get_count(&gpus);
    if (code != NVML_OK)
        return error_set(err, STATUS_FAILED, "NVML cannot count the GPUs: %s", n->error_text(code));
    for (unsigned int i = 0; i < gpus; i++) {
        nvml_handle handle;
        if (n->get_handle(i, &handle) != NVML_OK) /* fallen off the bus, or not ours to use */
            continue;
        if (read_parts(n, handle, (int)i, out, count))
            continue;
        *out = memory_resize(*out, (size_t)*count + 1, sizeof **out);
        struct nvml_device *d = &(*out)[*count];
        if (!read_device(n, handle, false, d))
            continue;
        d->index = (int)i;
        ++*count;
    }
    return STATUS_OK;
}
