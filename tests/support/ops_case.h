/* One call of one op on stated shapes, run on any ops table and compared with the reference.
 *
 * A case lists the op's buffers in the order its call function takes them. ops_case_run puts each into backend memory
 * between guard zones: inputs get fixed random numbers, outputs that are set get NaN (what is left unset shows),
 * outputs that are added to get random numbers (what is set instead shows). After the call guards and inputs must be
 * unchanged. Host memory of a result belongs to the result. */
#ifndef TAPER_TESTS_SUPPORT_OPS_CASE_H
#define TAPER_TESTS_SUPPORT_OPS_CASE_H

#include "core/ops/ops.h"

enum { CASE_BUFFERS = 24, CASE_DIMS = 8 };
enum buffer_type { BUFFER_F32, BUFFER_F64, BUFFER_I32 };
enum buffer_use { BUFFER_IN, BUFFER_SET, BUFFER_ADD, BUFFER_INOUT };

struct case_buffer {
    const char *name;
    enum buffer_type type;
    enum buffer_use use;
    size_t count;       /* elements; 0: the op gets NULL */
    double center, std; /* random numbers: center + N(0, std^2) */
    int low, high;      /* BUFFER_I32: uniform on low..high-1 */
    double bound;       /* |got - want| / |want|, Euclidean norms over the buffer; one element may be off by
                           40 * bound * rms(want) */
};

struct op_case {
    const char *slot; /* as in struct ops */
    char name[200];
    struct case_buffer buffers[CASE_BUFFERS];
    int count;
    int dims[CASE_DIMS]; /* the builder's and the call's own */
    double reals[CASE_DIMS];
    int poison; /* buffer whose element poison_at becomes poison_value before the call; -1: none */
    size_t poison_at;
    float poison_value;

    /* Make inputs that depend on each other (a backward's, from its forward), in host memory. NULL: nothing to do. */
    void (*prepare)(const struct op_case *c, void *const *host);
    void (*call)(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p);
};

struct case_result {
    void *data[CASE_BUFFERS]; /* every buffer after the call, NULL where the count is 0 */
    char fault[300];          /* "" or what was wrong with guards or inputs */
};

/* Add a buffer; returns its index. Random N(0,1) and bound 1e-5 unless changed in place afterwards. */
int case_add(struct op_case *c, const char *name, enum buffer_type type, enum buffer_use use, size_t count);

/* Run a case. shift: floats by which every buffer is off its 64-byte alignment. */
void ops_case_run(const struct ops *ops, struct backend *be, const struct op_case *c, int shift,
                  struct case_result *result);
void case_result_free(const struct op_case *c, struct case_result *result);

/* "" when got agrees with want within the bounds times `slack`, else what differs, in a static buffer. NaN and
 * infinities must stand at the same places. */
const char *ops_case_compare(const struct op_case *c, const struct case_result *want, const struct case_result *got,
                             double slack);

/* All the cases of the table, one array on the heap (the caller frees it): each op on odd shapes and options. */
struct op_case *ops_cases(int *count);

/* A list that grows, for the builders. */
struct case_list {
    struct op_case *at;
    int count, room;
};

struct op_case *case_new(struct case_list *list, const char *slot, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One case each; attention's are two, forward and backward. */
struct head_options {
    bool gradients, stats, logits, bias;
    int lowest; /* targets are drawn from lowest..V-1: negative ones are left out */
    double spread;
};

void case_linear_forward(struct case_list *list, int N, int I, int O, int act, bool bias);
void case_linear_backward(struct case_list *list, int N, int I, int O, int act, bool bias, bool din);
void case_attention(struct case_list *list, int B, int T, int H, int D, struct rope rope);
void case_head(struct case_list *list, int N, int C, int V, struct head_options o);
/* pos_most: positions are drawn below it. */
void case_decode(struct case_list *list, int B, int H, int D, int S, int pos_most, struct rope rope);
void case_sample(struct case_list *list, int B, int V, double temperature, int top_k, double top_p);

void cases_embed(struct case_list *list);
void cases_norm(struct case_list *list);
void cases_linear(struct case_list *list);
void cases_attention(struct case_list *list);
void cases_head(struct case_list *list);
void cases_optimizer(struct case_list *list);
void cases_step(struct case_list *list);
void cases_decode(struct case_list *list);

#endif
