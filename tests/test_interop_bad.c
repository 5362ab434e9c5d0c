/* Folders of Hugging Face that lie, and models that have no class there: what is wrong is named. */
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
#include "core/base/memory.h"
#include "tests/support/data.h"
#include "tests/support/interop_files.h"
#include "tests/support/tiny_model.h"

static const struct interop_options alone = {.no_tokenizer = true};

static void expect_import_refusal(const char *folder, const char *out, const char *const *texts)
{
    struct error err = {0};
    char summary[INTEROP_SUMMARY];
    assert_int_equal(interop_import(folder, out, &alone, summary, &err), STATUS_BAD_INPUT);
    for (; *texts; texts++)
        if (!strstr(err.text, *texts))
            fail_msg("want '%s' in:\n%s", *texts, err.text);
    assert_int_not_equal(access(out, F_OK), 0); /* nothing was written */
}

/* config.json of a golden folder with one key changed (NULL value: taken out). */
static void change_config(const char *folder, const char *key, json_t *value)
{
    char *path = file_join(folder, "config.json");
    json_t *object = json_load_file(path, 0, NULL);
    if (value)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
    assert_int_equal(json_dump_file(object, path, 0), 0);
    json_decref(object);
    free(path);
}

static void test_lying_configurations(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *out = file_join(folder, "out"), *llama = interop_golden("llama_half", NULL);
    char *gpt2 = interop_golden("gpt2_published", NULL);
    const struct {
        const char *from, *key;
        json_t *value;
        const char *text;
    } changes[] = {
        {llama, "num_key_value_heads", json_integer(3), "num_key_value_heads: want a divisor of the 2 heads, got 3"},
        {llama, "num_key_value_heads", json_integer(1),
         "tensor model.layers.0.self_attn.k_proj.weight: want shape [8, 16], got [16, 16]"},
        {llama, "hidden_act", json_string("gelu"), "hidden_act: want silu, got 'gelu'"},
        {llama, "rope_scaling", json_pack("{s:s}", "type", "dynamic"),
         "rope_scaling: rotary angles of type 'dynamic' have no"},
        {llama, "rope_parameters", json_pack("{s:s}", "rope_type", "yarn"),
         "rope_parameters: rotary angles of type 'yarn' have no"},
        {llama, "rope_scaling", json_pack("{s:s}", "type", "linear"), "rope_scaling: factor: want a number above 0"},
        {llama, "rope_scaling", json_pack("{s:s, s:f}", "type", "linear", "factor", 0.5), "model.rope_factor: want"},
        {llama, "rope_scaling", json_string("linear"), "rope_scaling: want an object"},
        {llama, "rope_parameters",
         json_pack("{s:s, s:i, s:f, s:f}", "rope_type", "llama3", "factor", 8, "low_freq_factor", 1.0,
                   "high_freq_factor", 4.0),
         "rope_parameters: original_max_position_embeddings: want a whole number from 1"},
        {llama, "rope_parameters",
         json_pack("{s:s, s:i, s:f, s:f, s:i}", "rope_type", "llama3", "factor", 8, "low_freq_factor", 4.0,
                   "high_freq_factor", 4.0, "original_max_position_embeddings", 64),
         "model.rope_high: want more than model.rope_low 4, got 4"},
        {llama, "quantization_config", json_pack("{s:i}", "bits", 4), "quantization_config: quantized weights have no"},
        {llama, "sliding_window", json_integer(4), "sliding_window: attention within a window"},
        {llama, "model_type", json_string("qwen2"), "tensor model.layers.0.self_attn.q_proj.bias: missing"},
        {llama, "head_dim", json_integer(16), "self_attn.q_proj.weight: want shape [32, 16], got [16, 16]"},
        {llama, "head_dim", json_integer(65536), "model.d_attn: want"},
        {llama, "head_dim", json_integer(1LL << 62), "head_dim: want a whole number from 1"},
        {llama, "partial_rotary_factor", json_real(0.5), "partial_rotary_factor: only 1"},
        {llama, "hidden_size", NULL, "hidden_size: want a whole number from 1"},
        {llama, "hidden_size", json_string("big"), "hidden_size: want a whole number from 1"},
        {llama, "num_attention_heads", json_integer(3), "num_key_value_heads: want a divisor of the 3 heads"},
        {llama, "model_type", json_string("bert"), "model_type: want gpt2, llama, qwen2 or mistral, got 'bert'"},
        {llama, "intermediate_size", json_integer(25),
         "tensor model.layers.1.mlp.up_proj.weight: want shape [25, 16], got [24, 16]"},
        {gpt2, "layer_norm_epsilon", json_integer(2), "model.norm_eps: want"},
        {gpt2, "activation_function", json_string("relu"), "activation_function: want gelu_new"},
        {gpt2, "scale_attn_weights", json_false(), "scale_attn_weights: only true"},
        {gpt2, "n_layer", json_integer(3), "tensor h.2.mlp.c_proj.bias: missing, want shape [16]"},
        {gpt2, "n_layer", json_integer(1), "tensor h.1.ln_2.bias: no part of the model"},
        {gpt2, "n_layer", json_integer(0), "n_layer: want a whole number from 1"},
        {gpt2, "tie_word_embeddings", json_false(), "tensor lm_head.weight: missing"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        interop_copy_file(changes[i].from, folder, "config.json");
        interop_copy_file(changes[i].from, folder, "model.safetensors");
        change_config(folder, changes[i].key, changes[i].value);
        expect_import_refusal(folder, out, (const char *const[]){changes[i].text, NULL});
    }
    free(data_file_write(folder, "config.json", "{\"a\": ", 6));
    expect_import_refusal(folder, out, (const char *const[]){"config.json:1:", NULL});
    data_folder_remove(folder);
    free(out);
    free(llama);
    free(gpt2);
}

static void test_lying_tensors(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *out = file_join(folder, "out"), *from = interop_golden("gpt2_published", NULL);
    char *file = file_join(folder, "model.safetensors"),
         *golden = interop_golden("gpt2_published", "model.safetensors");
    struct safetensors f;
    struct tensor tensors[48];
    struct error err = {0};
    float *numbers = memory_alloc(67 * 16, sizeof *numbers);
    interop_copy_file(from, folder, "config.json");
    assert_int_equal(safetensors_open(&f, golden, &err), STATUS_OK);
    for (int way = 0; way < 3; way++) {
        size_t count = f.count;
        assert_true(count + 1 < 48);
        memcpy(tensors, f.tensors, count * sizeof *tensors);
        for (size_t i = 0; i < count; i++) {
            if (way == 0 && strcmp(tensors[i].name, "h.1.ln_1.weight") == 0)
                tensors[i].name = "h.1.ln_one.weight";
            if (way == 1 && strcmp(tensors[i].name, "h.0.mlp.c_fc.bias") == 0) {
                memcpy(numbers, tensors[i].data, 64 * sizeof *numbers);
                numbers[9] = NAN;
                tensors[i].data = numbers;
            }
        }
        if (way == 2) /* a head that is not the embedding it is said to be */
            tensors[count++] = (struct tensor){.name = "lm_head.weight",
                                               .type = TENSOR_F32,
                                               .rank = 2,
                                               .shape = {67, 16},
                                               .count = 67 * 16,
                                               .data = numbers};
        assert_int_equal(safetensors_write(file, NULL, tensors, count, NULL, &err), STATUS_OK);
        static const char *const texts[3][3] = {
            {"tensor h.1.ln_1.weight: missing, want shape [16]", "tensor h.1.ln_one.weight: no part of the model",
             NULL},
            {"tensor h.0.mlp.c_fc.bias: 1 of 64 numbers are not finite; nan at 9", NULL, NULL},
            {"tensor lm_head.weight: differs from the embedding", NULL, NULL}};
        expect_import_refusal(folder, out, texts[way]);
    }
    safetensors_close(&f);
    free(numbers);
    data_folder_remove(folder);
    char *paths[] = {out, from, file, golden};
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
}

static void test_lying_shards(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *out = file_join(folder, "out"), *from = interop_golden("llama_sharded", NULL);
    char *index = file_join(folder, "model.safetensors.index.json"),
         *third = file_join(folder, "model-00003-of-00003.safetensors");
    interop_copy_file(from, folder, "config.json");
    expect_import_refusal(folder, out,
                          (const char *const[]){"want model.safetensors or model.safetensors.index.json", NULL});
    char *old = data_file_write(folder, "pytorch_model.bin", "PK", 2);
    expect_import_refusal(folder, out,
                          (const char *const[]){"pytorch_model.bin is a pickle", "weights_only=True", NULL});
    unlink(old);
    free(old);
    free(data_file_write(folder, "model.gguf", "GGUF", 4));
    expect_import_refusal(folder, out, (const char *const[]){"model.gguf is not read", NULL});
    old = data_file_write(folder, "pytorch_model-00001-of-00002.bin", "PK", 2);
    expect_import_refusal(
        folder, out,
        (const char *const[]){"pytorch_model-00001-of-00002.bin is a pickle", "glob.glob('pytorch_model*.bin')", NULL});
    unlink(old);
    free(old);
    interop_copy_file(from, folder, "model.safetensors.index.json");
    interop_copy_file(from, folder, "model-00001-of-00003.safetensors");
    interop_copy_file(from, folder, "model-00002-of-00003.safetensors");
    expect_import_refusal(folder, out, (const char *const[]){"model-00003-of-00003.safetensors: ", NULL});
    interop_copy_file(from, folder, "model-00003-of-00003.safetensors");
    json_t *object = json_load_file(index, 0, NULL), *map = json_object_get(object, "weight_map");
    json_object_set_new(map, "lm_head.weight", json_string("model-00001-of-00003.safetensors"));
    assert_int_equal(json_dump_file(object, index, 0), 0);
    expect_import_refusal(
        folder, out, (const char *const[]){"tensor lm_head.weight: not in model-00001-of-00003.safetensors", NULL});
    json_object_set_new(map, "lm_head.weight", json_string("../model-00001-of-00003.safetensors"));
    assert_int_equal(json_dump_file(object, index, 0), 0);
    expect_import_refusal(folder, out,
                          (const char *const[]){"weight_map: lm_head.weight: want the name of a file beside it", NULL});
    json_object_del(map, "lm_head.weight");
    assert_int_equal(json_dump_file(object, index, 0), 0);
    expect_import_refusal(folder, out, (const char *const[]){"tensor lm_head.weight: not in the index", NULL});
    json_decref(object);
    data_folder_remove(folder);
    char *paths[] = {out, from, index, third};
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
}

/* What has no counterpart is refused with all that does not fit; nothing is written. */
static void test_misfits_are_listed(void **state)
{
    (void)state;
    static const char *const rms[] = {"taper.sites=all", NULL};
    static const char *const half[] = {"taper.sites=internal", "model.pos=rope", "model.mlp=swiglu", NULL};
    static const char *const mixed[] = {"taper.sites=all", "model.norm=layernorm", "gate.shape=constant", NULL};
    static const char *const shifted[] = {"taper.sites=all", "model.norm=layernorm", NULL};
    const struct {
        const char *const *pairs;
        bool folded;
        const char *texts[4];
    } misfits[] = {
        {rms,
         false,
         {"GPT2LMHeadModel: model.norm is rmsnorm", "LlamaForCausalLM: model.pos is learned",
          "LlamaForCausalLM: model.mlp is no swiglu", "--widen writes it all the same"}},
        {half, false, {"LlamaForCausalLM: taper.sites is internal", "GPT2LMHeadModel: model.mlp is swiglu"}},
        {mixed, false, {"GPT2LMHeadModel: the gate is 0.5 at step 4"}},
        {shifted, true, {"GPT2LMHeadModel: lm_head.bias has no place"}},
    };
    for (size_t i = 0; i < sizeof misfits / sizeof misfits[0]; i++) {
        struct config cfg = tiny_model_config(misfits[i].pairs);
        struct tiny_model t;
        struct model folded;
        struct error err = {0};
        char summary[INTEROP_SUMMARY], *folder = data_folder_make(), *file = file_join(folder, "model"),
                                       *out = file_join(folder, "out");
        tiny_model_open(&t, &cfg, ops_cpu(), 1);
        if (misfits[i].folded) {
            assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
            interop_write_model(file, &folded);
            model_destroy(&folded);
        } else {
            interop_write_model(file, &t.m);
        }
        assert_int_equal(interop_export(file, out, &alone, summary, &err), STATUS_BAD_INPUT);
        for (int k = 0; k < 4 && misfits[i].texts[k]; k++)
            if (!strstr(err.text, misfits[i].texts[k]))
                fail_msg("want '%s' in:\n%s", misfits[i].texts[k], err.text);
        assert_int_not_equal(access(out, F_OK), 0);
        tiny_model_close(&t);
        data_folder_remove(folder);
        free(file);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lying_configurations),
        cmocka_unit_test(test_lying_tensors),
        cmocka_unit_test(test_lying_shards),
        cmocka_unit_test(test_misfits_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
