#include "tests/gpu/sim_device.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

extern "C" {
#include "core/cpu/gemm.h"
#include "gpu/device.h"
#include "gpu/fault.h"
}
#include "tests/gpu/interpret.h"

typedef std::vector<std::function<void()>> work_list;

struct device_graph {
    work_list work;
};

/* Records are numbered: a wait is for the last one that was enqueued before it. */
struct device_event {
    long recorded, reached;
    device_queue queue; /* of the last record */
};

/* A thing to do, or an event to record (number in `record`) or to wait for (in `wait`). */
struct queued {
    std::function<void()> work;
    device_event *event;
    long record, wait;
};

struct attention_plan {
    struct attention_graph graph;
    size_t workspace;
};

struct device {
    struct fault fault;
    std::deque<queued> queues[QUEUES];
    work_list recorded;
    bool capturing;
    int waiting; /* queues that stand at an event while another one moves */
    std::vector<std::unique_ptr<device_event>> events;
    std::vector<void *> host_memory;
    std::map<void *, size_t> memory;
    size_t used, most;
    std::map<std::vector<int>, std::unique_ptr<attention_plan>> plans;
};

static size_t memory_most, memory_peak;
static long launches;
static long fused_products;
static bool early_copies, epilogues = true;

extern "C" void sim_set_memory(size_t bytes)
{
    memory_most = bytes;
}

extern "C" size_t sim_memory_peak(void)
{
    size_t peak = memory_peak;
    memory_peak = 0;
    return peak;
}

extern "C" long sim_graph_launches(void)
{
    return launches;
}

extern "C" void sim_set_epilogues(bool there)
{
    epilogues = there;
}

extern "C" long sim_fused_products(void)
{
    return fused_products;
}

extern "C" void sim_set_early_copies(bool early)
{
    early_copies = early;
}

static void advance(device *d, device_queue queue, const device_event *until, long number);
static void copy_early(device *d);

/* The first thing of a queue; false when it waits for what is not to be demanded. */
static bool advance_one(device *d, device_queue queue, bool demand)
{
    queued first = d->queues[queue].front();
    if (first.wait && first.event->reached < first.wait) {
        if (!demand)
            return false;
        d->waiting++;
        advance(d, first.event->queue, first.event, first.wait);
        d->waiting--;
    }
    d->queues[queue].pop_front();
    if (first.record)
        first.event->reached = first.record;
    if (first.work)
        first.work();
    return true;
}

/* Up to a record of an event, or to the end. */
static void advance(device *d, device_queue queue, const device_event *until, long number)
{
    while (!d->queues[queue].empty() && (!until || until->reached < number)) {
        advance_one(d, queue, true);
        copy_early(d);
    }
}

static void copy_early(device *d)
{
    while (early_copies && !d->waiting && !d->queues[QUEUE_COPY].empty() && advance_one(d, QUEUE_COPY, false)) {
    }
}

static void enqueue(device *d, device_queue queue, queued what)
{
    if (d->fault.text[0])
        return;
    d->queues[queue].push_back(std::move(what));
    copy_early(d);
}

void sim_enqueue(void *stream, std::function<void()> work)
{
    device *d = (device *)stream;
    if (d->fault.text[0])
        return;
    if (d->capturing)
        d->recorded.push_back(std::move(work));
    else
        enqueue(d, QUEUE_WORK, {std::move(work), nullptr, 0, 0});
}

static void flush(device *d)
{
    advance(d, QUEUE_WORK, nullptr, 0);
}

/* ----------------------------------------------------------------------------------------- lifecycle */

extern "C" int device_open(struct device **out, const char *uuid, struct error *err)
{
    if (uuid && strcmp(uuid, "SIM") != 0)
        return error_set(err, STATUS_BAD_INPUT, "no device %s", uuid);
    gemm_setup();
    *out = new device();
    (*out)->most = memory_most ? memory_most : SIZE_MAX;
    return STATUS_OK;
}

extern "C" void device_close(struct device *d)
{
    if (!d)
        return;
    flush(d);
    advance(d, QUEUE_COPY, nullptr, 0);
    for (const auto &m : d->memory)
        free(m.first);
    for (void *m : d->host_memory)
        free(m);
    delete d;
}

extern "C" void *device_stream(struct device *d)
{
    return d;
}

extern "C" void device_begin(struct device *d, const char *op)
{
    d->fault.op = op;
}

extern "C" void device_fail_as(struct device *d, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fault_keep(&d->fault, status, format, args);
    va_end(args);
}

extern "C" void device_check(struct device *)
{
}

extern "C" bool device_failed(const struct device *d)
{
    return d->fault.text[0] != 0;
}

extern "C" int device_take_fault(struct device *d, struct error *err)
{
    flush(d);
    return fault_take(&d->fault, err);
}

/* -------------------------------------------------------------------------------------------- memory */

extern "C" void *device_allocate(struct device *d, size_t bytes)
{
    void *memory = nullptr;
    if (d->capturing || bytes > d->most - d->used || posix_memalign(&memory, 256, bytes))
        return nullptr;
    memset(memory, 0xa5, bytes);
    sim_enqueue(d, [=] { memset(memory, 0, bytes); });
    d->memory[memory] = bytes;
    d->used += bytes;
    memory_peak = d->used > memory_peak ? d->used : memory_peak;
    return memory;
}

extern "C" void device_release(struct device *d, void *memory)
{
    auto found = d->memory.find(memory);
    flush(d);
    if (found == d->memory.end())
        return;
    d->used -= found->second;
    free(memory);
    d->memory.erase(found);
}

extern "C" void device_memory(struct device *d, size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = d->most - d->used;
    *total_bytes = d->most;
}

static bool not_recording(struct device *d, const char *what)
{
    if (d->capturing)
        device_fail(d, "%s while recording", what);
    return !d->capturing;
}

extern "C" void device_upload(struct device *d, void *to, const void *from, size_t bytes)
{
    auto copy = std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
    if (not_recording(d, "an upload"))
        sim_enqueue(d, [=] { memcpy(to, copy->data(), copy->size()); });
}

extern "C" void device_download(struct device *d, void *to, const void *from, size_t bytes)
{
    if (!not_recording(d, "a download"))
        return;
    flush(d);
    if (!device_failed(d))
        memcpy(to, from, bytes);
    else
        memset(to, 0, bytes);
}

extern "C" void device_copy(struct device *d, void *to, const void *from, size_t bytes)
{
    sim_enqueue(d, [=] { memmove(to, from, bytes); });
}

extern "C" void device_zero(struct device *d, void *memory, size_t bytes)
{
    sim_enqueue(d, [=] { memset(memory, 0, bytes); });
}

/* -------------------------------------------------------------------------------------------- copies */

extern "C" struct device_event *device_event_create(struct device *d)
{
    d->events.emplace_back(new device_event());
    return d->events.back().get();
}

extern "C" void device_event_record(struct device *d, struct device_event *event, enum device_queue queue)
{
    if (!not_recording(d, "an event"))
        return;
    event->queue = queue;
    enqueue(d, queue, {nullptr, event, ++event->recorded, 0});
}

extern "C" void device_event_wait(struct device *d, struct device_event *event, enum device_queue queue)
{
    if (not_recording(d, "a wait for an event"))
        enqueue(d, queue, {nullptr, event, 0, event->recorded});
}

extern "C" void device_event_synchronize(struct device *d, struct device_event *event)
{
    if (not_recording(d, "a wait for an event"))
        advance(d, event->queue, event, event->recorded);
}

extern "C" void *device_allocate_host(struct device *d, size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory)
        d->host_memory.push_back(memory);
    return memory;
}

extern "C" void device_send(struct device *d, void *to, const void *from, size_t bytes)
{
    if (not_recording(d, "a copy ahead"))
        enqueue(d, QUEUE_COPY, {[=] { memcpy(to, from, bytes); }, nullptr, 0, 0});
}

/* -------------------------------------------------------------------------------------------- graphs */

extern "C" void device_capture_begin(struct device *d)
{
    d->capturing = true;
}

extern "C" struct device_graph *device_capture_end(struct device *d)
{
    d->capturing = false;
    device_graph *graph = device_failed(d) ? nullptr : new device_graph{d->recorded};
    d->recorded.clear();
    return graph;
}

extern "C" void device_graph_launch(struct device *d, struct device_graph *graph)
{
    launches++;
    for (const auto &work : graph->work)
        sim_enqueue(d, work);
}

extern "C" void device_graph_free(struct device *d, struct device_graph *graph)
{
    (void)d;
    delete graph;
}

/* ----------------------------------------------------------------------------------- matrix products */

static float from_half(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t to_half(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* rows x columns of a matrix as dense fp32. */
static std::vector<float> full(const void *p, int rows, int columns, int ld, bool half)
{
    std::vector<float> to((size_t)rows * columns);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++) {
            size_t at = (size_t)i * ld + k;
            to[(size_t)i * columns + k] = half ? from_half(((const uint16_t *)p)[at]) : ((const float *)p)[at];
        }
    return to;
}

static float read_at(const void *p, size_t at, bool half)
{
    return half ? from_half(((const uint16_t *)p)[at]) : ((const float *)p)[at];
}

static void write_at(void *p, size_t at, bool half, float x)
{
    if (half)
        ((uint16_t *)p)[at] = to_half(x);
    else
        ((float *)p)[at] = x;
}

/* GELU's tanh form, and its slope, by the definition: z/2 (1 + tanh u), u = sqrt(2/pi) (z + 0.044715 z^3). */
static double tanh_gelu(double z, bool slope)
{
    const double root = sqrt(2 / M_PI), cubic = 0.044715;
    double t = tanh(root * (z + cubic * z * z * z)), within = root * (1 + 3 * cubic * z * z);
    return slope ? 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * within : 0.5 * z * (1 + t);
}

/* One element of a product on its way to memory. */
static void write_product(const struct gemm &g, int i, int j, float x)
{
    size_t at = (size_t)i * g.ldd + j, aux_at = (size_t)i * g.n + j;
    if (g.bias)
        x += read_at(g.bias, j, g.half_out);
    if (g.accumulate)
        x += read_at(g.d, at, g.half_out);
    if (g.epilogue == EPILOGUE_GELU) {
        write_at(g.aux, aux_at, g.half_out, x);
        x = (float)tanh_gelu(x, false);
    }
    if (g.epilogue == EPILOGUE_GELU_SLOPE)
        x *= (float)tanh_gelu(read_at(g.aux, aux_at, g.half_out), true);
    write_at(g.d, at, g.half_out, x);
}

static void run_gemm(const struct gemm &g)
{
    std::vector<float> a =
        g.a_transposed ? full(g.a, g.k, g.m, g.lda, g.half_in) : full(g.a, g.m, g.k, g.lda, g.half_in);
    std::vector<float> b =
        g.b_transposed ? full(g.b, g.n, g.k, g.ldb, g.half_in) : full(g.b, g.k, g.n, g.ldb, g.half_in);
    std::vector<float> c((size_t)g.m * g.n);
    if (g.a_transposed)
        gemm_tn(g.m, g.n, g.k, a.data(), g.m, b.data(), g.n, 0, c.data(), g.n);
    else if (g.b_transposed)
        gemm_nt(g.m, g.n, g.k, a.data(), g.k, b.data(), g.k, 0, c.data(), g.n);
    else
        gemm_nn(g.m, g.n, g.k, a.data(), g.k, b.data(), g.n, 0, c.data(), g.n);
    for (int i = 0; i < g.m; i++)
        for (int j = 0; j < g.n; j++)
            write_product(g, i, j, c[(size_t)i * g.n + j]);
    for (int i = 0; g.epilogue == EPILOGUE_OPERAND_SUMS && i < g.m; i++) {
        double sum = 0;
        for (int l = 0; l < g.k; l++)
            sum += a[g.a_transposed ? (size_t)l * g.m + i : (size_t)i * g.k + l];
        g.sums[i] = (float)sum;
    }
}

/* What cuBLASLt asks of an epilogue's memory is asked for here too. */
extern "C" bool device_gemm_fuses(struct device *, const struct gemm *g)
{
    return epilogues && g->n % 8 == 0 && (uintptr_t)g->aux % 16 == 0;
}

extern "C" void device_gemm(struct device *d, const struct gemm *g)
{
    struct gemm copy = *g;
    if (g->a_transposed && g->b_transposed)
        device_fail(d, "a product of two transposed matrices");
    if (g->epilogue != EPILOGUE_NONE && !device_gemm_fuses(d, g))
        device_fail(d, "there is no such product");
    fused_products += g->epilogue != EPILOGUE_NONE;
    sim_enqueue(d, [=] { run_gemm(copy); });
}

/* ----------------------------------------------------------------------------------------- attention */

extern "C" struct attention_plan *device_attention_plan(struct device *d, const struct attention_shape *s,
                                                        bool backward)
{
    std::unique_ptr<attention_plan> &plan = d->plans[{s->B, s->T, s->H, s->D, backward}];
    if (!plan) {
        if (!not_recording(d, "a plan made"))
            return nullptr;
        plan.reset(new attention_plan());
        if (backward)
            attention_graph_backward(&plan->graph, s, true);
        else
            attention_graph_forward(&plan->graph, s);
        /* what cuDNN wants for dq by a product */
        plan->workspace = backward ? 2 * (size_t)s->B * (size_t)s->H * (size_t)s->T * (size_t)s->T : 0;
    }
    return plan.get();
}

extern "C" size_t device_attention_workspace(const struct attention_plan *plan)
{
    return plan->workspace;
}

extern "C" void device_attention_run(struct device *d, struct attention_plan *plan,
                                     void *const memory[ATTENTION_TENSORS], void *)
{
    std::vector<void *> tensors(memory, memory + ATTENTION_TENSORS);
    sim_enqueue(d, [=] {
        const char *fault = interpret(&plan->graph, tensors.data());
        if (fault)
            device_fail(d, "attention: %s", fault);
    });
}
