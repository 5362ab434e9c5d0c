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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_of_any_size),
        cmocka_unit_test(test_a_stream_beyond_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
