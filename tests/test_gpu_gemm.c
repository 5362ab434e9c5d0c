/* Products that do more on their way to memory: the simulated device's against what they stand for, and the linear ops
 * in bf16 with them and without, against the plain reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_gemm(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_gemm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "gpu/backend.h"
#include "tests/gpu/sim_device.h"

/* fp32 values that bf16 holds exactly, so that the operands are the same for everybody. */
static void fill(float *x, size_t count, uint64_t use, double std)
{
    const struct rng_stream stream = {.seed = 3, .use = RNG_TEST, .second = use};
    rng_normal_fill(&stream, x, count, std);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0xffff0000u;
        memcpy(&x[i], &bits, sizeof bits);
    }
}

/* One linear layer, forward and backward; everything in backend memory of one block, in this order. */
struct layer {
    int N, I, O;
    enum op_act act, in_act;
    bool bias;
};

enum { IN, WEIGHT, BIAS, PRE, OUT, DOUT, IN_PRE, DIN, DWEIGHT, DBIAS, BLOCKS };

static const bool is_output[BLOCKS] = {[PRE] = true, [OUT] = true, [DIN] = true, [DWEIGHT] = true, [DBIAS] = true};

static size_t count_of(const struct layer *l, int block)
{
    size_t N = (size_t)l->N, I = (size_t)l->I, O = (size_t)l->O;
    const size_t counts[BLOCKS] = {N * I, O * I, O, N * O, N * O, N * O, N * I, N * I, O * I, O};
    return counts[block];
}

static void run_layer(const struct ops *ops, struct backend *be, const struct layer *l, float *host[BLOCKS])
{
    float *p[BLOCKS];
    struct error err = {0};
    for (int b = 0; b < BLOCKS; b++) {
        p[b] = ops->alloc(be, count_of(l, b) * sizeof(float), &err);
        host[b] = memory_alloc(count_of(l, b), sizeof(float));
        fill(host[b], count_of(l, b), (uint64_t)b, b == WEIGHT ? 0.2 : 1);
        ops->upload(be, p[b], host[b], count_of(l, b) * sizeof(float));
    }
    ops->linear_forward(be, &(struct linear_forward){.in = p[IN],
                                                     .weight = p[WEIGHT],
                                                     .bias = l->bias ? p[BIAS] : NULL,
                                                     .pre = p[PRE],
                                                     .out = l->act == ACT_NONE ? NULL : p[OUT],
                                                     .act = l->act,
                                                     .N = l->N,
                                                     .I = l->I,
                                                     .O = l->O});
    ops->linear_backward(be, &(struct linear_backward){.dout = p[DOUT],
                                                       .in = p[IN],
                                                       .weight = p[WEIGHT],
                                                       .dweight = p[DWEIGHT],
                                                       .dbias = l->bias ? p[DBIAS] : NULL,
                                                       .din = p[DIN],
                                                       .in_pre = l->in_act == ACT_NONE ? NULL : p[IN_PRE],
                                                       .in_act = l->in_act,
                                                       .N = l->N,
                                                       .I = l->I,
                                                       .O = l->O});
    for (int b = 0; b < BLOCKS; b++) {
        ops->download(be, host[b], p[b], count_of(l, b) * sizeof(float));
        ops->release(be, p[b]);
    }
    if (ops->sync(be, &err))
        fail_msg("%s", err.text);
}

static double difference(const float *a, const float *b, size_t count)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)a[i] * a[i];
    }
    return sqrt(off / (size + 1e-30));
}

static struct backend *open_backend(const struct ops *ops)
{
    const struct backend_options options = {.threads = 1, .precision = PRECISION_BF16};
    struct backend *be = NULL;
    struct error err = {0};
    assert_int_equal(ops->create(&be, &options, &err), STATUS_OK);
    return be;
}

/* With epilogues, without, and the reference. Sums are fp32: only the outputs' own rounding is off, 2^-9 each. */
static void compare_layer(const struct layer *l, int fused_products)
{
    struct backend *ref = open_backend(ops_reference()), *gpu = open_backend(gpu_ops_table());
    float *want[BLOCKS], *fused[BLOCKS], *apart[BLOCKS];
    long before = sim_fused_products();
    run_layer(ops_reference(), ref, l, want);
    run_layer(gpu_ops_table(), gpu, l, fused);
    assert_int_equal(sim_fused_products() - before, fused_products);
    sim_set_epilogues(false);
    run_layer(gpu_ops_table(), gpu, l, apart);
    sim_set_epilogues(true);
    assert_int_equal(sim_fused_products() - before, fused_products);
    for (int b = 0; b < BLOCKS; b++) {
        if (is_output[b] && (b != OUT || l->act != ACT_NONE)) {
            double bound = b == DWEIGHT || b == DBIAS ? 1e-6 : 4e-3;
            double x = difference(want[b], fused[b], count_of(l, b)), y = difference(want[b], apart[b], count_of(l, b));
            if (!(x <= bound && y <= bound))
                fail_msg("N %d I %d O %d act %d %d block %d: off by %.2e fused, %.2e apart", l->N, l->I, l->O,
                         (int)l->act, (int)l->in_act, b, x, y);
        }
        free(want[b]);
        free(fused[b]);
        free(apart[b]);
    }
    gpu_ops_table()->destroy(gpu);
    ops_reference()->destroy(ref);
}

static void test_linear_layers_with_epilogues(void **state)
{
    (void)state;
    compare_layer(&(struct layer){70, 32, 48, ACT_GELU_TANH, ACT_NONE, true}, 2);  /* gelu, bias gradient */
    compare_layer(&(struct layer){70, 32, 48, ACT_GELU_TANH, ACT_NONE, false}, 1); /* gelu */
    compare_layer(&(struct layer){70, 48, 32, ACT_NONE, ACT_GELU_TANH, true}, 2);  /* slope, bias gradient */
    compare_layer(&(struct layer){3, 48, 32, ACT_NONE, ACT_GELU_TANH, false}, 1);  /* slope */
    compare_layer(&(struct layer){129, 8, 8, ACT_NONE, ACT_NONE, true}, 1);        /* bias gradient */
}

/* The GELU of cuBLASLt is not the one with erf, and its memory comes in eights. */
static void test_what_has_no_epilogue_goes_the_other_way(void **state)
{
    (void)state;
    compare_layer(&(struct layer){70, 32, 48, ACT_GELU, ACT_NONE, false}, 0);
    compare_layer(&(struct layer){70, 48, 32, ACT_NONE, ACT_GELU, false}, 0);
    compare_layer(&(struct layer){70, 31, 33, ACT_GELU_TANH, ACT_NONE, true}, 0);
    compare_layer(&(struct layer){70, 33, 32, ACT_NONE, ACT_GELU_TANH, true}, 0);
    compare_layer(&(struct layer){70, 32, 48, ACT_NONE, ACT_NONE, false}, 0);
}

/* fp32 is for comparisons: nothing in it is left to the library's own GELU. */
static void test_fp32_has_no_epilogues(void **state)
{
    (void)state;
    const struct backend_options options = {.precision = PRECISION_FP32};
    const struct layer l = {70, 32, 48, ACT_GELU_TANH, ACT_GELU_TANH, true};
    struct backend *be = NULL;
    struct error err = {0};
    float *got[BLOCKS];
    long before = sim_fused_products();
    assert_int_equal(gpu_ops_table()->create(&be, &options, &err), STATUS_OK);
    run_layer(gpu_ops_table(), be, &l, got);
    assert_int_equal(sim_fused_products(), before);
    for (int b = 0; b < BLOCKS; b++)
        free(got[b]);
    gpu_ops_table()->destroy(be);
}

/* A product that the device has not is a failure with the op's name, not something else. */
static void test_a_product_that_is_not_there_is_a_failure(void **state)
{
    (void)state;
    struct device *d;
    struct error err = {0};
    assert_int_equal(device_open(&d, NULL, &err), STATUS_OK);
    float *x = device_allocate(d, 4096);
    const struct gemm g = {.a = x,
                           .b = x,
                           .d = x + 512,
                           .m = 4,
                           .n = 7,
                           .k = 4,
                           .lda = 4,
                           .ldb = 7,
                           .ldd = 7,
                           .epilogue = EPILOGUE_GELU,
                           .aux = x + 256};
    device_begin(d, "this op");
    assert_false(device_gemm_fuses(d, &g));
    device_gemm(d, &g);
    assert_int_equal(device_take_fault(d, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "cuda: this op: "));
    device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_layers_with_epilogues),
        cmocka_unit_test(test_what_has_no_epilogue_goes_the_other_way),
        cmocka_unit_test(test_fp32_has_no_epilogues),
        cmocka_unit_test(test_a_product_that_is_not_there_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
