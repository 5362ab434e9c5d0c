/* cuDNN compiles the attention graphs of every preset for an H200, with no device: what is asked of it is what the
 * interpreter's test checks. Needs cuDNN; skipped by name without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#ifdef PLANS_SKIP
static void test_plans(void **state)
{
    (void)state;
    print_message("skipped: %s\n", PLANS_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include <dlfcn.h>

#include "core/config/config.h"
#include "gpu/plan_cuda.h"

/* Every key cuDNN asks for; partly taken from data sheets. */
static const char h200[] =
    "{\"deviceName\":\"NVIDIA H200\",\"deviceVer\":900,\"driverVer\":13000,\"cudaDeviceId\":0,\"pciDeviceId\":0,"
    "\"multiProcessorCount\":132,\"maxCtasPerSM\":32,\"maxThreadsPerSM\":2048,\"maxThreadsPerBlock\":1024,"
    "\"maxBlockSize\":[1024,1024,64],\"maxGridSize\":[2147483647,65535,65535],\"warpSize\":32,\"regsPerBlock\":65536,"
    "\"maxRegistersPerSM\":65536,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"l2CacheSize\":62914560,\"totalGlobalMem\":150754820096,"
    "\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,\"isTccDriver\":0,\"supportCoopLaunch\":1}";

static cudnnBackendDescriptor_t properties;

static int describe_device(void **state)
{
    (void)state;
    if (!dlopen(FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL)) { /* by its name, what cuDNN opens later is this one */
        print_error("%s\n", dlerror());
        return -1;
    }
    return cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &properties) != CUDNN_STATUS_SUCCESS ||
           cudnnBackendSetAttribute(properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                    sizeof h200 - 1, h200) != CUDNN_STATUS_SUCCESS ||
           cudnnBackendFinalize(properties) != CUDNN_STATUS_SUCCESS;
}

static int forget_device(void **state)
{
    (void)state;
    cudnnBackendDestroyDescriptor(properties);
    return 0;
}

static size_t build(const struct attention_shape *s, bool backward, bool deterministic)
{
    struct attention_graph g;
    struct cudnn_plan *plan = NULL;
    struct error err = {0};
    if (backward)
        attention_graph_backward(&g, s, deterministic);
    else
        attention_graph_forward(&g, s);
    if (cudnn_plan_create(&plan, &g, NULL, properties, deterministic, &err))
        fail_msg("B %d, T %d, H %d, D %d: %s", s->B, s->T, s->H, s->D, err.text);
    assert_true(cudnn_plan_names(plan, ATTENTION_Q) && cudnn_plan_names(plan, ATTENTION_LSE));
    assert_int_equal(cudnn_plan_names(plan, ATTENTION_DQ_SUM), backward && !deterministic);
    size_t workspace = cudnn_plan_workspace(plan);
    cudnn_plan_destroy(plan);
    return workspace;
}

static struct attention_shape shape_of(const char *preset, int batch)
{
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    if (config_set(&cfg, "model.size", preset, &err) || config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return (struct attention_shape){batch, (int)cfg.context, (int)cfg.heads, (int)(cfg.d_model / cfg.heads)};
}

static void test_every_preset_has_plans(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        int batch;
    } rows[] = {{"demo", 16}, {"1M", 64},         {"3M", 64},        {"9M", 64},    {"30M", 64},
                {"gpt2", 8},  {"gpt2-medium", 8}, {"gpt2-large", 4}, {"gpt2-xl", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct attention_shape s = shape_of(rows[i].preset, rows[i].batch);
        assert_true(attention_graph_supports(s.D));
        size_t forward = build(&s, false, true), backward = build(&s, true, true);
        print_message("# %s: B %d, T %d, H %d, D %d: workspace %zu forward, %zu backward\n", rows[i].preset, s.B, s.T,
                      s.H, s.D, forward, backward);
    }
}

static void test_head_widths(void **state)
{
    (void)state;
    static const int widths[] = {8, 24, 64, 128};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const struct attention_shape s = {2, 200, 3, widths[i]}; /* not a multiple of the kernels' tiles */
        build(&s, false, true);
        build(&s, true, true);
        build(&s, true, false);
    }
}

/* Windows that no kernel's tile divides, down to one token. */
static void test_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {1, 7, 31, 257};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const struct attention_shape s = {2, lengths[i], 3, 16};
        build(&s, false, true);
        build(&s, true, true);
    }
}

/* A graph that is none: the failure says where. */
static void test_a_wrong_graph_is_refused(void **state)
{
    (void)state;
    struct attention_graph g;
    struct cudnn_plan *plan = NULL;
    struct error err = {0};
    const struct attention_shape s = {2, 64, 2, 32};
    attention_graph_forward(&g, &s);
    g.tensors[g.nodes[0].b].dim[2] = 24; /* K with another width than Q */
    assert_int_equal(cudnn_plan_create(&plan, &g, NULL, properties, true, &err), STATUS_FAILED);
    assert_null(plan);
    assert_non_null(strstr(err.text, "cuDNN: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_preset_has_plans),
        cmocka_unit_test(test_head_widths),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_a_wrong_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, describe_device, forget_device);
}
#endif
