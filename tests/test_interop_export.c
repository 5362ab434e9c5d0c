/* What an export promises: the logits of what was written are compared, at any size of the stream. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/json_file.h"
#include "core/base/memory.h"
#include "core/trained/compare.h"
#include "core/trained/fold.h"
#include "core/trained/interop_internal.h"
#include "core/trained/loaded_model.h"
#include "tests/support/data.h"
#include "tests/support/interop_files.h"
#include "tests/support/tiny_model.h"

static const struct interop_options alone = {.no_tokenizer = true};

/* The root mean square of the stream of a tiny model, and how far what a loader computes is from it. */
static double export_scaled(const char *const *pairs, bool folded, float scale, double *epsilon, bool widen)
{
    struct config cfg = tiny_model_config(pairs);
    struct tiny_model t;
    struct model other, written, *m = &t.m;
    struct error err = {0};
    char summary[INTEROP_SUMMARY], *folder = data_folder_make(), *file = file_join(folder, "model");
    char *out = file_join(folder, "out"), *config = file_join(out, "config.json");
    tiny_model_open(&t, &cfg, ops_cpu(), 3);
    float *embedding = model_row(&t.m, t.m.params, t.m.table.tok_embed);
    for (int64_t i = 0; i < cfg.vocab * cfg.d_model; i++)
        embedding[i] *= scale;
    if (folded) {
        assert_int_equal(fold_model(&t.m, &other, &err), STATUS_OK);
        m = &other;
    }
    model_set_gate(m, 0); /* as the file has it: at its step */
    interop_write_model(file, m);
    if (interop_export(file, out, &(struct interop_options){.no_tokenizer = true, .widen = widen}, summary, &err) ||
        interop_open_as_written(&written, out, m->ops, m->be, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(summary, "; logits differ by "));
    json_t *object;
    assert_int_equal(json_file_read(config, &object, &err), STATUS_OK);
    const char *key = json_object_get(object, "rms_norm_eps") ? "rms_norm_eps" : "layer_norm_epsilon";
    *epsilon = json_number_value(json_object_get(object, key));
    json_decref(object);
    /* Other windows than the export looked at. */
    int32_t windows[60];
    uint64_t seed = 9;
    struct logits_difference d;
    for (int n = 0; n < 60; n++)
        windows[n] = (int32_t)data_random(&seed, (uint32_t)cfg.vocab);
    assert_int_equal(compare_logits((const struct model *const[2]){m, &written}, windows, 3, 20, &d, &err), STATUS_OK);
    model_destroy(&written);
    if (folded)
        model_destroy(&other);
    tiny_model_close(&t);
    data_folder_remove(folder);
    char *paths[] = {file, out, config};
    for (size_t f = 0; f < 3; f++)
        free(paths[f]);
    return d.error;
}

static void test_streams_of_any_size(void **state)
{
    (void)state;
    static const char *const llama[] = {"model.pos=rope", "model.mlp=swiglu", "taper.sites=all", "model.tied=false",
                                        NULL};
    static const char *const gpt2[] = {"model.norm=layernorm", "model.bias=true", "taper.sites=all", "model.tied=false",
                                       NULL};
    static const char *const wide[] = {"taper.sites=all", "model.tied=false", NULL};
    const struct {
        const char *const *pairs;
        bool folded, widen;
        float scales[3]; /* a SwiGLU without a norm before it makes a stream grow with the square */
    } models[] = {{llama, false, false, {1, 100, 300}},
                  {llama, true, false, {1, 100, 300}},
                  {gpt2, false, false, {1, 1e4f, 1e6f}},
                  {wide, true, true, {1, 1e4f, 1e6f}}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (int k = 0; k < 3; k++) {
            double epsilon, error = export_scaled(models[i].pairs, models[i].folded, models[i].scales[k], &epsilon,
                                                  models[i].widen);
            if (!(error < 2e-5))
                fail_msg("model %zu, scale %g, epsilon %g: logits differ by %g", i, (double)models[i].scales[k],
                         epsilon, error);
            assert_true(k ? epsilon > 1e12 : epsilon == 1e12);
        }
}

/* A stream that fp32 cannot normalize is no export. */
static void test_a_stream_beyond_fp32(void **state)
{
    (void)state;
    static const char *const llama[] = {"model.pos=rope", "model.mlp=swiglu", "taper.sites=all", "model.tied=false",
                                        NULL};
    struct config cfg = tiny_model_config(llama);
    struct tiny_model t;
    struct error err = {0};
    char summary[INTEROP_SUMMARY], *folder = data_folder_make(), *file = file_join(folder, "model");
    char *out = file_join(folder, "out");
    tiny_model_open(&t, &cfg, ops_cpu(), 3);
    float *embedding = model_row(&t.m, t.m.params, t.m.table.tok_embed);
    for (int64_t i = 0; i < cfg.vocab * cfg.d_model; i++)
        embedding[i] = i % 2 ? 3e38f : -3e38f;
    interop_write_model(file, &t.m);
    assert_int_equal(interop_export(file, out, &alone, summary, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "which no epsilon in fp32"));
    assert_int_not_equal(access(out, F_OK), 0);
    tiny_model_close(&t);
    data_folder_remove(folder);
    free(file);
    free(out);
}

/* Every number of 16 bits is what it was after a turn through 32, and what lies between two goes to the nearer one. */
static void test_narrow_numbers(void **state)
{
    (void)state;
    enum { ALL = 65536 };
    char *folder = data_folder_make(), *file = file_join(folder, "all");
    uint16_t *bits = memory_alloc(ALL, sizeof *bits);
    float *wide = memory_alloc(ALL, sizeof *wide);
    size_t lost;
    struct safetensors f;
    struct error err = {0};
    for (int dtype = INTEROP_BFLOAT16; dtype <= INTEROP_FLOAT16; dtype++) {
        const uint16_t infinite = dtype == INTEROP_FLOAT16 ? 0x7c00 : 0x7f80;
        for (int i = 0; i < ALL; i++)
            bits[i] = (uint16_t)((i & 0x7fff) > infinite ? 0 : i);
        const struct tensor t = {.name = "x",
                                 .type = interop_number((enum interop_dtype)dtype)->type,
                                 .rank = 1,
                                 .shape = {ALL},
                                 .count = ALL,
                                 .data = bits};
        assert_int_equal(safetensors_write(file, NULL, &t, 1, NULL, &err), STATUS_OK);
        assert_int_equal(safetensors_open(&f, file, &err), STATUS_OK);
        assert_int_equal(safetensors_read_f32(&f, "x", 1, (int64_t[]){ALL}, wide, &err), STATUS_OK);
        safetensors_close(&f);
        uint16_t *back = interop_narrow((enum interop_dtype)dtype, wide, ALL, &lost);
        assert_memory_equal(back, bits, ALL * sizeof *bits);
        assert_int_equal(lost, infinite); /* the first infinity */
        free(back);
    }
    float between[] = {2048.5f, 2049, 2051, 65519, 65520, 0x1p-25f, 0x1.8p-24f, -0x1.004p0f, 1e9f};
    const uint16_t want[] = {0x6800, 0x6800, 0x6802, 0x7bff, 0x7c00, 0, 2, 0xbc01, 0x7c00};
    uint16_t *got = interop_narrow(INTEROP_FLOAT16, between, 9, &lost);
    for (int i = 0; i < 9; i++)
        assert_int_equal(got[i], want[i]);
    assert_int_equal(lost, 3); /* 65519 rounds to the largest, and is beyond it all the same */
    free(got);
    free(bits);
    free(wide);
    data_folder_remove(folder);
    free(file);
}

/* 16 bits: the error is measured, and a gain that they do not hold is named. */
static void test_narrow_exports(void **state)
{
    (void)state;
    static const char *const llama[] = {"model.pos=rope", "model.mlp=swiglu", "taper.sites=all", "model.tied=false",
                                        NULL};
    const struct {
        enum interop_dtype dtype;
        double epsilon, error;
    } kinds[] = {{INTEROP_FLOAT32, 1e12, 1e-5}, {INTEROP_BFLOAT16, 0x1p40, 5e-2}, {INTEROP_FLOAT16, 0x1p20, 5e-3}};
    struct config cfg = tiny_model_config(llama);
    struct tiny_model t;
    struct model folded, written;
    struct error err = {0};
    char summary[INTEROP_SUMMARY], *folder = data_folder_make(), *file = file_join(folder, "model");
    char *out = file_join(folder, "out"), *back = file_join(folder, "back");
    tiny_model_open(&t, &cfg, ops_cpu(), 3);
    assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
    interop_write_model(file, &folded);
    int32_t windows[40];
    compare_random_windows(cfg.vocab, 2, 20, windows);
    for (size_t i = 0; i < 3; i++) {
        struct logits_difference d;
        if (interop_export(file, out, &(struct interop_options){.no_tokenizer = true, .dtype = kinds[i].dtype}, summary,
                           &err) ||
            interop_open_as_written(&written, out, t.m.ops, t.be, &err))
            fail_msg("%s", err.text);
        assert_int_equal(compare_logits((const struct model *const[2]){&folded, &written}, windows, 2, 20, &d, &err),
                         STATUS_OK);
        if (!(d.error < kinds[i].error) || written.cfg.norm_eps != kinds[i].epsilon)
            fail_msg("%s: logits differ by %g, epsilon %g", interop_number(kinds[i].dtype)->name, d.error,
                     written.cfg.norm_eps);
        assert_true((strstr(summary, "not to be loaded in float16") != NULL) == (kinds[i].dtype != INTEROP_FLOAT16));
        model_destroy(&written);
        if (interop_import(out, back, &alone, summary, &err)) /* and it is known for what it is */
            fail_msg("%s", err.text);
        assert_non_null(strstr(summary, "without normalization"));
    }
    float *embedding = model_row(&folded, folded.params, folded.table.tok_embed);
    for (int64_t i = 0; i < cfg.vocab * cfg.d_model; i++)
        embedding[i] *= 50;
    interop_write_model(file, &folded);
    assert_int_equal(interop_export(file, out,
                                    &(struct interop_options){.no_tokenizer = true, .dtype = INTEROP_FLOAT16}, summary,
                                    &err),
                     STATUS_BAD_INPUT);
    if (!strstr(err.text, "tensor model.layers.0.input_layernorm.weight: ") ||
        !strstr(err.text, "largest number is 65504"))
        fail_msg("%s", err.text);
    model_destroy(&folded);
    tiny_model_close(&t);
    data_folder_remove(folder);
    free(file);
    free(out);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_numbers),
        cmocka_unit_test(test_narrow_exports),
        cmocka_unit_test(test_streams_of_any_size),
        cmocka_unit_test(test_a_stream_beyond_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
