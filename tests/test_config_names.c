/* Names of runs: they stay as they were, a new key moves none of them, and a key without effect is not in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/config/config_internal.h"
#include "core/data/dataset.h"

/* A configuration from "key=value" words. */
static struct config from_text(const char *text)
{
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    while (*(text += strspn(text, " \n"))) {
        char word[200];
        size_t length = strcspn(text, " \n");
        assert_true(length < sizeof word);
        memcpy(word, text, length);
        word[length] = '\0';
        text += length;
        if (config_set_pair(&cfg, word, &err))
            fail_msg("%s", err.text);
    }
    if (config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return cfg;
}

static void old_names_stay(void **state)
{
    (void)state;
    FILE *file = fopen("tests/golden/identity.txt", "r");
    char line[1000];
    int names = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char corpus[DATASET_DIGEST], tokenizer[DATASET_DIGEST], id[CONFIG_ID];
        struct error err = {0};
        if (line[0] == '#')
            continue;
        assert_true(strlen(line) > CONFIG_ID && line[CONFIG_ID - 1] == ' ');
        struct config cfg = from_text(line + CONFIG_ID);
        if (dataset_digests(&cfg, corpus, tokenizer, &err))
            fail_msg("%s", err.text);
        config_identity(&cfg, corpus, tokenizer, id);
        if (strncmp(id, line, CONFIG_ID - 1) != 0)
            fail_msg("tests/golden/identity.txt: %.12s is now %s", line, id);
        names++;
    }
    fclose(file);
    assert_true(names >= 12);
}

/* ------------------------------------------------------------------------------- a table with new rows */

/* A configuration with fields that the program's has not; the table's own come first. */
struct wider {
    struct config cfg;
    int64_t stride;
    double heat;
    struct config_length pause;
    int64_t lanes;
    bool given;
};

static const char *const no_words[] = {NULL};
static const struct config_key added[] = {
    {"data.stride", CONFIG_INT, offsetof(struct wider, stride), "1", 1, 100, NULL, CONFIG_RESULT, NULL, "test"},
    {"train.heat", CONFIG_REAL, offsetof(struct wider, heat), "2.50", 0, 9, NULL, CONFIG_RESULT, NULL, "test"},
    {"train.pause", CONFIG_LENGTH, offsetof(struct wider, pause), "5%", 0, 1e9, NULL, CONFIG_RESULT, NULL, "test"},
    {"data.lanes", CONFIG_INT, offsetof(struct wider, lanes), "auto", 0, 9, NULL, CONFIG_RESULT, NULL, "test"},
    {"data.given", CONFIG_BOOL, offsetof(struct wider, given), "false", 0, 1, no_words, CONFIG_RESULT | CONFIG_DIGEST,
     NULL, "test"},
};
enum { ADDED = sizeof added / sizeof added[0] };

static char *wider_name(const struct wider *w)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    struct config_key *table = memory_alloc((size_t)count + ADDED, sizeof *table);
    memcpy(table, keys, (size_t)count * sizeof *table);
    memcpy(table + count, added, sizeof added);
    char *text = config_canonical_of(table, count + ADDED, &w->cfg, "corpus", "tokenizer");
    free(table);
    return text;
}

static struct wider wider_of(const char *text)
{
    struct wider w = {.cfg = from_text(text)};
    for (int i = 0; i < ADDED; i++)
        config_value_default(&added[i], config_value_in(&w.cfg, &added[i]));
    return w;
}

static void new_keys_move_no_name(void **state)
{
    (void)state;
    static const char *const bases[] = {"", "model.size=9M taper.sites=all", "gate.end=33.3% taper.sites=internal"};
    static const struct {
        int row;
        const char *value;
        bool moves;
    } settings[] = {{0, "2", true},  {0, "1", false}, {1, "2.5", false},  {1, "2.51", true}, {2, "50", false},
                    {2, "51", true}, {3, "0", true},  {3, "auto", false}, {4, "true", false}};
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        struct wider w = wider_of(bases[b]);
        char *was = config_canonical(&w.cfg, "corpus", "tokenizer"), *now = wider_name(&w);
        assert_string_equal(was, now);
        free(now);
        for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
            const struct config_key *key = &added[settings[i].row];
            struct wider set = w;
            assert_int_equal(config_value_assign(key, config_value_in(&set.cfg, key), settings[i].value, NULL), 0);
            now = wider_name(&set);
            if ((strcmp(was, now) != 0) != settings[i].moves)
                fail_msg("%s: %s: %s", key->name, settings[i].value, now);
            free(now);
        }
        free(was);
    }
}

/* ----------------------------------------------------------------------------------- keys without effect */

static void keys_without_effect_are_not_in_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *with, *set; /* in front of it, and the key */
        bool same;
    } rows[] = {
        {"", "gate.warmup=7%", true},
        {"aux.lambda=0.1", "gate.warmup=7%", false},
        {"aux.lambda=0.1 aux.target=1", "gate.warmup=7%", false},
        {"taper.sites=all", "gate.warmup=7%", false},
        {"", "gate.end=20%", true},
        {"aux.lambda=0.1", "gate.end=20%", true},
        {"taper.sites=internal", "gate.end=20%", false},
        {"taper.sites=internal gate.shape=constant", "gate.end=20%", true},
        {"", "gate.shape=linear", true},
        {"", "gate.shape=constant", true},
        {"taper.sites=all", "gate.shape=linear", false},
        {"", "gate.value=0.1", true},
        {"taper.sites=all", "gate.value=0.1", true},
        {"gate.shape=constant", "gate.value=0.1", true},
        {"taper.sites=all gate.shape=constant", "gate.value=0.1", false},
        {"", "taper.ema=0.9", true},
        {"aux.lambda=0.1", "taper.ema=0.9", false},
        {"aux.lambda=0.1 aux.target=1", "taper.ema=0.9", true},
        {"taper.sites=all", "taper.ema=0.9", false},
        {"taper.sites=all", "aux.target=1", true},
        {"aux.lambda=0.1", "aux.target=1", false},
        {"", "model.rope_theta=5", true},
        {"model.pos=rope", "model.rope_theta=5", false},
        {"", "model.d_attn=64", true}, /* the demo's width */
        {"model.heads=2", "model.d_attn=128", false},
        {"", "train.vocab=1024", true}, /* the demo's vocabulary */
        {"", "train.vocab=1000", false},
        {"", "model.rope_scaling=linear", true},
        {"model.pos=rope", "model.rope_scaling=linear", false},
        {"model.pos=rope", "model.rope_factor=2", true},
        {"model.pos=rope model.rope_scaling=linear", "model.rope_factor=2", false},
        {"model.pos=rope model.rope_scaling=linear", "model.rope_original=64", true},
        {"model.pos=rope model.rope_scaling=llama3", "model.rope_original=64", false},
        {"train.lr_schedule=constant", "train.lr_final=0.5", true},
        {"train.lr_schedule=linear", "train.lr_final=0.5", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char both[200], a[CONFIG_ID], b[CONFIG_ID];
        snprintf(both, sizeof both, "%s %s", rows[i].with, rows[i].set);
        struct config plain = from_text(rows[i].with), set = from_text(both);
        config_identity(&plain, "c", "t", a);
        config_identity(&set, "c", "t", b);
        if ((strcmp(a, b) == 0) != rows[i].same)
            fail_msg("%s: %s against %s", both, b, a);
        int count, differ = 0;
        const struct config_key *keys = config_keys(&count);
        for (int k = 0; k < count; k++)
            differ += !config_same_result(&plain, &set, &keys[k]);
        assert_int_equal(differ, !rows[i].same);
    }
}

/* What runs of one name may differ in. */
static void uncounted_keys_are_told(void **state)
{
    (void)state;
    struct config cfg = from_text("gate.end=20% aux.lambda=0.1 aux.target=2");
    json_t *object = config_uncounted(&cfg);
    char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, "{\"model.rope_theta\":10000.0,\"gate.end\":\"20%\",\"gate.shape\":\"cosine\","
                              "\"gate.value\":0.5,\"taper.ema\":0.98999999999999999}");
    free(text);
    json_decref(object);
}

/* Of the data keys none stands in a name by itself: the digests do. */
static void data_counts_by_its_digests(void **state)
{
    (void)state;
    int count;
    const struct config_key *keys = config_keys(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(keys[i].name, "data.corpus") == 0 || strcmp(keys[i].name, "data.size") == 0 ||
            strcmp(keys[i].name, "data.seed") == 0 || strcmp(keys[i].name, "data.tokenizer") == 0 ||
            strcmp(keys[i].name, "data.valid") == 0)
            assert_int_equal(keys[i].effect, CONFIG_RESULT | CONFIG_DIGEST);
    struct config a = from_text(""), b = from_text("data.size=100000 data.seed=3 data.valid=9% data.corpus=/x");
    char *one = config_canonical(&a, "c", "t"), *other = config_canonical(&b, "c", "t");
    assert_string_equal(one, other);
    assert_non_null(strstr(one, "\"data.corpus\":\"c\",\"data.tokenizer\":\"t\""));
    free(one);
    free(other);
}

/* As the first version wrote them into its database. */
static void old_shapes_stay(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", "116814112a72"},
                                          {"model.size=3M model.pos=rope train.accumulate=2", "fa3ef7d986f3"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg = from_text(rows[i][0]);
        char shape[CONFIG_ID];
        config_shape(&cfg, shape);
        assert_string_equal(shape, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_names_stay),
        cmocka_unit_test(new_keys_move_no_name),
        cmocka_unit_test(keys_without_effect_are_not_in_the_name),
        cmocka_unit_test(uncounted_keys_are_told),
        cmocka_unit_test(data_counts_by_its_digests),
        cmocka_unit_test(old_shapes_stay),
    };
    return cmocka_run_group_tests_name("config names", tests, NULL, NULL);
}
