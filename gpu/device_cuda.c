#include "gpu/device_cuda.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { STAGING_HALF = 4 << 20, UUID_TEXT = 48 };

/* ------------------------------------------------------------------------------------------- faults */

void device_begin(struct device *d, const char *op)
{
    d->fault.op = op;
}

void device_fail_as(struct device *d, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fault_keep(&d->fault, status, format, args);
    va_end(args);
}

bool device_keep(struct device *d, const char *call, cudaError_t result)
{
    if (result == cudaSuccess)
        return true;
    /* the macro's text of the call is cut at its arguments */
    device_fail_as(d, result == cudaErrorMemoryAllocation ? STATUS_MEMORY : STATUS_FAILED, "%.*s: %s (%s)",
                   (int)strcspn(call, "("), call, cudaGetErrorString(result), cudaGetErrorName(result));
    return false;
}

void device_check(struct device *d)
{
    CUDA_TRY(d, cudaGetLastError());
}

bool device_failed(const struct device *d)
{
    return d->fault.text[0] != 0;
}

int device_take_fault(struct device *d, struct error *err)
{
    CUDA_TRY(d, cudaStreamSynchronize(d->stream));
    return fault_take(&d->fault, err);
}

/* ------------------------------------------------------------------------------------------ opening */

static void uuid_text(const struct cudaDeviceProp *p, char to[UUID_TEXT])
{
    const unsigned char *b = (const unsigned char *)p->uuid.bytes;
    snprintf(to, UUID_TEXT, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static int count_devices(int *count, struct error *err)
{
    cudaError_t result = cudaGetDeviceCount(count);
    int driver = 0;
    if (result == cudaErrorInsufficientDriver && (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0))
        return error_set(err, STATUS_FAILED, "no CUDA device: there is no NVIDIA driver on this machine");
    if (result == cudaErrorInsufficientDriver)
        return error_set(err, STATUS_FAILED,
                         "no CUDA device: the driver is for CUDA %d.%d at most, this library needs %d.%d",
                         driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (result != cudaSuccess)
        return error_set(err, STATUS_FAILED, "no CUDA device: %s (%s)", cudaGetErrorString(result),
                         cudaGetErrorName(result));
    return *count > 0 ? STATUS_OK : error_set(err, STATUS_FAILED, "no CUDA device is visible");
}

/* The index of a UUID among the visible devices; "GPU-" and "MIG-" stand for the same 16 bytes. */
static int find_device(const char *uuid, int *index, struct error *err)
{
    int count;
    int status = count_devices(&count, err);
    *index = 0;
    if (status || !uuid)
        return status;
    char seen[512] = "";
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp p;
        char text[UUID_TEXT];
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess)
            continue;
        uuid_text(&p, text);
        if (strlen(uuid) > 4 && strcasecmp(uuid + 4, text + 4) == 0) {
            *index = i;
            return STATUS_OK;
        }
        size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, "%s%s", used ? ", " : "", text);
    }
    return error_set(err, STATUS_FAILED, "no device %s is visible; there are %s", uuid, seen);
}

static void open_parts(struct device *d)
{
    const char *backward = getenv("TAPER_GPU_ATTENTION_BACKWARD"), *epilogues = getenv("TAPER_GPU_EPILOGUES");
    d->deterministic = !backward || strcmp(backward, "atomic") != 0;
    d->fuse = !epilogues || strcmp(epilogues, "none") != 0;
    if (!CUDA_TRY(d, cudaSetDevice(d->index)) ||
        !CUDA_TRY(d, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking)) ||
        !CUDA_TRY(d, cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking)) ||
        !CUDA_TRY(d, cudaMallocHost((void **)&d->staging.memory, 2 * (size_t)STAGING_HALF)))
        return;
    for (int i = 0; i < 2; i++)
        if (!CUDA_TRY(d, cudaEventCreateWithFlags(&d->staging.sent[i], cudaEventDisableTiming)))
            return;
    cublasStatus_t status = cublasLtCreate(&d->blas);
    if (status != CUBLAS_STATUS_SUCCESS)
        device_fail(d, "cublasLtCreate: %s", cublasLtGetStatusString(status));
}

int device_open(struct device **out, const char *uuid, struct error *err)
{
    int index, status = find_device(uuid, &index, err);
    if (status)
        return status;
    struct device *d = memory_alloc(1, sizeof *d);
    d->index = index;
    d->fault.op = "open";
    open_parts(d);
    if (device_failed(d)) {
        status = fault_take(&d->fault, err);
        device_close(d);
        return status;
    }
    *out = d;
    return STATUS_OK;
}

void device_close(struct device *d)
{
    if (!d)
        return;
    if (d->stream)
        cudaStreamSynchronize(d->stream);
    if (d->copies)
        cudaStreamSynchronize(d->copies);
    plans_free(d);
    products_free(d);
    if (d->blas)
        cublasLtDestroy(d->blas);
    for (int i = 0; i < d->memory_count; i++)
        cudaFree(d->memory[i]);
    for (int i = 0; i < 2; i++)
        if (d->staging.sent[i])
            cudaEventDestroy(d->staging.sent[i]);
    for (int i = 0; i < d->event_count; i++)
        cudaEventDestroy(d->events[i]);
    for (int i = 0; i < d->host_count; i++)
        cudaFreeHost(d->host_memory[i]);
    cudaFreeHost(d->staging.memory);
    if (d->copies)
        cudaStreamDestroy(d->copies);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    free(d->memory);
    free(d);
}

void *device_stream(struct device *d)
{
    return d->stream;
}

/* ------------------------------------------------------------------------------------------- memory */

void *device_allocate(struct device *d, size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        cudaGetLastError(); /* not an error of what comes next */
        return NULL;
    }
    if (d->memory_count == d->memory_room) {
        d->memory_room = d->memory_room ? 2 * d->memory_room : 32;
        d->memory = memory_resize(d->memory, (size_t)d->memory_room, sizeof *d->memory);
    }
    d->memory[d->memory_count++] = memory;
    CUDA_TRY(d, cudaMemsetAsync(memory, 0, bytes, d->stream));
    return memory;
}

void device_release(struct device *d, void *memory)
{
    for (int i = 0; memory && i < d->memory_count; i++)
        if (d->memory[i] == memory) {
            d->memory[i] = d->memory[--d->memory_count];
            CUDA_TRY(d, cudaStreamSynchronize(d->stream));
            CUDA_TRY(d, cudaFree(memory));
            return;
        }
}

void device_memory(struct device *d, size_t *free_bytes, size_t *total_bytes)
{
    if (cudaMemGetInfo(free_bytes, total_bytes) != cudaSuccess) {
        device_check(d);
        *free_bytes = *total_bytes = 0;
    }
}

/* Room for bytes in the staging memory, at most STAGING_HALF. */
static char *stage(struct device *d, size_t bytes)
{
    struct staging *s = &d->staging;
    if (s->used + bytes > STAGING_HALF) {
        CUDA_TRY(d, cudaEventRecord(s->sent[s->half], d->stream));
        s->pending[s->half] = true;
        s->half ^= 1;
        s->used = 0;
        if (s->pending[s->half])
            CUDA_TRY(d, cudaEventSynchronize(s->sent[s->half]));
        s->pending[s->half] = false;
    }
    char *at = s->memory + (size_t)s->half * STAGING_HALF + s->used;
    s->used += (bytes + 63) / 64 * 64;
    return at;
}

/* The staging memory is filled by the host: what a recording would read from it later is something else. */
static bool may_move(struct device *d, const char *what)
{
    if (d->capturing)
        device_fail(d, "%s while recording", what);
    return !device_failed(d);
}

void device_upload(struct device *d, void *to, const void *from, size_t bytes)
{
    if (!may_move(d, "an upload"))
        return;
    if (bytes > STAGING_HALF) { /* parameters at the start */
        CUDA_TRY(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream));
        CUDA_TRY(d, cudaStreamSynchronize(d->stream));
        return;
    }
    char *staged = stage(d, bytes);
    memcpy(staged, from, bytes);
    CUDA_TRY(d, cudaMemcpyAsync(to, staged, bytes, cudaMemcpyHostToDevice, d->stream));
}

void device_download(struct device *d, void *to, const void *from, size_t bytes)
{
    if (may_move(d, "a download")) {
        CUDA_TRY(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream));
        CUDA_TRY(d, cudaStreamSynchronize(d->stream));
    }
    if (device_failed(d))
        memset(to, 0, bytes);
}

void device_copy(struct device *d, void *to, const void *from, size_t bytes)
{
    if (!device_failed(d))
        CUDA_TRY(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, d->stream));
}

void device_zero(struct device *d, void *memory, size_t bytes)
{
    if (!device_failed(d))
        CUDA_TRY(d, cudaMemsetAsync(memory, 0, bytes, d->stream));
}

/* ------------------------------------------------------------------------------------------- copies */

static cudaStream_t stream_of(const struct device *d, enum device_queue queue)
{
    return queue == QUEUE_COPY ? d->copies : d->stream;
}

struct device_event *device_event_create(struct device *d)
{
    cudaEvent_t event;
    if (d->event_count == EVENTS_MOST)
        device_fail(d, "more than %d events", EVENTS_MOST);
    if (device_failed(d) || !CUDA_TRY(d, cudaEventCreateWithFlags(&event, cudaEventDisableTiming)))
        return NULL;
    d->events[d->event_count++] = event;
    return (struct device_event *)event;
}

void device_event_record(struct device *d, struct device_event *event, enum device_queue queue)
{
    if (may_move(d, "an event"))
        CUDA_TRY(d, cudaEventRecord((cudaEvent_t)event, stream_of(d, queue)));
}

void device_event_wait(struct device *d, struct device_event *event, enum device_queue queue)
{
    if (may_move(d, "a wait for an event"))
        CUDA_TRY(d, cudaStreamWaitEvent(stream_of(d, queue), (cudaEvent_t)event, 0));
}

void device_event_synchronize(struct device *d, struct device_event *event)
{
    if (may_move(d, "a wait for an event"))
        CUDA_TRY(d, cudaEventSynchronize((cudaEvent_t)event));
}

void *device_allocate_host(struct device *d, size_t bytes)
{
    void *memory = NULL;
    if (d->host_count == EVENTS_MOST || cudaMallocHost(&memory, bytes) != cudaSuccess) {
        cudaGetLastError(); /* not an error of what comes next */
        return NULL;
    }
    d->host_memory[d->host_count++] = memory;
    return memory;
}

void device_send(struct device *d, void *to, const void *from, size_t bytes)
{
    if (may_move(d, "a copy ahead"))
        CUDA_TRY(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->copies));
}

/* ------------------------------------------------------------------------------------------- graphs */

void device_capture_begin(struct device *d)
{
    d->capturing = CUDA_TRY(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
}

struct device_graph *device_capture_end(struct device *d)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    if (!d->capturing)
        return NULL;
    d->capturing = false;
    if (CUDA_TRY(d, cudaStreamEndCapture(d->stream, &graph)) && !device_failed(d))
        CUDA_TRY(d, cudaGraphInstantiate(&ready, graph, 0));
    if (graph)
        cudaGraphDestroy(graph);
    return (struct device_graph *)ready;
}

void device_graph_launch(struct device *d, struct device_graph *graph)
{
    if (!device_failed(d))
        CUDA_TRY(d, cudaGraphLaunch((cudaGraphExec_t)graph, d->stream));
}

void device_graph_free(struct device *d, struct device_graph *graph)
{
    if (!graph)
        return;
    CUDA_TRY(d, cudaStreamSynchronize(d->stream));
    CUDA_TRY(d, cudaGraphExecDestroy((cudaGraphExec_t)graph));
}

/* --------------------------------------------------------------------------------------- the library */

int gpu_list_devices(struct gpu_device *out, int room, int *count, struct error *err)
{
    int all, current = 0, status = count_devices(&all, err);
    *count = 0;
    if (!status)
        cudaGetDevice(&current);
    for (int i = 0; !status && i < all && *count < room; i++) {
        struct gpu_device *g = &out[*count];
        struct cudaDeviceProp p;
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess || cudaSetDevice(i) != cudaSuccess)
            continue;
        *g = (struct gpu_device){.major = p.major, .minor = p.minor, .multiprocessors = p.multiProcessorCount};
        snprintf(g->name, sizeof g->name, "%.127s", p.name);
        uuid_text(&p, g->uuid);
        if (cudaMemGetInfo(&g->free_bytes, &g->total_bytes) != cudaSuccess)
            g->total_bytes = p.totalGlobalMem;
        ++*count;
    }
    if (!status)
        cudaSetDevice(current);
    return status;
}
