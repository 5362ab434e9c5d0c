/* The attention graphs, node by node on the CPU, against the plain reference: the very table cuDNN is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_attention(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/base/memory.h"
#include "core/ref/ref.h"
#include "core/base/rng.h"
#include "tests/gpu/interpret.h"

/* fp32 in place of bf16 throughout, so that only what is computed can differ. */
static const double bound = 2e-6;

struct tensors {
    float *qkv, *out, *lse, *dout, *dqkv, *sum, *dq_sum;
    size_t count, rows; /* B T C, B H T */
};

static void fill(float *to, size_t count, uint64_t use)
{
    const struct rng_stream stream = {.seed = 3, .use = RNG_TEST, .second = use};
    rng_normal_fill(&stream, to, count, 1);
}

static void tensors_make(struct tensors *t, const struct attention_shape *s)
{
    t->rows = (size_t)s->B * s->H * s->T;
    t->count = t->rows * s->D;
    t->qkv = memory_alloc(3 * t->count, sizeof(float));
    t->dqkv = memory_alloc(3 * t->count, sizeof(float));
    t->out = memory_alloc(t->count, sizeof(float));
    t->dout = memory_alloc(t->count, sizeof(float));
    t->dq_sum = memory_alloc(t->count, sizeof(float));
    t->lse = memory_alloc(t->rows, sizeof(float));
    t->sum = memory_alloc(t->rows, sizeof(float));
    fill(t->qkv, 3 * t->count, 1);
    fill(t->dout, t->count, 2);
}

static void tensors_free(struct tensors *t)
{
    float *all[] = {t->qkv, t->out, t->lse, t->dout, t->dqkv, t->sum, t->dq_sum};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static const char *run(struct attention_graph *g, const struct tensors *t, const struct attention_shape *s)
{
    const size_t C = (size_t)s->H * s->D;
    for (int i = 0; i < g->tensor_count; i++)
        if (g->tensors[i].type == GRAPH_BF16)
            g->tensors[i].type = GRAPH_F32;
    return interpret(g, (void *[ATTENTION_TENSORS]){[ATTENTION_Q] = t->qkv,
                                                    [ATTENTION_K] = t->qkv + C,
                                                    [ATTENTION_V] = t->qkv + 2 * C,
                                                    [ATTENTION_OUT] = t->out,
                                                    [ATTENTION_LSE] = t->lse,
                                                    [ATTENTION_DOUT] = t->dout,
                                                    [ATTENTION_DQ] = t->dqkv,
                                                    [ATTENTION_DK] = t->dqkv + C,
                                                    [ATTENTION_DV] = t->dqkv + 2 * C,
                                                    [ATTENTION_SUM] = t->sum,
                                                    [ATTENTION_DQ_SUM] = t->dq_sum});
}

static double difference(const float *a, const float *b, size_t count)
{
    double size = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        size += (double)a[i] * a[i];
        off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    }
    return sqrt(off / size);
}

/* How far a forward graph is from the reference; NaN counts as far. */
static double forward_error(struct attention_graph *g, const struct attention_shape *s)
{
    struct tensors want, got;
    tensors_make(&want, s);
    tensors_make(&got, s);
    ref_attention_forward(
        NULL, &(struct attention_forward){
                  .qkv = want.qkv, .out = want.out, .lse = want.lse, .B = s->B, .T = s->T, .H = s->H, .D = s->D});
    const char *fault = run(g, &got, s);
    double error =
        fault ? INFINITY : fmax(difference(want.out, got.out, want.count), difference(want.lse, got.lse, want.rows));
    tensors_free(&want);
    tensors_free(&got);
    return isnan(error) ? INFINITY : error;
}

static double backward_error(struct attention_graph *g, const struct attention_shape *s)
{
    struct tensors want, got;
    tensors_make(&want, s);
    tensors_make(&got, s);
    struct attention_forward forward = {
        .qkv = want.qkv, .out = want.out, .lse = want.lse, .B = s->B, .T = s->T, .H = s->H, .D = s->D};
    ref_attention_forward(NULL, &forward);
    memcpy(got.out, want.out, want.count * sizeof(float));
    memcpy(got.lse, want.lse, want.rows * sizeof(float));
    ref_attention_backward(NULL, &(struct attention_backward){.qkv = want.qkv,
                                                              .out = want.out,
                                                              .lse = want.lse,
                                                              .dout = want.dout,
                                                              .dqkv = want.dqkv,
                                                              .B = s->B,
                                                              .T = s->T,
                                                              .H = s->H,
                                                              .D = s->D});
    const char *fault = run(g, &got, s);
    double error = fault ? INFINITY : difference(want.dqkv, got.dqkv, 3 * want.count);
    tensors_free(&want);
    tensors_free(&got);
    return isnan(error) ? INFINITY : error;
}

static const struct attention_shape shapes[] = {{1, 1, 1, 8}, {2, 9, 3, 8}, {1, 33, 2, 16}, {3, 7, 1, 24}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void test_forward(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct attention_graph g;
        attention_graph_forward(&g, &shapes[i]);
        assert_true(forward_error(&g, &shapes[i]) < bound);
    }
}

static void test_backward(void **state)
{
    (void)state;
    for (int i = 1; i < SHAPES; i++) /* with one token there are no gradients of scores to compare */
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            struct attention_graph g;
            attention_graph_backward(&g, &shapes[i], deterministic);
            assert_true(backward_error(&g, &shapes[i]) < bound);
        }
}

/* Mistakes that cuDNN would accept are seen: a mask the wrong way round, a stride of another layout, an operand of
 * another node. */
static void test_wrong_graphs_are_seen(void **state)
{
    (void)state;
    const struct attention_shape *s = &shapes[1];
    struct attention_graph g;
    int mistakes = 0;
    for (int i = 0; i < GRAPH_NODES; i++) {
        attention_graph_forward(&g, s);
        if (i >= g.node_count || g.nodes[i].op != GRAPH_AT_LEAST)
            continue;
        int x = g.nodes[i].x;
        g.nodes[i].x = g.nodes[i].b;
        g.nodes[i].b = x;
        assert_true(forward_error(&g, s) > 0.01);
        mistakes++;
    }
    attention_graph_forward(&g, s);
    g.tensors[0].stride[1] *= 3; /* q's heads three times as far apart; still inside the tensor */
    g.tensors[0].dim[0] = 1;
    assert_true(forward_error(&g, s) > 0.01);
    attention_graph_backward(&g, s, true);
    g.nodes[g.node_count - 1].x = g.nodes[g.node_count - 1].b;
    assert_true(backward_error(&g, s) > 0.01);
    assert_int_equal(mistakes, 1);
}

static void test_supported_widths(void **state)
{
    (void)state;
    assert_true(attention_graph_supports(8) && attention_graph_supports(32) && attention_graph_supports(128));
    assert_false(attention_graph_supports(4) || attention_graph_supports(33) || attention_graph_supports(136));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_wrong_graphs_are_seen),
        cmocka_unit_test(test_supported_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
