/* The whole training step on the CUDA table over the simulated device: golden cases and trajectories of the independent
 * float64 reference, in fp32 to rounding, in bf16 within what 8 bits of mantissa allow; recordings; failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#ifdef GPU_SKIP
static void test_gpu_step(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/train/golden.h"
#include "core/model/gpu_memory.h"
#include "core/base/memory.h"
#include "core/base/safetensors.h"
#include "core/train/trainer.h"
#include "gpu/backend.h"
#include "tests/gpu/sim_device.h"

/* Relative L2 errors. A trajectory of 40 steps adds up; in bf16 the noise of a step is some 2^-8 per product. */
static const double exact_case = 1e-5, exact_trajectory = 5e-5, half_case = 6e-2, half_loss = 1e-2;

static int create_half(struct backend **out, const struct backend_options *options, struct error *err)
{
    struct backend_options half = *options;
    half.precision = PRECISION_BF16;
    return backend_create(out, &half, err);
}

static void replay_nothing(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg)
{
    (void)be;
    (void)key;
    (void)epoch;
    body(arg);
}

/* The table in bf16, or without recordings. */
static struct ops variant(bool half, bool recordings)
{
    struct ops ops = *gpu_ops_table();
    if (half)
        ops.create = create_half;
    if (!recordings)
        ops.replay = replay_nothing;
    return ops;
}

/* Run a golden file; the output is opened and its file removed. */
static void run(const char *name, bool trajectory, const struct ops *ops, struct safetensors *got)
{
    char made[] = "/tmp/taper-gpu-XXXXXX";
    struct error err = {0};
    char *path = memory_format("tests/golden/%s.safetensors", name);
    int fd = mkstemp(made);
    assert_true(fd >= 0);
    close(fd);
    if ((trajectory ? golden_train : golden_step)(path, made, ops, 1, &err) || safetensors_open(got, made, &err))
        fail_msg("%s", err.text);
    unlink(made);
    free(path);
}

static double *values_of(const struct safetensors *f, const struct tensor *like)
{
    struct error err = {0};
    double *out = memory_alloc(like->count, sizeof *out);
    if (safetensors_read_f64(f, like->name, like->rank, like->shape, out, &err))
        fail_msg("%s", err.text);
    return out;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The difference of a tensor, relative to the larger of its own length and `floor`. The key's bias has no gradient in
 * exact arithmetic (softmax ignores a shift of all scores): left out. */
static double error_of(const struct safetensors *want, const struct safetensors *got, const struct tensor *t,
                       double floor)
{
    double *a = values_of(want, t), *b = values_of(got, t), size = 0, off = 0;
    bool key_bias = ends_with(t->name, "attn.qkv.bias");
    for (size_t i = 0; i < t->count; i++) {
        if (key_bias && i >= t->count / 3 && i < 2 * t->count / 3)
            continue;
        size += a[i] * a[i];
        off += (a[i] - b[i]) * (a[i] - b[i]);
    }
    free(a);
    free(b);
    return sqrt(off) / fmax(sqrt(size), floor);
}

static double length_of(const struct safetensors *f, const char *name)
{
    const struct tensor *t = safetensors_find(f, name);
    double *x = values_of(f, t), sum = 0;
    for (size_t i = 0; i < t->count; i++)
        sum += x[i] * x[i];
    free(x);
    return sqrt(sum);
}

/* The worst relative error over the tensors of a prefix. */
static double worst_of(const struct safetensors *want, const struct safetensors *got, const char *prefix,
                       char worst[200])
{
    double most = 0;
    int compared = 0;
    for (size_t i = 0; i < want->count; i++) {
        const struct tensor *t = &want->tensors[i];
        if (strncmp(t->name, prefix, strlen(prefix)) != 0)
            continue;
        /* zero in exact arithmetic under a final norm: measured by the whole gradient */
        double floor = strcmp(t->name, "out/radial") == 0 ? length_of(want, "out/tangential") : 1e-6;
        double error = error_of(want, got, t, floor);
        compared++;
        if (!(error <= most)) {
            most = error;
            snprintf(worst, 200, "%s", t->name);
        }
    }
    assert_true(compared > 0);
    return most;
}

static const char *const cases[] = {"all_done",      "all_done_aux",     "all_mid_aux",        "baseline",
                                    "gpt2",          "gpt2_all_mid_aux", "gpt2_internal_done", "internal_aux",
                                    "internal_done", "internal_mid",     "llama_all_done_aux", "llama_internal_mid",
                                    "fakeln_qk",     "fakeln_value",     "fakeln_all_aux"};
static const char *const trajectories[] = {"traj_all_aux", "traj_gpt2_all_aux", "traj_internal_aux",
                                           "traj_llama_internal", "traj_fakeln_aux"};
enum { CASES = sizeof cases / sizeof cases[0], TRAJECTORIES = sizeof trajectories / sizeof trajectories[0] };

static void open_golden(const char *name, struct safetensors *f)
{
    struct error err = {0};
    char *path = memory_format("tests/golden/%s.safetensors", name);
    if (safetensors_open(f, path, &err))
        fail_msg("%s", err.text);
    free(path);
}

/* Every golden file of a kind, the tensors of each prefix within their bound. */
static void compare_all(const char *const *names, int count, bool trajectory, const struct ops *ops,
                        const char *const *prefixes, const double *bounds)
{
    double most[3] = {0};
    for (int i = 0; i < count; i++) {
        struct safetensors want, got;
        open_golden(names[i], &want);
        run(names[i], trajectory, ops, &got);
        for (int p = 0; prefixes[p]; p++) {
            char worst[200] = "";
            double error = worst_of(&want, &got, prefixes[p], worst);
            if (!(error <= bounds[p]))
                fail_msg("%s: %s: relative error %.2e, at most %.1e", names[i], worst, error, bounds[p]);
            most[p] = fmax(most[p], error);
        }
        safetensors_close(&want);
        safetensors_close(&got);
    }
    for (int p = 0; prefixes[p]; p++)
        print_message("# %s: worst relative error %.2e, at most %.1e\n", prefixes[p], most[p], bounds[p]);
}

static void test_cases_fp32(void **state)
{
    (void)state;
    struct ops ops = variant(false, true);
    compare_all(cases, CASES, false, &ops, (const char *[]){"grad/", "out/", "stat/", NULL},
                (double[]){exact_case, exact_case, exact_case});
}

static void test_trajectories_fp32(void **state)
{
    (void)state;
    struct ops ops = variant(false, true);
    compare_all(trajectories, TRAJECTORIES, true, &ops, (const char *[]){"traj/", "final/", NULL},
                (double[]){exact_trajectory, exact_trajectory});
}

static void test_cases_bf16(void **state)
{
    (void)state;
    struct ops ops = variant(true, true);
    compare_all(cases, CASES, false, &ops, (const char *[]){"grad/", "stat/", "out/logits", NULL},
                (double[]){half_case, half_case, half_case});
}

static void test_trajectories_bf16(void **state)
{
    (void)state;
    struct ops ops = variant(true, true);
    compare_all(trajectories, 2, true, &ops, (const char *[]){"traj/ce", "traj/scale", NULL},
                (double[]){half_loss, half_case});
}

/* Replaying a recording is the same, to the bit, as running the step's ops; and recordings are in fact used. */
static void test_recordings_change_nothing(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        struct ops with = variant(half, true), without = variant(half, false);
        struct safetensors a, b;
        long before = sim_graph_launches();
        run("traj_internal_aux", true, &without, &a);
        assert_int_equal(sim_graph_launches(), before);
        run("traj_internal_aux", true, &with, &b);
        /* 40 steps; each of the kinds (calibrating, mixed, folded) is run plainly once or, when its tensors stand
         * otherwise at first, twice */
        assert_in_range(sim_graph_launches() - before, 30, 37);
        for (size_t i = 0; i < a.count; i++)
            assert_true(error_of(&a, &b, &a.tensors[i], 1e-30) == 0);
        safetensors_close(&a);
        safetensors_close(&b);
    }
}

struct clearing {
    struct backend *be;
    float *memory;
    int calls;
};

static void clear(void *arg)
{
    struct clearing *c = arg;
    gpu_ops_table()->zero(c->be, c->memory, 64);
    c->calls++;
}

/* A recording ends with the memory it may be about; memory that came and went since does not touch it. */
static void test_recordings_end_with_their_memory(void **state)
{
    (void)state;
    const struct ops *ops = gpu_ops_table();
    const struct backend_options options = {.precision = PRECISION_FP32};
    struct clearing c = {0};
    struct error err = {0};
    float ones[16], back[16];
    for (int i = 0; i < 16; i++)
        ones[i] = 1;
    assert_int_equal(ops->create(&c.be, &options, &err), STATUS_OK);
    c.memory = ops->alloc(c.be, 64, &err);
    for (int i = 0; i < 4; i++)
        ops->replay(c.be, 5, 0, clear, &c);
    assert_int_equal(c.calls, 2); /* a plain one, and the recorded one */
    void *other = ops->alloc(c.be, 64, &err);
    ops->release(c.be, other);
    ops->upload(c.be, c.memory, ones, sizeof ones);
    ops->replay(c.be, 5, 0, clear, &c);
    assert_int_equal(c.calls, 2);
    ops->download(c.be, back, c.memory, sizeof back);
    assert_true(back[0] == 0 && back[15] == 0);
    void *old = c.memory;
    c.memory = ops->alloc(c.be, 64, &err);
    ops->release(c.be, old);
    ops->upload(c.be, c.memory, ones, sizeof ones);
    ops->replay(c.be, 5, 0, clear, &c);
    assert_int_equal(c.calls, 3);
    ops->download(c.be, back, c.memory, sizeof back);
    assert_true(back[0] == 0 && back[15] == 0);
    assert_int_equal(ops->sync(c.be, &err), STATUS_OK);
    ops->destroy(c.be);
}

static void test_another_order_of_threads_changes_nothing(void **state)
{
    (void)state;
    struct ops ops = variant(true, true);
    struct safetensors a, b;
    run("gpt2_all_mid_aux", false, &ops, &a);
    sim_set_schedule(77);
    run("gpt2_all_mid_aux", false, &ops, &b);
    sim_set_schedule(0);
    for (size_t i = 0; i < a.count; i++)
        assert_true(error_of(&a, &b, &a.tensors[i], 1e-30) == 0);
    safetensors_close(&a);
    safetensors_close(&b);
}

/* The comparison itself must be able to fail. */
static void test_a_wrong_output_is_seen(void **state)
{
    (void)state;
    char worst[200] = "";
    struct ops ops = variant(false, true);
    struct safetensors want, got;
    open_golden("internal_done", &want);
    run("internal_mid", false, &ops, &got);
    assert_true(worst_of(&want, &got, "grad/", worst) > 0.1);
    safetensors_close(&want);
    safetensors_close(&got);
}

/* Too little memory is a clean failure with the numbers, whenever it shows: at once, or within an op. */
static void test_out_of_memory_is_a_failure(void **state)
{
    (void)state;
    struct ops ops = variant(true, true);
    int refused = 0, within = 0, done = 0;
    for (size_t bytes = 32 << 10; bytes < 64 << 20; bytes *= 2) {
        struct error err = {0};
        char made[] = "/tmp/taper-gpu-XXXXXX";
        int fd = mkstemp(made);
        assert_true(fd >= 0);
        close(fd);
        sim_set_memory(bytes);
        int status = golden_step("tests/golden/baseline.safetensors", made, &ops, 1, &err);
        unlink(made);
        if (status) {
            assert_int_equal(status, STATUS_MEMORY);
            assert_non_null(strstr(err.text, "out of memory: "));
            assert_non_null(strstr(err.text, "free on the device"));
        }
        done += status == STATUS_OK;
        refused += status != STATUS_OK;
        within += status && strncmp(err.text, "cuda: ", 6) == 0;
    }
    sim_set_memory(0);
    assert_true(done > 0 && within > 0 && refused > within);
}

/* more: further pairs, NULL-terminated; NULL for none. */
static struct config small_config_with(int batch, const char *const *more)
{
    static const char *const pairs[] = {"model.d_model=32", "model.layers=3", "model.heads=2",   "model.context=24",
                                        "model.vocab=50",   "train.steps=20", "taper.sites=all", "aux.lambda=0.1"};
    struct config cfg;
    struct error err = {0};
    char text[40];
    config_init(&cfg);
    snprintf(text, sizeof text, "train.batch=%d", batch);
    int status = config_set_pair(&cfg, text, &err);
    for (size_t i = 0; !status && i < sizeof pairs / sizeof pairs[0]; i++)
        status = config_set_pair(&cfg, pairs[i], &err);
    for (; !status && more && *more; more++)
        status = config_set_pair(&cfg, *more, &err);
    if (status || config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return cfg;
}

static struct config small_config(int batch)
{
    return small_config_with(batch, NULL);
}

/* Three steps on tokens below `most`; the last one's report, and the parameters before and after. */
static void train_three(const struct config *cfg, const struct ops *ops, int32_t most, struct step_report *report,
                        float *params[2])
{
    struct backend *be = NULL;
    struct model m;
    struct trainer t;
    struct error err = {0};
    int32_t windows[4 * 25];
    for (int i = 0; i < 4 * 25; i++)
        windows[i] = i * 7 % most;
    assert_int_equal(ops->create(&be, &(struct backend_options){.threads = 1, .precision = PRECISION_FP32}, &err),
                     STATUS_OK);
    assert_int_equal(model_create(&m, cfg, ops, be, &err), STATUS_OK);
    assert_int_equal(model_initialize(&m, &err), STATUS_OK);
    assert_int_equal(trainer_create(&t, &m, 4, 24, &err), STATUS_OK);
    params[0] = model_download(&m, m.params);
    for (int k = 0; k < 3; k++)
        assert_int_equal(trainer_step(&t, windows, true, report, &err), STATUS_OK);
    params[1] = model_download(&m, m.params);
    trainer_destroy(&t);
    model_destroy(&m);
    ops->destroy(be);
}

/* Attention of its own width, scaled angles and rows that only pad: as on the CPU, and the padding never moves. */
static void test_wide_attention_and_padding(void **state)
{
    (void)state;
    static const char *const more[] = {"model.d_attn=48",        "model.pos=rope",       "model.rope_scaling=llama3",
                                       "model.rope_original=40", "model.mlp=swiglu",     "model.tied=false",
                                       "train.vocab=40",         "train.weight_decay=0", NULL};
    const struct config cfg = small_config_with(4, more);
    const struct ops full = variant(false, true), half = variant(true, true), *all[] = {ops_cpu(), &full, &half};
    struct step_report reports[3];
    for (int i = 0; i < 3; i++) {
        float *params[2];
        struct param_table table;
        memset(&reports[i], 0, sizeof reports[i]);
        train_three(&cfg, all[i], 40, &reports[i], params);
        params_create(&table, &cfg);
        const size_t head = table.rows[table.lm_head].offset, C = (size_t)cfg.d_model;
        assert_memory_equal(params[0] + head + 40 * C, params[1] + head + 40 * C, 10 * C * sizeof(float));
        assert_memory_not_equal(params[0] + head + 39 * C, params[1] + head + 39 * C, C * sizeof(float));
        const double slack = i == 2 ? 2e-2 : 1e-4;
        assert_true(fabs(reports[i].stats.ce - reports[0].stats.ce) < slack);
        assert_true(fabs(reports[i].stats.logit_rms / reports[0].stats.logit_rms - 1) < slack);
        assert_true(fabs(reports[i].grad_norm / reports[0].grad_norm - 1) < 3 * slack);
        params_destroy(&table);
        free(params[0]);
        free(params[1]);
    }
}

/* What a step takes is at most the estimate, which is not far above: the fixed part aside, less than twice. */
static void test_memory_is_estimated(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        const struct config cfg = small_config(4);
        struct ops ops = variant(half, true);
        struct backend *be = NULL;
        struct model m;
        struct trainer t;
        struct error err = {0};
        struct step_report report = {0};
        int32_t windows[4 * 25] = {1, 2, 3};
        const struct backend_options options = {.precision = PRECISION_FP32};
        sim_memory_peak();
        assert_int_equal(ops.create(&be, &options, &err), STATUS_OK);
        assert_int_equal(model_create(&m, &cfg, &ops, be, &err), STATUS_OK);
        assert_int_equal(model_initialize(&m, &err), STATUS_OK);
        assert_int_equal(trainer_create(&t, &m, 4, 24, &err), STATUS_OK);
        for (int k = 0; k < 3; k++)
            assert_int_equal(trainer_step(&t, windows, true, &report, &err), STATUS_OK);
        size_t peak = sim_memory_peak();
        struct gpu_memory need = gpu_memory_need(&cfg, half);
        assert_true(peak <= need.total);
        assert_true(need.parameters + need.activations < 2 * (peak - (16 << 20))); /* one piece of scratch */
        trainer_destroy(&t);
        model_destroy(&m);
        ops.destroy(be);
    }
}

static void test_too_large_a_run_is_refused_with_the_numbers(void **state)
{
    (void)state;
    const struct config small = small_config(4), large = small_config(4000);
    struct error err = {0};
    assert_int_equal(gpu_memory_check(&small, true, (size_t)1 << 30, (size_t)2 << 30, &err), STATUS_OK);
    assert_int_equal(gpu_memory_check(&large, true, (size_t)1 << 29, (size_t)1 << 30, &err), STATUS_MEMORY);
    assert_int_equal(gpu_memory_check(&large, true, (size_t)1 << 30, (size_t)2 << 30, &err), STATUS_MEMORY);
    assert_non_null(strstr(err.text, "out of memory: the run takes about "));
    assert_non_null(strstr(err.text, "the device has 1024 of 2048 MiB free"));
}

/* A failure is kept with the op's name, later work is skipped, sync reports it once. */
static void test_a_failure_names_its_op(void **state)
{
    (void)state;
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = 1, .precision = PRECISION_FP32};
    const struct ops *ops = gpu_ops_table();
    assert_int_equal(ops->create(&be, &options, &err), STATUS_OK);
    float *qkv = ops->alloc(be, 60000 * 3 * sizeof *qkv, &err), *out = ops->alloc(be, 60000 * 2 * sizeof *out, &err);
    ops->attention_forward(
        be, &(struct attention_forward){.qkv = qkv, .out = out, .lse = out, .B = 1, .T = 60000, .H = 1, .D = 1});
    ops->zero(be, out, 64);
    assert_int_equal(ops->sync(be, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "cuda: attention_forward: "));
    assert_non_null(strstr(err.text, "60000 tokens"));
    assert_int_equal(ops->sync(be, &err), STATUS_OK);
    ops->destroy(be);
}

static void test_an_unknown_device_is_refused(void **state)
{
    (void)state;
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.device = "GPU-1234", .precision = PRECISION_FP32};
    assert_int_equal(gpu_ops_table()->create(&be, &options, &err), STATUS_BAD_INPUT);
    assert_null(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_fp32),
        cmocka_unit_test(test_trajectories_fp32),
        cmocka_unit_test(test_cases_bf16),
        cmocka_unit_test(test_trajectories_bf16),
        cmocka_unit_test(test_recordings_change_nothing),
        cmocka_unit_test(test_recordings_end_with_their_memory),
        cmocka_unit_test(test_another_order_of_threads_changes_nothing),
        cmocka_unit_test(test_a_wrong_output_is_seen),
        cmocka_unit_test(test_out_of_memory_is_a_failure),
        cmocka_unit_test(test_wide_attention_and_padding),
        cmocka_unit_test(test_memory_is_estimated),
        cmocka_unit_test(test_too_large_a_run_is_refused_with_the_numbers),
        cmocka_unit_test(test_a_failure_names_its_op),
        cmocka_unit_test(test_an_unknown_device_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
