#include "core/trained/interop_config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

/* Reading keys, faults gathered. */
struct keys {
    const json_t *object;
    const char *path;
    struct faults *faults;
};

static bool is_absent(const struct keys *k, const char *name)
{
    const json_t *value = json_object_get(k->object, name);
    return !value || json_is_null(value);
}

/* fallback -1: there is none. */
static int64_t take_integer(struct keys *k, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(k->object, name);
    if (is_absent(k, name) && fallback >= 0)
        return fallback;
    if (json_is_integer(value) && json_integer_value(value) > 0 && json_integer_value(value) <= INT32_MAX)
        return json_integer_value(value);
    faults_add(k->faults, "%s: %s: want a whole number from 1 to %d", k->path, name, INT32_MAX);
    return 1;
}

/* fallback -1: there is none. */
static double take_number(struct keys *k, const char *name, double fallback)
{
    const json_t *value = json_object_get(k->object, name);
    if (is_absent(k, name) && fallback >= 0)
        return fallback;
    if (json_is_number(value) && json_number_value(value) > 0)
        return json_number_value(value);
    faults_add(k->faults, "%s: %s: want a number above 0", k->path, name);
    return 1;
}

static bool take_flag(struct keys *k, const char *name, bool fallback)
{
    const json_t *value = json_object_get(k->object, name);
    if (is_absent(k, name))
        return fallback;
    if (!json_is_boolean(value))
        faults_add(k->faults, "%s: %s: want true or false", k->path, name);
    return json_is_true(value);
}

static const char *take_word(struct keys *k, const char *name, const char *fallback)
{
    const json_t *value = json_object_get(k->object, name);
    if (is_absent(k, name))
        return fallback;
    if (!json_is_string(value))
        faults_add(k->faults, "%s: %s: want a word", k->path, name);
    return json_is_string(value) ? json_string_value(value) : fallback;
}

/* Names that mean the same. */
static bool is_one_of(const char *word, const char *const *names)
{
    while (*names && strcmp(word, *names) != 0)
        names++;
    return *names != NULL;
}

/* A switch that no model here has in the other position. */
static void expect_flag(struct keys *k, const char *name, bool wanted)
{
    if (take_flag(k, name, wanted) != wanted)
        faults_add(k->faults, "%s: %s: only %s has a counterpart here", k->path, name, wanted ? "true" : "false");
}

static void put(struct keys *k, struct config *cfg, const char *name, const char *value)
{
    struct error one = {0};
    if (config_set(cfg, name, value, &one))
        faults_add(k->faults, "%s: %s", k->path, one.text);
}

static void put_integer(struct keys *k, struct config *cfg, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(k, cfg, name, text);
}

static void put_number(struct keys *k, struct config *cfg, const char *name, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    put(k, cfg, name, text);
}

/* ------------------------------------------------------------------------------------------- classes */

static void take_gpt2(struct keys *k, struct interop_config *c)
{
    const char *act = take_word(k, "activation_function", "gelu_new");
    const bool tanh_form = is_one_of(act, (const char *const[]){"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh",
                                                                "gelu_fast", "gelu_accurate", NULL});
    const int64_t d = take_integer(k, "n_embd", -1);
    if (!tanh_form && !is_one_of(act, (const char *const[]){"gelu", "gelu_python", NULL}))
        faults_add(k->faults, "%s: activation_function: want gelu_new, gelu_pytorch_tanh or gelu, got '%.40s'", k->path,
                   act);
    put_integer(k, &c->cfg, "model.d_model", d);
    put_integer(k, &c->cfg, "model.layers", take_integer(k, "n_layer", -1));
    put_integer(k, &c->cfg, "model.heads", take_integer(k, "n_head", -1));
    put_integer(k, &c->cfg, "model.context", take_integer(k, "n_positions", take_integer(k, "n_ctx", 1024)));
    put_integer(k, &c->cfg, "model.d_ff", take_integer(k, "n_inner", 4 * d));
    put(k, &c->cfg, "model.norm", "layernorm");
    put(k, &c->cfg, "model.pos", "learned");
    put(k, &c->cfg, "model.mlp", tanh_form ? "gelu_tanh" : "gelu");
    put(k, &c->cfg, "model.bias", "true");
    put(k, &c->cfg, "model.tied", take_flag(k, "tie_word_embeddings", true) ? "true" : "false");
    expect_flag(k, "scale_attn_weights", true);
    expect_flag(k, "scale_attn_by_inverse_layer_idx", false);
    expect_flag(k, "add_cross_attention", false);
    c->eps = take_number(k, "layer_norm_epsilon", 1e-5);
    c->extras.biases = true;
}

/* The one kind of scaled angles that needs no more than a factor, and Llama 3's. */
static void take_scaling(struct keys *k, struct config *cfg)
{
    const char *type = take_word(k, "rope_type", take_word(k, "type", "default"));
    const bool waves = strcmp(type, "llama3") == 0;
    if (strcmp(type, "default") == 0)
        return;
    if (!waves && strcmp(type, "linear") != 0) {
        faults_add(k->faults, "%s: rotary angles of type '%.40s' have no counterpart here (default, linear, llama3)",
                   k->path, type);
        return;
    }
    put(k, cfg, "model.rope_scaling", type);
    put_number(k, cfg, "model.rope_factor", take_number(k, "factor", -1));
    if (!waves)
        return;
    put_number(k, cfg, "model.rope_low", take_number(k, "low_freq_factor", -1));
    put_number(k, cfg, "model.rope_high", take_number(k, "high_freq_factor", -1));
    put_integer(k, cfg, "model.rope_original", take_integer(k, "original_max_position_embeddings", -1));
}

/* The base of the rotary angles: a key of its own, or in rope_parameters, where newer files have it; and how they are
 * scaled, into cfg. */
static double take_rope(struct keys *k, struct config *cfg)
{
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    double theta = take_number(k, "rope_theta", 10000);
    for (int i = 0; i < 2; i++) {
        const json_t *object = json_object_get(k->object, objects[i]);
        if (is_absent(k, objects[i]))
            continue;
        if (!json_is_object(object)) {
            faults_add(k->faults, "%s: %s: want an object", k->path, objects[i]);
            continue;
        }
        char *path = memory_format("%s: %s", k->path, objects[i]);
        struct keys inner = {object, path, k->faults};
        take_scaling(&inner, cfg);
        theta = take_number(&inner, "rope_theta", theta);
        free(path);
    }
    return theta;
}

static bool is_type(const struct keys *k, const char *type)
{
    const char *found = json_string_value(json_object_get(k->object, "model_type"));
    return found && strcmp(found, type) == 0;
}

/* Attention that sees only so far back; a window no text here is longer than changes nothing. */
static void take_window(struct keys *k, int64_t context)
{
    const json_t *window = json_object_get(k->object, "sliding_window");
    const bool used = take_flag(k, "use_sliding_window", !is_type(k, "qwen2"));
    if (used && window && !json_is_null(window) && !(json_integer_value(window) >= context))
        faults_add(k->faults,
                   "%s: sliding_window: attention within a window has no counterpart here (null has, or one of "
                   "at least max_position_embeddings)",
                   k->path);
}

static void take_llama(struct keys *k, struct interop_config *c)
{
    const int64_t d = take_integer(k, "hidden_size", -1), heads = take_integer(k, "num_attention_heads", -1);
    const char *act = take_word(k, "hidden_act", "silu");
    if (!is_one_of(act, (const char *const[]){"silu", "swish", NULL}))
        faults_add(k->faults, "%s: hidden_act: want silu, got '%.40s'", k->path, act);
    c->extras.key_heads = take_integer(k, "num_key_value_heads", heads);
    if (heads % c->extras.key_heads != 0)
        faults_add(k->faults, "%s: num_key_value_heads: want a divisor of the %lld heads, got %lld", k->path,
                   (long long)heads, (long long)c->extras.key_heads);
    put_integer(k, &c->cfg, "model.d_model", d);
    put_integer(k, &c->cfg, "model.heads", heads);
    if (!is_absent(k, "head_dim"))
        put_integer(k, &c->cfg, "model.d_attn", heads * take_integer(k, "head_dim", 1));
    put_integer(k, &c->cfg, "model.layers", take_integer(k, "num_hidden_layers", -1));
    put_integer(k, &c->cfg, "model.context", take_integer(k, "max_position_embeddings", 2048));
    put_integer(k, &c->cfg, "model.d_ff", take_integer(k, "intermediate_size", -1));
    put(k, &c->cfg, "model.norm", "rmsnorm");
    put(k, &c->cfg, "model.pos", "rope");
    put_number(k, &c->cfg, "model.rope_theta", take_rope(k, &c->cfg));
    if (take_number(k, "partial_rotary_factor", 1) != 1)
        faults_add(k->faults, "%s: partial_rotary_factor: only 1 has a counterpart here", k->path);
    put(k, &c->cfg, "model.mlp", "swiglu");
    c->attention = is_type(k, "qwen2") || take_flag(k, "attention_bias", false); /* there no key says so */
    c->out_unbiased = is_type(k, "qwen2");
    take_window(k, c->cfg.context);
    c->mlp = take_flag(k, "mlp_bias", false);
    c->extras.biases = c->attention || c->mlp;
    put(k, &c->cfg, "model.bias", c->extras.biases ? "true" : "false");
    put(k, &c->cfg, "model.tied", take_flag(k, "tie_word_embeddings", false) ? "true" : "false");
    c->eps = take_number(k, "rms_norm_eps", 1e-6);
}

/* From model_type, else from the first of the architectures. */
static int find_class(struct keys *k, enum interop_class *out)
{
    const char *type = json_string_value(json_object_get(k->object, "model_type"));
    const char *architecture = json_string_value(json_array_get(json_object_get(k->object, "architectures"), 0));
    if ((type && strcmp(type, "gpt2") == 0) || (!type && architecture && strncmp(architecture, "GPT2", 4) == 0))
        *out = INTEROP_GPT2;
    else if ((type && is_one_of(type, (const char *const[]){"llama", "qwen2", "mistral", NULL})) ||
             (!type && architecture && strncmp(architecture, "Llama", 5) == 0))
        *out = INTEROP_LLAMA;
    else {
        faults_add(k->faults, "%s: model_type: want gpt2, llama, qwen2 or mistral, got '%.60s'", k->path,
                   type           ? type
                   : architecture ? architecture
                                  : "(none)");
        return -1;
    }
    return 0;
}

int interop_config_read(const char *path, struct interop_config *out, struct error *err)
{
    json_t *object;
    int status = json_file_read(path, &object, err);
    if (status)
        return status;
    struct faults faults = {.err = err};
    struct keys k = {object, path, &faults};
    *out = (struct interop_config){0};
    config_init(&out->cfg);
    if (!is_absent(&k, "quantization_config"))
        faults_add(&faults, "%s: quantization_config: quantized weights have no counterpart here", path);
    if (find_class(&k, &out->class) == 0) {
        if (out->class == INTEROP_GPT2)
            take_gpt2(&k, out);
        else
            take_llama(&k, out);
        put_integer(&k, &out->cfg, "model.vocab", take_integer(&k, "vocab_size", -1));
        out->affine = out->eps >= INTEROP_LEAST_EPS;
        put_number(&k, &out->cfg, "model.norm_eps", out->affine ? 1e-5 : out->eps);
        put(&k, &out->cfg, "train.steps", "2");
        if (out->affine) { /* gate 0 at step 2, the one it is written as */
            put(&k, &out->cfg, "taper.sites", "all");
            put(&k, &out->cfg, "gate.warmup", "1");
            put(&k, &out->cfg, "gate.end", "2");
        }
    }
    json_decref(object);
    status = faults_end(&faults);
    if (!status && config_finish(&out->cfg, err)) {
        error_wrap(err, "%s", path);
        status = STATUS_BAD_INPUT;
    }
    return status;
}
