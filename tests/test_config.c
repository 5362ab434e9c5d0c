/* The key table: strict values, presets, derived keys, faults reported together, JSON there and back, identities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/base/memory.h"

static void set(struct config *cfg, const char *key, const char *value)
{
    struct error err = {0};
    if (config_set(cfg, key, value, &err))
        fail_msg("%s", err.text);
}

static void finish(struct config *cfg)
{
    struct error err = {0};
    if (config_finish(cfg, &err))
        fail_msg("%s", err.text);
}

static void expect_rejected(const char *key, const char *value, const char *part)
{
    struct config cfg, before;
    struct error err = {0};
    config_init(&cfg);
    before = cfg;
    assert_int_equal(config_set(&cfg, key, value, &err), STATUS_BAD_INPUT);
    if (!strstr(err.text, part))
        fail_msg("%s=%s: '%s' does not say '%s'", key, value, err.text, part);
    assert_memory_equal(&cfg, &before, sizeof cfg);
}

static void every_row_is_sound(void **state)
{
    (void)state;
    int count;
    const struct config_key *keys = config_keys(&count);
    struct config cfg, again;
    struct error err = {0};
    config_init(&cfg); /* aborts on a default that its own row refuses */
    finish(&cfg);
    config_init(&again);
    for (int i = 0; i < count; i++) {
        char text[CONFIG_TEXT];
        assert_true(config_key_find(keys[i].name) == &keys[i]); /* no name twice */
        assert_true(strlen(keys[i].help) > 5);
        config_get(&cfg, &keys[i], text);
        if (config_set(&again, keys[i].name, text, &err))
            fail_msg("%s does not take back '%s': %s", keys[i].name, text, err.text);
    }
}

static void values_are_strict(void **state)
{
    (void)state;
    const char *const bad[][3] = {
        {"model.layers", "0", "1 to 1024"},
        {"model.layers", "4.0", "an integer"},
        {"model.layers", "010", "an integer"},
        {"model.layers", "0x10", "an integer"},
        {"model.layers", " 4", "an integer"},
        {"model.layers", "4 ", "an integer"},
        {"model.layers", "", "an integer"},
        {"model.layers", "99999999999999999999", "an integer"},
        {"model.layers", "+4", "an integer"},
        {"train.lr", "nan", "a number"},
        {"train.lr", "inf", "a number"},
        {"train.lr", "0x1p-3", "a number"},
        {"train.lr", "1e-4x", "a number"},
        {"train.lr", "-1", "0 to 100"},
        {"train.lr", "007", "a number"},
        {"train.lr", "", "a number"},
        {"train.lr", "1e999", "a number"},
        {"model.bias", "yes", "true or false"},
        {"model.bias", "True", "true or false"},
        {"model.bias", "1", "true or false"},
        {"model.norm", "batchnorm", "rmsnorm or layernorm"},
        {"gate.shape", "cos", "cosine, linear, step or constant"},
        {"gate.end", "101%", "0% to 100%"},
        {"gate.end", "-5%", "0% to 100%"},
        {"gate.end", "%", "steps"},
        {"gate.end", "0.4", "steps"},
        {"gate.end", "-3", "0 to"},
        {"aux.target", "measured", "calibrated or a number"},
        {"aux.target", "-1", "0 to"},
        {"model.size", "2M", "one of demo"},
        {"model.seed", "1", "unknown key"},
        {"layers", "1", "model.layers"},
        {"model.layer", "1", "did you mean model.layers"},
        {"train.stepps", "1", "did you mean train.steps"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_rejected(bad[i][0], bad[i][1], bad[i][2]);
    char *lengthy = memory_alloc(2000, 1);
    memset(lengthy, 'a', 1999);
    expect_rejected("data.corpus", lengthy, "at most 511 bytes");
    free(lengthy);
}

static void good_values_arrive(void **state)
{
    (void)state;
    struct config cfg;
    config_init(&cfg);
    set(&cfg, "train.lr", "1e-4");
    set(&cfg, "gate.end", "500");
    set(&cfg, "gate.warmup", "2.5%");
    set(&cfg, "aux.target", "0.75");
    set(&cfg, "model.tied", "false");
    set(&cfg, "data.corpus", "no");
    set(&cfg, "train.steps", "2000");
    finish(&cfg);
    assert_true(cfg.lr == 1e-4 && cfg.aux_target.value == 0.75 && !cfg.aux_target.word && !cfg.tied);
    assert_string_equal(cfg.corpus, "no");
    assert_int_equal(config_steps(cfg.gate_end, cfg.steps), 500);
    assert_int_equal(config_steps(cfg.gate_warmup, cfg.steps), 50);
}

static void presets_yield_to_keys_in_any_order(void **state)
{
    (void)state;
    struct config a, b;
    config_init(&a);
    set(&a, "model.size", "9M");
    set(&a, "model.layers", "3");
    finish(&a);
    config_init(&b);
    set(&b, "model.layers", "3");
    set(&b, "model.size", "9M");
    finish(&b);
    assert_true(a.layers == 3 && b.layers == 3 && a.d_model == 256 && b.d_model == 256);
    assert_true(a.heads == 8 && a.d_ff == 1024 && a.context == 512 && a.vocab == 10000);
}

static void published_sizes(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int64_t d, layers, heads, context, vocab;
    } rows[] = {{"demo", 64, 4, 2, 128, 1024},
                {"1M", 64, 8, 2, 512, 10000},
                {"30M", 512, 8, 16, 512, 10000},
                {"gpt2", 768, 12, 12, 1024, 50257},
                {"gpt2-medium", 1024, 24, 16, 1024, 50257},
                {"gpt2-large", 1280, 36, 20, 1024, 50257},
                {"gpt2-xl", 1600, 48, 25, 1024, 50257}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg;
        config_init(&cfg);
        set(&cfg, "model.size", rows[i].name);
        finish(&cfg);
        assert_int_equal(cfg.d_model, rows[i].d);
        assert_int_equal(cfg.layers, rows[i].layers);
        assert_int_equal(cfg.heads, rows[i].heads);
        assert_int_equal(cfg.context, rows[i].context);
        assert_int_equal(cfg.vocab, rows[i].vocab);
    }
}

static void initial_scale_follows_the_width(void **state)
{
    (void)state;
    const struct {
        const char *size, *width;
        double std;
    } rows[] = {{"1M", "64", 0.1},    {"3M", "128", 0.05},        {"9M", "256", 0.02},   {"30M", "512", 0.02},
                {"demo", "63", 0.02}, {"demo", "255", 6.4 / 255}, {"gpt2", "768", 0.02}, {"gpt2", "96", 0.02}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg;
        char text[CONFIG_TEXT];
        config_init(&cfg);
        assert_string_equal(config_get(&cfg, config_key_find("model.init_std"), text), "auto");
        set(&cfg, "model.size", rows[i].size);
        set(&cfg, "model.d_model", rows[i].width);
        set(&cfg, "model.heads", "1");
        finish(&cfg);
        assert_true(cfg.init_std == rows[i].std);
        set(&cfg, "model.init_std", "0");
        finish(&cfg);
        assert_true(cfg.init_std == 0);
    }
}

/* Set apart or together, one run is written one way. */
static void seeds_split(void **state)
{
    (void)state;
    struct config cfg;
    config_init(&cfg);
    set(&cfg, "seed", "3");
    finish(&cfg);
    assert_true(config_seed_weights(&cfg) == 3 && config_seed_data(&cfg) == 3);
    json_t *plain = config_to_json(&cfg);
    set(&cfg, "seed.weights", "0");
    set(&cfg, "seed.data", "3");
    finish(&cfg);
    assert_true(config_seed_weights(&cfg) == 0 && config_seed_data(&cfg) == 3);
    json_t *apart = config_to_json(&cfg);
    assert_int_equal(json_integer_value(json_object_get(apart, "seed.weights")), 0);
    json_object_del(apart, "seed.weights");
    assert_true(json_equal(plain, apart));
    json_decref(plain);
    json_decref(apart);
}

static void swiglu_width(void **state)
{
    (void)state;
    struct config cfg;
    config_init(&cfg);
    set(&cfg, "model.mlp", "swiglu");
    set(&cfg, "model.d_model", "512");
    finish(&cfg);
    assert_int_equal(cfg.d_ff, 1376); /* 8/3 * 512 = 1365.3, up to a multiple of 32 */
}

static void faults_come_together(void **state)
{
    (void)state;
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    set(&cfg, "model.d_model", "65");
    set(&cfg, "model.heads", "2");
    set(&cfg, "taper.sites", "all");
    set(&cfg, "gate.warmup", "50%");
    set(&cfg, "gate.end", "10%");
    set(&cfg, "data.valid", "100%");
    assert_int_equal(config_finish(&cfg, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "model.heads: 2 heads do not divide model.d_model 65"));
    assert_non_null(strstr(err.text, "gate.end: want more than gate.warmup"));
    assert_non_null(strstr(err.text, "data.valid"));
    assert_false(cfg.finished);
}

static void odd_rope_width(void **state)
{
    (void)state;
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    set(&cfg, "model.d_model", "15");
    set(&cfg, "model.heads", "5");
    set(&cfg, "model.pos", "rope");
    assert_int_equal(config_finish(&cfg, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "even head width"));
}

static void json_there_and_back(void **state)
{
    (void)state;
    struct config cfg, back;
    struct error err = {0};
    char a[CONFIG_ID], b[CONFIG_ID];
    config_init(&cfg);
    set(&cfg, "model.size", "3M");
    set(&cfg, "train.lr", "0.00073");
    set(&cfg, "gate.end", "33.3%");
    set(&cfg, "aux.target", "1.25");
    set(&cfg, "data.corpus", "/tmp/text with spaces/\xc3\xa9.txt");
    finish(&cfg);
    json_t *object = config_to_json(&cfg);
    if (config_from_json(&back, object, "here", &err))
        fail_msg("%s", err.text);
    json_decref(object);
    config_identity(&cfg, "c", "t", a);
    config_identity(&back, "c", "t", b);
    assert_string_equal(a, b);
    assert_string_equal(cfg.corpus, back.corpus);
    object = json_pack("{s:i, s:s}", "model.layers", 2, "modle.bias", "true");
    assert_int_equal(config_from_json(&back, object, "run.json", &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "run.json: unknown key 'modle.bias'"));
    json_decref(object);
}

static void identity(struct config *cfg, char id[CONFIG_ID])
{
    finish(cfg);
    config_identity(cfg, "corpus", "tokenizer", id);
}

/* What does not change the result does not change the name; what does, does; 5% of 1000 and 50 are one. */
static void identities(void **state)
{
    (void)state;
    const struct {
        const char *key, *value;
        bool same;
    } rows[] = {{"device", "cuda", true},       {"threads", "7", true},
                {"log.every", "1", true},       {"checkpoint.every", "3", true},
                {"eval.every", "1%", true},     {"gate.warmup", "50", true},
                {"gate.end", "400", true},      {"model.heads", "2", true},
                {"model.head_dim", "32", true}, {"data.corpus", "/elsewhere", true},
                {"seed", "1", false},           {"seed.weights", "0", true},
                {"seed.weights", "1", false},   {"seed.data", "1", false},
                {"seed.data", "auto", true},    {"train.lr", "5e-4", false},
                {"gate.end", "401", false},     {"model.layers", "5", false},
                {"aux.lambda", "0.1", false},   {"taper.sites", "all", false},
                {"model.head_dim", "16", false}};
    struct config base;
    char want[CONFIG_ID], got[CONFIG_ID], other[CONFIG_ID];
    config_init(&base);
    set(&base, "taper.sites", "internal"); /* so that the gate's keys count */
    identity(&base, want);
    assert_int_equal(strlen(want), 12);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg;
        config_init(&cfg);
        set(&cfg, "taper.sites", "internal");
        set(&cfg, rows[i].key, rows[i].value);
        identity(&cfg, got);
        if ((strcmp(want, got) == 0) != rows[i].same)
            fail_msg("%s=%s: identity %s against %s", rows[i].key, rows[i].value, got, want);
    }
    config_identity(&base, "another corpus", "tokenizer", other);
    assert_string_not_equal(want, other);
    config_identity(&base, "corpus", "another tokenizer", other);
    assert_string_not_equal(want, other);
}

/* Equal for what takes the same memory and the same time a step: whatever a sweep varies beside its sizes. */
static void shapes(void **state)
{
    (void)state;
    const struct {
        const char *key, *value;
        bool same;
    } rows[] = {{"seed", "1", true},
                {"train.lr", "5e-4", true},
                {"taper.sites", "all", true},
                {"aux.lambda", "0.1", true},
                {"train.steps", "7", true},
                {"data.corpus", "/elsewhere", true},
                {"threads", "7", true},
                {"model.size", "1M", false},
                {"model.d_model", "128", false},
                {"model.layers", "5", false},
                {"model.head_dim", "16", false},
                {"model.context", "64", false},
                {"model.vocab", "512", false},
                {"model.d_ff", "128", false},
                {"model.norm", "layernorm", false},
                {"model.pos", "rope", false},
                {"model.mlp", "swiglu", false},
                {"model.bias", "true", false},
                {"model.tied", "false", false},
                {"train.batch", "8", false},
                {"train.accumulate", "2", false},
                {"device", "cuda", false},
                {"precision", "fp32", false}};
    struct config base;
    char want[CONFIG_ID], got[CONFIG_ID];
    config_init(&base);
    finish(&base);
    config_shape(&base, want);
    assert_int_equal(strlen(want), 12);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg;
        config_init(&cfg);
        set(&cfg, rows[i].key, rows[i].value);
        finish(&cfg);
        config_shape(&cfg, got);
        if ((strcmp(want, got) == 0) != rows[i].same)
            fail_msg("%s=%s: shape %s against %s", rows[i].key, rows[i].value, got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_sound),
        cmocka_unit_test(values_are_strict),
        cmocka_unit_test(good_values_arrive),
        cmocka_unit_test(presets_yield_to_keys_in_any_order),
        cmocka_unit_test(published_sizes),
        cmocka_unit_test(initial_scale_follows_the_width),
        cmocka_unit_test(seeds_split),
        cmocka_unit_test(swiglu_width),
        cmocka_unit_test(faults_come_together),
        cmocka_unit_test(odd_rope_width),
        cmocka_unit_test(json_there_and_back),
        cmocka_unit_test(identities),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
