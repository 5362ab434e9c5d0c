/* Export and import: golden folders of an independent implementation, round trips, tokenizers. */
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
#include "core/trained/fold.h"
#include "core/trained/interop.h"
#include "core/trained/loaded_model.h"
#include "core/base/memory.h"
#include "core/model/schedule.h"
#include "core/model/transformer.h"
#include "tests/support/data.h"
#include "tests/support/interop_files.h"
#include "tests/support/tiny_model.h"

static const char *const cases[] = {"gpt2_published", "gpt2_affine", "llama_sharded", "llama_half", "llama_affine"};
enum { CASES = sizeof cases / sizeof cases[0] };
static const char *const grouped[] = {"llama_grouped", "qwen2"}; /* come back with a key a head */
static const struct interop_options alone = {.no_tokenizer = true};

static void import_ok(const char *from, const char *to, const struct interop_options *o)
{
    struct error err = {0};
    char summary[INTEROP_SUMMARY];
    if (interop_import(from, to, o, summary, &err))
        fail_msg("%s: %s", from, err.text);
}

static void export_ok(const char *from, const char *to, const struct interop_options *o)
{
    struct error err = {0};
    char summary[INTEROP_SUMMARY];
    if (interop_export(from, to, o, summary, &err))
        fail_msg("%s: %s", from, err.text);
}

/* ------------------------------------------------------------------------------------------- golden logits */

/* Logits [B,T,V] of windows [B,T]. */
static float *logits_of(const struct loaded_model *l, const int32_t *tokens, int B, int T)
{
    const struct model *m = &l->model;
    struct activations a;
    struct error err = {0};
    float *logits = memory_alloc((size_t)B * (size_t)T * (size_t)m->cfg.vocab, sizeof *logits);
    assert_int_equal(activations_create(&a, m, B, T, false, &err), STATUS_OK);
    for (int i = 0; i < B * T; i++) {
        a.tokens[i] = tokens[i];
        a.targets[i] = -1;
    }
    transformer_pass(m, &a, &(struct pass){.grad_scale = 1, .logits = logits});
    activations_destroy(&a, m);
    return logits;
}

static void compare_golden(const struct loaded_model *l, const struct safetensors *golden, const char *name)
{
    const struct tensor *tokens = safetensors_find(golden, "tokens"), *logits = safetensors_find(golden, "logits");
    const int B = (int)tokens->shape[0], T = (int)tokens->shape[1];
    struct error err = {0};
    int32_t *windows = memory_alloc(tokens->count, sizeof *windows);
    int64_t *ids = memory_alloc(tokens->count, sizeof *ids);
    double *want = memory_alloc(logits->count, sizeof *want), wrong = 0, energy = 0;
    assert_int_equal(safetensors_read_i64(golden, "tokens", 2, tokens->shape, ids, &err), STATUS_OK);
    assert_int_equal(safetensors_read_f64(golden, "logits", 3, logits->shape, want, &err), STATUS_OK);
    for (size_t i = 0; i < tokens->count; i++)
        windows[i] = (int32_t)ids[i];
    float *made = logits_of(l, windows, B, T);
    for (size_t i = 0; i < logits->count; i++) {
        wrong += ((double)made[i] - want[i]) * ((double)made[i] - want[i]);
        energy += want[i] * want[i];
    }
    if (!(sqrt(wrong / energy) < 2e-6))
        fail_msg("%s: logits differ by %g", name, sqrt(wrong / energy));
    free(windows);
    free(ids);
    free(want);
    free(made);
}

static void test_imports_give_the_golden_logits(void **state)
{
    (void)state;
    for (int i = 0; i < CASES + 2; i++) {
        const char *name = i < CASES ? cases[i] : grouped[i - CASES];
        char *folder = data_folder_make(), *from = interop_golden(name, NULL),
             *file = interop_golden(name, "golden.safetensors");
        struct safetensors golden;
        struct loaded_model l;
        struct error err = {0};
        import_ok(from, folder, &alone);
        if (loaded_model_open(&l, folder, &(struct loaded_model_options){.threads = 1}, &err) ||
            safetensors_open(&golden, file, &err))
            fail_msg("%s: %s", name, err.text);
        compare_golden(&l, &golden, name);
        safetensors_close(&golden);
        loaded_model_close(&l);
        data_folder_remove(folder);
        free(from);
        free(file);
    }
}

/* Every tensor of the golden folder comes back under its class's name, bit for bit as fp32. */
static void compare_tensors(const char *name, const char *source, const struct safetensors *made, size_t *seen)
{
    struct safetensors want;
    struct error err = {0};
    assert_int_equal(safetensors_open(&want, source, &err), STATUS_OK);
    for (size_t i = 0; i < want.count; i++) {
        const struct tensor *t = &want.tensors[i];
        if (t->rank == 4) /* a mask */
            continue;
        bool bare = strcmp(name, "gpt2_published") == 0;
        char *full = memory_format("%s%s", bare ? "transformer." : "", t->name);
        float *x = memory_alloc(t->count, sizeof *x), *y = memory_alloc(t->count, sizeof *y);
        assert_int_equal(safetensors_read_f32(&want, t->name, t->rank, t->shape, x, &err), STATUS_OK);
        if (safetensors_read_f32(made, full, t->rank, t->shape, y, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(x, y, t->count * sizeof *x);
        assert_int_equal(safetensors_find(made, full)->type, TENSOR_F32);
        ++*seen;
        free(full);
        free(x);
        free(y);
    }
    safetensors_close(&want);
}

static void test_exports_give_the_golden_files(void **state)
{
    (void)state;
    static const char *const files[] = {"model.safetensors", "model-00001-of-00003.safetensors",
                                        "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"};
    for (int i = 0; i < CASES; i++) {
        char *folder = data_folder_make(), *run = file_join(folder, "run"), *out = file_join(folder, "out");
        char *from = interop_golden(cases[i], NULL), *tensors = file_join(out, "model.safetensors");
        struct safetensors made;
        struct error err = {0};
        size_t seen = 0;
        import_ok(from, run, &alone);
        export_ok(run, out, &alone);
        assert_int_equal(safetensors_open(&made, tensors, &err), STATUS_OK);
        for (size_t f = 0; f < 4; f++) {
            char *source = interop_golden(cases[i], files[f]);
            if (access(source, F_OK) == 0)
                compare_tensors(cases[i], source, &made, &seen);
            free(source);
        }
        /* A Llama here has all biases or none: those it lacked are zeros. */
        assert_int_equal(made.count, seen + (strcmp(cases[i], "llama_sharded") == 0 ? 6 : 0));
        safetensors_close(&made);
        data_folder_remove(folder);
        free(run);
        free(out);
        free(from);
        free(tensors);
    }
}

/* config.json says the same again, but for what is only spelt out. */
static void test_configurations_survive(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        char *folder = data_folder_make(), *run = file_join(folder, "run"), *out = file_join(folder, "out");
        char *from = interop_golden(cases[i], NULL), *before = interop_golden(cases[i], "config.json"),
             *after = file_join(out, "config.json");
        const char *key;
        json_t *value, *made;
        import_ok(from, run, &alone);
        export_ok(run, out, &alone);
        json_t *want = json_load_file(before, 0, NULL);
        made = json_load_file(after, 0, NULL);
        json_object_foreach(want, key, value)
        {
            bool spelt_out = strcmp(key, "mlp_bias") == 0;
            const json_t *found = json_object_get(made, key);
            if (!spelt_out && !json_equal(value, found) &&
                !(json_is_number(value) && json_is_number(found) &&
                  json_number_value(value) == json_number_value(found)))
                fail_msg("%s: %s changed", cases[i], key);
        }
        json_decref(want);
        json_decref(made);
        data_folder_remove(folder);
        char *all[] = {run, out, from, before, after};
        for (size_t f = 0; f < 5; f++)
            free(all[f]);
    }
}

/* ------------------------------------------------------------------------------------------- round trips */

static void same_parameters(const char *one, const char *two)
{
    struct saved_model a, b;
    struct error err = {0};
    if (saved_model_open(&a, one, &err) || saved_model_open(&b, two, &err))
        fail_msg("%s", err.text);
    assert_int_equal(a.table.count, b.table.count);
    assert_int_equal(a.folded, b.folded);
    for (int i = 0; i < a.table.count; i++) {
        const struct tensor *x = safetensors_find(&a.file, a.table.rows[i].name),
                            *y = safetensors_find(&b.file, a.table.rows[i].name);
        assert_memory_equal(x->data, y->data, x->count * sizeof(float));
    }
    saved_model_close(&a);
    saved_model_close(&b);
}

/* A model here, there and back again: a GPT-2, a Llama, and a folded Llama without any norm, bit for bit. */
static void test_round_trips_are_exact(void **state)
{
    (void)state;
    static const char *const gpt2[] = {"model.norm=layernorm", "model.mlp=gelu_tanh", "model.bias=true",
                                       "model.tied=false", NULL};
    static const char *const tied[] = {"model.norm=layernorm", "model.mlp=gelu", "model.bias=true", NULL};
    static const char *const llama[] = {"model.pos=rope", "model.mlp=swiglu", "model.bias=true", NULL};
    static const char *const bare[] = {"model.pos=rope", "model.mlp=swiglu", "model.tied=false", "taper.sites=all",
                                       NULL};
    static const char *const *const all[] = {gpt2, tied, llama, bare};
    for (int i = 0; i < 4; i++) {
        struct config cfg = tiny_model_config(all[i]);
        struct tiny_model t;
        struct model folded;
        struct error err = {0};
        char *folder = data_folder_make(), *file = file_join(folder, "model"), *out = file_join(folder, "out");
        char *run = file_join(folder, "run"), *again = file_join(run, "checkpoint.safetensors");
        tiny_model_open(&t, &cfg, ops_cpu(), 40 + (uint64_t)i);
        if (cfg.sites == SITES_NONE) {
            interop_write_model(file, &t.m);
        } else {
            assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
            interop_write_model(file, &folded);
            model_destroy(&folded);
        }
        export_ok(file, out, &alone);
        import_ok(out, run, &alone);
        same_parameters(file, again);
        tiny_model_close(&t);
        data_folder_remove(folder);
        char *paths[] = {file, out, run, again};
        for (size_t f = 0; f < 4; f++)
            free(paths[f]);
    }
}

/* An RMSNorm model with learned positions and GELU is the same function as a GPT-2 of twice the width. */
static void test_widened_models_are_the_same_function(void **state)
{
    (void)state;
    static const char *const plain[] = {"model.norm=rmsnorm", NULL};
    static const char *const untied[] = {"model.mlp=gelu_tanh", "model.tied=false", "model.bias=true", NULL};
    static const char *const all[] = {"taper.sites=all", NULL};
    static const char *const *const pairs[] = {plain, untied, all, all};
    const struct interop_options widen = {.no_tokenizer = true, .widen = true};
    for (int i = 0; i < 4; i++) {
        struct config cfg = tiny_model_config(pairs[i]);
        struct tiny_model t;
        struct model folded;
        struct loaded_model l, wide;
        struct error err = {0};
        int32_t windows[60];
        uint64_t seed = 5;
        char *folder = data_folder_make(), *file = file_join(folder, "model"), *out = file_join(folder, "out");
        char *run = file_join(folder, "run");
        tiny_model_open(&t, &cfg, ops_cpu(), 50 + (uint64_t)i);
        if (i == 3) { /* without any norm */
            assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
            interop_write_model(file, &folded);
            model_destroy(&folded);
        } else {
            interop_write_model(file, &t.m);
        }
        export_ok(file, out, &widen);
        import_ok(out, run, &alone);
        if (loaded_model_open(&l, file, &(struct loaded_model_options){.threads = 1}, &err) ||
            loaded_model_open(&wide, run, &(struct loaded_model_options){.threads = 1}, &err))
            fail_msg("%s", err.text);
        assert_int_equal(wide.model.cfg.d_model, 2 * cfg.d_model);
        for (int n = 0; n < 60; n++)
            windows[n] = (int32_t)data_random(&seed, (uint32_t)cfg.vocab);
        float *want = logits_of(&l, windows, 3, 20), *made = logits_of(&wide, windows, 3, 20);
        const double difference = tiny_model_difference(made, want, 60 * (size_t)cfg.vocab);
        if (!(difference < 2e-6))
            fail_msg("model %d: logits differ by %g", i, difference);
        free(want);
        free(made);
        loaded_model_close(&l);
        loaded_model_close(&wide);
        tiny_model_close(&t);
        data_folder_remove(folder);
        char *paths[] = {file, out, run};
        for (size_t f = 0; f < 3; f++)
            free(paths[f]);
    }
}

/* The published layout with the prefix, as later files have it: masks, their scalars, and the tied head are there as
 * well. It is the same model as without. */
static void test_prefix_and_buffers_change_nothing(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *from = interop_golden("gpt2_published", NULL),
         *bare = file_join(folder, "bare");
    char *full = file_join(folder, "full"), *file = file_join(folder, "model.safetensors");
    char *source = interop_golden("gpt2_published", "model.safetensors"), names[64][96];
    char *one = file_join(bare, "checkpoint.safetensors"), *two = file_join(full, "checkpoint.safetensors");
    const float low = -1e4f;
    struct safetensors f;
    struct tensor tensors[64];
    struct error err = {0};
    size_t count = 0;
    assert_int_equal(safetensors_open(&f, source, &err), STATUS_OK);
    for (size_t i = 0; i < f.count; i++) {
        const bool mask = f.tensors[i].rank == 4;
        assert_true(count + 3 < 64);
        tensors[count] = f.tensors[i];
        snprintf(names[count], sizeof names[count], "transformer.%s", f.tensors[i].name);
        if (mask) { /* "transformer.h.0.attn.bias" has a companion */
            tensors[count + 1] = (struct tensor){.type = TENSOR_F32, .rank = 0, .count = 1, .data = &low};
            snprintf(names[count + 1], sizeof names[count + 1], "transformer.%.9smasked_bias", f.tensors[i].name);
            count++;
        }
        if (strcmp(f.tensors[i].name, "wte.weight") == 0) {
            tensors[count + 1] = f.tensors[i];
            snprintf(names[count + 1], sizeof names[count + 1], "lm_head.weight");
            count++;
        }
        count++;
    }
    for (size_t i = 0; i < count; i++)
        tensors[i].name = names[i];
    assert_int_equal(safetensors_write(file, NULL, tensors, count, NULL, &err), STATUS_OK);
    safetensors_close(&f);
    assert_int_equal(safetensors_open(&f, file, &err), STATUS_OK);
    assert_non_null(safetensors_find(&f, "transformer.h.1.attn.masked_bias"));
    assert_non_null(safetensors_find(&f, "transformer.h.1.attn.bias"));
    assert_non_null(safetensors_find(&f, "lm_head.weight"));
    safetensors_close(&f);
    interop_copy_file(from, folder, "config.json");
    import_ok(from, bare, &alone);
    import_ok(folder, full, &alone);
    same_parameters(one, two);
    data_folder_remove(folder);
    char *paths[] = {from, bare, full, file, source, one, two};
    for (size_t i = 0; i < 7; i++)
        free(paths[i]);
}

/* The tokenizer comes back from its three files, from two, and from tokenizer.json alone, old style and new. */
static void test_tokenizers_survive(void **state)
{
    (void)state;
    const struct tokenizer_merge merges[] = {
        {.left = 71, .right = 68}, {.left = 220, .right = 83}, {.left = 257, .right = 256}};
    struct tokenizer *t = tokenizer_create(merges, 3), *again;
    struct config cfg =
        tiny_model_config((const char *const[]){"model.norm=layernorm", "model.bias=true", "model.vocab=260", NULL});
    struct tiny_model model;
    struct error err = {0};
    char *folder = data_folder_make(), *file = file_join(folder, "model"), *beside = file_join(folder, "tokenizer");
    char *out = file_join(folder, "out"), *run = file_join(folder, "run"), *back = file_join(run, "tokenizer");
    char *fast = file_join(out, "tokenizer.json"), *vocab = file_join(out, "vocab.json");
    tiny_model_open(&model, &cfg, ops_cpu(), 1);
    interop_write_model(file, &model.m);
    assert_int_equal(tokenizer_save(t, beside, &err), STATUS_OK);
    export_ok(file, out, &(struct interop_options){0});
    for (int way = 0; way < 3; way++) {
        if (way == 1)
            unlink(vocab);
        if (way == 2) { /* merges as pairs */
            json_t *object = json_load_file(fast, 0, NULL), *list = json_array();
            json_array_append_new(list, json_pack("[s, s]", "h", "e"));
            json_array_append_new(list, json_pack("[s, s]", "\u0120", "t"));
            json_array_append_new(list, json_pack("[s, s]", "\u0120t", "he"));
            json_object_set_new(json_object_get(object, "model"), "merges", list);
            assert_int_equal(json_dump_file(object, fast, 0), 0);
            json_decref(object);
        }
        import_ok(out, run, &(struct interop_options){0});
        if (tokenizer_load(&again, back, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(tokenizer_digest(t), tokenizer_digest(again), TOKENIZER_DIGEST_BYTES);
        tokenizer_destroy(again);
    }
    tokenizer_destroy(t);
    tiny_model_close(&model);
    data_folder_remove(folder);
    char *paths[] = {file, beside, out, run, back, fast, vocab};
    for (size_t f = 0; f < 7; f++)
        free(paths[f]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_imports_give_the_golden_logits),
        cmocka_unit_test(test_exports_give_the_golden_files),
        cmocka_unit_test(test_configurations_survive),
        cmocka_unit_test(test_round_trips_are_exact),
        cmocka_unit_test(test_widened_models_are_the_same_function),
        cmocka_unit_test(test_prefix_and_buffers_change_nothing),
        cmocka_unit_test(test_tokenizers_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
