/* The device as the backend sees it: memory, a stream of work and one of copies, graphs, matrix products, cuDNN's
 * attention.
 *
 * device_cuda.c and its neighbours implement it with CUDA; the tests link an implementation in host memory instead, so
 * that the backend's code runs without a GPU. Calls enqueue on the stream and return nothing: the first failure is kept
 * with the name of the call and of the op it happened in, later work is skipped, and device_take_fault hands it over.
 * A device belongs to one thread. */
#ifndef TAPER_GPU_DEVICE_H
#define TAPER_GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "gpu/attention_graph.h"

struct device;
struct device_graph;   /* a recording */
struct attention_plan; /* owned by the device */
struct device_event;   /* owned by the device */

/* The GPU of a UUID ("GPU-..." or "MIG-..."), NULL for the first visible one. STATUS_FAILED says what is missing. */
int device_open(struct device **out, const char *uuid, struct error *err);
void device_close(struct device *d); /* releases what is left; NULL is fine */

/* The stream, as the kernels' launchers take it. */
void *device_stream(struct device *d);

/* Name the op that the following calls serve; a string that stays. */
void device_begin(struct device *d, const char *op);

/* Keep the first failure, with what it is (STATUS_FAILED, or STATUS_MEMORY when there is none left). device_check keeps
 * the failed launch of a kernel, if there was one. */
void device_fail_as(struct device *d, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define device_fail(d, ...) device_fail_as(d, STATUS_FAILED, __VA_ARGS__)
void device_check(struct device *d);
bool device_failed(const struct device *d);

/* Wait for the stream; report and clear the failure that was kept. */
int device_take_fault(struct device *d, struct error *err);

/* Memory, zeroed by the stream of work, aligned to 256 bytes, NULL (and no failure kept) when there is not enough. Not
 * while capturing. */
void *device_allocate(struct device *d, size_t bytes);
void device_release(struct device *d, void *memory); /* waits for the stream; NULL is fine */
void device_memory(struct device *d, size_t *free_bytes, size_t *total_bytes);

/* upload: from may be reused at once. download: waits. */
void device_upload(struct device *d, void *to, const void *from, size_t bytes);
void device_download(struct device *d, void *to, const void *from, size_t bytes);
void device_copy(struct device *d, void *to, const void *from, size_t bytes);
void device_zero(struct device *d, void *memory, size_t bytes);

/* Copies ahead of the work, on a stream of their own. Between the streams only events order anything. Not while
 * recording. */
enum device_queue { QUEUE_WORK, QUEUE_COPY, QUEUES };

struct device_event *device_event_create(struct device *d); /* NULL after a failure */
void device_event_record(struct device *d, struct device_event *event, enum device_queue queue);
/* What is enqueued on the queue from here on begins after all that preceded the event's last record, if there was one.
 */
void device_event_wait(struct device *d, struct device_event *event, enum device_queue queue);
/* The caller waits for the event's last record, if there was one. */
void device_event_synchronize(struct device *d, struct device_event *event);

/* Page-locked host memory, the device's; NULL (and no failure kept) when there is not enough. */
void *device_allocate_host(struct device *d, size_t bytes);
/* From page-locked memory, which must stay as it is until then, on QUEUE_COPY. */
void device_send(struct device *d, void *to, const void *from, size_t bytes);

/* Record what is enqueued between begin and end instead of running it; end gives NULL after a failure. */
void device_capture_begin(struct device *d);
struct device_graph *device_capture_end(struct device *d);
void device_graph_launch(struct device *d, struct device_graph *graph);
void device_graph_free(struct device *d, struct device_graph *graph); /* NULL is fine */

/* What a product does besides, on its way to memory. */
enum gemm_epilogue {
    EPILOGUE_NONE,
    EPILOGUE_GELU,         /* d = gelu(product + bias), the tanh form; aux = what goes into it */
    EPILOGUE_GELU_SLOPE,   /* d = product * gelu'(aux), the tanh form */
    EPILOGUE_OPERAND_SUMS, /* sums = what op(a) sums up to over k */
};

/* d [m,n] = op(a) op(b) (+ d when accumulating) (+ bias), row-major, fp32 accumulation. */
struct gemm {
    const void *a, *b;
    void *d;
    int m, n, k;
    bool a_transposed; /* a is [k,m], else [m,k] */
    bool b_transposed; /* b is [n,k], else [k,n] */
    int lda, ldb, ldd; /* elements between rows as stored */
    bool half_in;      /* a and b are bf16, else fp32 */
    bool half_out;     /* d is bf16, else fp32 */
    bool accumulate;
    const void *bias; /* [n] of d's type, added to every row; NULL: none */
    enum gemm_epilogue epilogue;
    void *aux;   /* [m,n] of d's type, row stride n: set by EPILOGUE_GELU, read by EPILOGUE_GELU_SLOPE */
    float *sums; /* [m] set by EPILOGUE_OPERAND_SUMS, for fp32 d */
};

void device_gemm(struct device *d, const struct gemm *g);

/* Has the device this product with its epilogue in one? If not, device_gemm of it is a failure. */
bool device_gemm_fuses(struct device *d, const struct gemm *g);

/* A plan for a supported shape (attention_graph_supports), made once and kept; not while capturing for the first time.
 * NULL after a failure. */
struct attention_plan *device_attention_plan(struct device *d, const struct attention_shape *shape, bool backward);
size_t device_attention_workspace(const struct attention_plan *plan);

/* memory: by enum attention_tensor, what the graph names; NULL for the rest. The scalars are the plan's own. */
void device_attention_run(struct device *d, struct attention_plan *plan, void *const memory[ATTENTION_TENSORS],
                          void *workspace);

#endif
