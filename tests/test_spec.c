/* The sweep's YAML: what it expands to, and every fault with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "harness/spec/config_yaml.h"
#include "harness/spec/spec.h"

static int parse(struct spec *spec, const char *text, char **faults, struct error *err)
{
    size_t size;
    FILE *out = open_memstream(faults, &size);
    *err = (struct error){0};
    int status = spec_parse(spec, text, strlen(text), "s.yaml", "/here", out, err);
    fclose(out);
    return status;
}

/* The faults of a text, exactly. */
static void expect_faults(const char *text, const char *wanted)
{
    struct spec spec;
    struct error err;
    char *faults;
    int status = parse(&spec, text, &faults, &err);
    assert_string_equal(faults, wanted);
    assert_int_equal(status, STATUS_BAD_INPUT);
    assert_int_equal(spec.run_count, 0);
    free(faults);
}

static void expect_good(struct spec *spec, const char *text)
{
    struct error err;
    char *faults;
    int status = parse(spec, text, &faults, &err);
    assert_string_equal(faults, "");
    assert_int_equal(status, STATUS_OK);
    free(faults);
}

static const char example[] = "sweep: tinystories\n"
                              "about: Validation loss on TinyStories, by size and variant\n"
                              "base:\n"
                              "  data.corpus: tinystories\n"
                              "  train.steps: 20000\n"
                              "variants:\n"
                              "  baseline:     {taper.sites: none}\n"
                              "  internal:     {taper.sites: internal}\n"
                              "  internal+aux: {taper.sites: internal, aux.lambda: 0.1}\n"
                              "  all:          {taper.sites: all}\n"
                              "  all+aux:      {taper.sites: all, aux.lambda: 0.1}\n"
                              "grid:\n"
                              "  model.size: [1M, 3M, 9M, 30M]\n"
                              "  seed: {range: [0, 5]}\n"
                              "exclude:\n"
                              "  - {model.size: 30M, seed: 5}\n"
                              "after:\n"
                              "  fold: true\n"
                              "  bench: {decode: {batch: [1, 16, 64], context: 512}}\n"
                              "run: {slots: 1, retries: 2, timeout: 12h, priority: 0}\n";

static void example_expands(void **state)
{
    (void)state;
    struct spec spec;
    struct config cfg;
    expect_good(&spec, example);
    assert_string_equal(spec.name, "tinystories");
    assert_int_equal(spec.run_count, 4 * 6 * 5 - 5);
    /* The variants of one point are neighbours; then the seed turns, then the size. */
    assert_string_equal(spec.variants[spec_run(&spec, 0, &cfg)].name, "baseline");
    assert_int_equal(cfg.seed, 0);
    assert_int_equal(cfg.d_model, 64);
    assert_int_equal(cfg.steps, 20000);
    assert_string_equal(cfg.corpus, "tinystories");
    assert_string_equal(spec.variants[spec_run(&spec, 4, &cfg)].name, "all+aux");
    assert_int_equal(cfg.sites, SITES_ALL);
    assert_true(cfg.aux_lambda == 0.1);
    spec_run(&spec, 5, &cfg);
    assert_int_equal(cfg.seed, 1);
    assert_string_equal(spec_run_value(&spec, 5, 0), "1M");
    assert_string_equal(spec_run_value(&spec, 5, 1), "1");
    spec_run(&spec, spec.run_count - 1, &cfg);
    assert_int_equal(cfg.d_model, 512);
    assert_int_equal(cfg.seed, 4);
    for (int64_t i = 0; i < spec.run_count; i++) {
        spec_run(&spec, i, &cfg);
        assert_true(cfg.finished);
        assert_false(cfg.d_model == 512 && cfg.seed == 5);
    }
    assert_true(spec.limits.timeout_us == 12ll * 3600 * 1000000);
    assert_int_equal(spec.limits.retries, 2);
    assert_true(spec.after.fold);
    assert_int_equal(spec.after.bench[BENCH_DECODE].batches, 3);
    assert_int_equal(spec.after.bench[BENCH_DECODE].context[0], 512);
    assert_int_equal(spec.after.bench[BENCH_LAST_TOKEN].batches, 0);
    json_t *json = spec_after_to_json(&spec.after);
    struct spec_after back;
    assert_int_equal(spec_after_from_json(&back, json, "test", NULL), STATUS_OK);
    assert_memory_equal(&back, &spec.after, sizeof back);
    json_decref(json);
    spec_fini(&spec);
}

static void smallest_sweep(void **state)
{
    (void)state;
    struct spec spec;
    struct config cfg;
    expect_good(&spec, "sweep: one\n");
    assert_int_equal(spec.run_count, 1);
    assert_string_equal(spec.variants[spec_run(&spec, 0, &cfg)].name, "default");
    assert_int_equal(spec.limits.slots, 1);
    assert_int_equal(spec.limits.pack, 1);
    assert_int_equal(spec.limits.timeout_us, 0);
    spec_fini(&spec);
}

static void all_faults_at_once(void **state)
{
    (void)state;
    expect_faults(
        "sweeep: x\n"
        "sweep: Bad Name\n"
        "base: {train.stepz: 5, train.lr: no, seed: 010, model.bias: yes, model.size: 2M}\n"
        "variants:\n"
        "  a: {taper.site: none, aux.lambda: -1}\n"
        "  a: {}\n"
        "grid:\n"
        "  seed: []\n"
        "  train.lr: [1e-4, 0.0001]\n"
        "  model.layers: 3\n"
        "  model.heads: {range: [3, 1]}\n"
        "exclude: [{model.size: 1M, variant: q}]\n"
        "after: {fold: maybe, bench: {decod: {}}}\n"
        "run: {timeout: 5, retry: 3}\n",
        "s.yaml:1:1: unknown key 'sweeep' in the sweep (did you mean sweep?)\n"
        "s.yaml:2:8: sweep: want a name of 1 to 64 characters a-z, 0-9 and -, got 'Bad Name'\n"
        "s.yaml:3:8: unknown key 'train.stepz' (did you mean train.steps?)\n"
        "s.yaml:3:34: train.lr: want a number, got 'no'\n"
        "s.yaml:3:44: seed: want an integer, got '010'\n"
        "s.yaml:3:61: model.bias: want true or false, got 'yes'\n"
        "s.yaml:3:78: model.size: want one of demo, 1M, 3M, 9M, 30M, gpt2, gpt2-medium, gpt2-large, gpt2-xl, "
        "got '2M'\n"
        "s.yaml:5:7: unknown key 'taper.site' (did you mean taper.sites?)\n"
        "s.yaml:5:37: aux.lambda: want 0 to 1000000, got -1\n"
        "s.yaml:6:3: a: given twice, first in line 5\n"
        "s.yaml:8:9: seed: an empty list\n"
        "s.yaml:9:20: train.lr: 0.0001 is in the list twice\n"
        "s.yaml:10:17: model.layers: want a list of values or {range: [low, high]}; one value goes under base\n"
        "s.yaml:11:24: model.heads: want a range [low, high] or [low, high, step] with low <= high and a whole "
        "step above 0\n"
        "s.yaml:12:37: variant: there is no variant 'q'\n"
        "s.yaml:13:15: fold: want true or false, got 'maybe'\n"
        "s.yaml:13:30: unknown key 'decod' in bench (did you mean decode?)\n"
        "s.yaml:14:16: timeout: want a length of time such as 12h, 30m, 90s or 1h30m, or none, got '5'\n"
        "s.yaml:14:19: unknown key 'retry' in run (did you mean retries?)\n");
}

static void single_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"", "s.yaml:1:1: an empty file; want a sweep\n"},
        {"[1]\n", "s.yaml:1:1: want a mapping: sweep, base, variants, grid ..., got a list\n"},
        {"about: x\n", "s.yaml:1:1: sweep: missing; want the sweep's name\n"},
        {"sweep: a\nseed: 3\n", "s.yaml:2:1: unknown key 'seed' in the sweep (keys of a run go under base, variants or "
                                "grid)\n"},
        {"sweep: a\nsweep: b\n", "s.yaml:2:1: sweep: given twice, first in line 1\n"},
        {"sweep: [a\n", "s.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence\n"},
        {"sweep: a\n--- \nsweep: b\n", "s.yaml:3:1: a second document; want one\n"},
        {"sweep: a\nbase: {seed: !!int 3}\n",
         "s.yaml:2:14: seed: tags have no meaning here, got tag:yaml.org,2002:int\n"},
        {"sweep: a\nbase: {seed: }\n", "s.yaml:2:14: seed: no value (write \"\" for an empty one)\n"},
        {"sweep: a\nbase: {seed: [1]}\n", "s.yaml:2:14: seed: want one value, got a list\n"},
        {"sweep: a\nbase: {model: {size: 1M}}\n", "s.yaml:2:8: unknown key 'model'\n"},
        {"sweep: a\nbase: {sample.prompt: \"a\\0b\"}\n", "s.yaml:2:23: sample.prompt: a NUL character inside\n"},
        {"sweep: a\nbase: {? [x] : 1}\n", "s.yaml:2:10: a key: want one value, got a list\n"},
        {"sweep: a\nvariants: {}\n",
         "s.yaml:2:11: variants: want at least one (leave the section out for a single one)\n"},
        {"sweep: a\ngrid: {}\n", "s.yaml:2:7: grid: empty (leave the section out for a single point)\n"},
        {"sweep: a\ngrid: {device: {range: [0, 1]}}\n", "s.yaml:2:24: device: has no range; write a list\n"},
        {"sweep: a\ngrid: {train.lr: {range: [0.1, 0.2]}}\n",
         "s.yaml:2:26: train.lr: a range of real numbers wants a step: [low, high, step]\n"},
        {"sweep: a\ngrid: {seed: {range: [0, 100000]}}\n", "s.yaml:2:22: seed: more than 100000 values\n"},
        {"sweep: a\ngrid: {seed: {range: [1, 1000]}, data.seed: {range: [1, 101]}}\n",
         "s.yaml:2:7: the grid and the variants make more than 100000 runs\n"},
        {"sweep: a\ngrid: {seed: [1, 2]}\nexclude: [{seed: 3}]\n", "s.yaml:3:11: exclude: matches no run\n"},
        {"sweep: a\ngrid: {seed: [1, 2]}\nexclude: [{seed: 1}, {seed: 2}]\n", "s.yaml:2:7: every run is excluded\n"},
        {"sweep: a\nexclude: [{}]\n", "s.yaml:2:11: exclude: an empty mapping would leave out every run\n"},
        {"sweep: a\nafter: {bench: {decode: {batch: 1}}}\n", "s.yaml:2:25: decode: want both batch and context\n"},
        {"sweep: a\nafter: {bench: {decode: {batch: 1, context: 129}}}\n",
         "s.yaml:1:1: after.bench.decode.context: 129 is more than model.context 128\n"},
        /* Faults between keys: told once, with the first run that has them. */
        {"sweep: a\nvariants:\n  x: {taper.sites: none}\n  y: {taper.sites: all, gate.end: 1%}\ngrid:\n  seed: [1, 2, "
         "3]\n",
         "s.yaml:4:3: variant y, seed 1: gate.end: want more than gate.warmup (step 50), got step 10 (and 2 more "
         "runs)\n"},
        {"sweep: a\nbase: {<<: 3}\n", "s.yaml:2:12: <<: want a mapping or a list of mappings, got a single value\n"},
        {"sweep: a\nbase: {\"<<\": {seed: 1}}\n", "s.yaml:2:8: unknown key '<<'\n"},
        {"sweep: a\nbase: &b {<<: *b}\n", "s.yaml:2:7: nested more than 16 deep\n"},
        {"sweep: a\nabout: \xff\xfe\n", "s.yaml:2:8: invalid leading UTF-8 octet\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_faults(cases[i].text, cases[i].fault);
}

static void scalars_are_typed_by_the_key(void **state)
{
    (void)state;
    struct spec spec;
    struct config cfg;
    expect_good(&spec, "sweep: a\nbase:\n  seed: \"7\"\n  train.lr: 1e-4\n  sample.prompt: no\n  data.corpus: 'yes'\n"
                       "  model.bias: 'true'\n  train.steps: '1000'\n  sample.tokens: 0\n  data.tokenizer: /abs/tok\n"
                       "  data.valid: val.txt\n");
    spec_run(&spec, 0, &cfg);
    assert_int_equal(cfg.seed, 7);
    assert_true(cfg.lr == 1e-4);
    assert_true(cfg.bias);
    assert_string_equal(cfg.sample_prompt, "no");
    assert_string_equal(cfg.corpus, "/here/yes"); /* a relative path */
    assert_string_equal(cfg.tokenizer, "/abs/tok");
    assert_string_equal(cfg.valid, "/here/val.txt");
    spec_fini(&spec);
    expect_good(&spec, "sweep: a\nbase: {sample.prompt: \"\", data.valid: 7.5%}\n");
    spec_run(&spec, 0, &cfg);
    assert_string_equal(cfg.sample_prompt, "");
    assert_string_equal(cfg.valid, "7.5%");
    spec_fini(&spec);
    expect_good(&spec, "sweep: a\nbase: {data.corpus: novels, data.valid: auto}\n"); /* words, not paths */
    spec_run(&spec, 0, &cfg);
    assert_string_equal(cfg.corpus, "novels");
    assert_string_equal(cfg.valid, "auto");
    spec_fini(&spec);
}

static void anchors_and_merges(void **state)
{
    (void)state;
    struct spec spec;
    struct config cfg;
    expect_good(&spec, "sweep: a\n"
                       "base: &base {train.steps: 500, train.lr: 1e-3}\n"
                       "variants:\n"
                       "  x: &x {taper.sites: all, aux.lambda: 0.5}\n"
                       "  y: {<<: *x, aux.lambda: 2}\n"
                       "  z: {<<: [{aux.lambda: 3}, *x, *base], train.lr: 7}\n"
                       "grid: {seed: &seeds [1, 2], data.seed: *seeds}\n");
    assert_int_equal(spec.run_count, 12);
    spec_run(&spec, 1, &cfg);
    assert_true(cfg.sites == SITES_ALL && cfg.aux_lambda == 2);
    spec_run(&spec, 2, &cfg);
    assert_true(cfg.sites == SITES_ALL && cfg.aux_lambda == 3 && cfg.lr == 7 && cfg.steps == 500);
    assert_string_equal(spec_run_value(&spec, 11, 1), "2");
    spec_fini(&spec);
}

/* Nested aliases stand for 10^9 values; the limit on visited nodes ends it quickly. */
/* What some editors put first is no part of the text. */
static void a_byte_order_mark_is_skipped(void **state)
{
    (void)state;
    struct spec spec;
    struct error err = {0};
    const char text[] = "\xef\xbb\xbfsweep: bom\nbase: {seed: 1}\n";
    if (spec_parse(&spec, text, sizeof text - 1, "bom.yaml", "/", NULL, &err))
        fail_msg("%s", err.text);
    assert_string_equal(spec.name, "bom");
    spec_fini(&spec);
}

static void alias_bombs_are_bounded(void **state)
{
    (void)state;
    char *text = memory_string("sweep: a\nbase:\n  <<: &a0 {seed: 1}\n"), *longer;
    struct spec spec;
    struct error err;
    char *faults;
    for (int i = 1; i <= 10; i++) {
        longer = memory_format("%s  <<: &a%d [", text, i);
        free(text);
        text = longer;
        for (int j = 0; j < 10; j++) {
            longer = memory_format("%s%s*a%d", text, j ? ", " : "", i - 1);
            free(text);
            text = longer;
        }
        longer = memory_format("%s]\n", text);
        free(text);
        text = longer;
    }
    assert_int_equal(parse(&spec, text, &faults, &err), STATUS_BAD_INPUT);
    free(faults);
    free(text);
    /* The same through mappings, which merge: 9^6 visits. */
    text = memory_string("sweep: a\nvariants:\n  v0: &v0 {seed: 1}\n");
    for (int i = 1; i <= 7; i++) {
        longer = memory_format("%s  v%d: &v%d {<<: [*v%d, *v%d, *v%d, *v%d, *v%d, *v%d, *v%d, *v%d, *v%d]}\n", text, i,
                               i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        free(text);
        text = longer;
    }
    assert_int_equal(parse(&spec, text, &faults, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(faults, "values, aliases counted each time"));
    free(faults);
    free(text);
}

static void limits(void **state)
{
    (void)state;
    struct spec spec;
    struct error err;
    char *faults, *text = memory_alloc(SPEC_FILE_MOST + 100, 1);
    memset(text, '#', SPEC_FILE_MOST + 1);
    memcpy(text, "sweep: a\n#", 10);
    assert_int_equal(parse(&spec, text, &faults, &err), STATUS_BAD_INPUT);
    assert_string_equal(faults, "s.yaml:1:1: want at most 1048576 bytes, got 1048577\n");
    free(faults);
    text[SPEC_FILE_MOST] = '\0';
    assert_int_equal(parse(&spec, text, &faults, &err), STATUS_OK);
    free(faults);
    spec_fini(&spec);
    expect_good(&spec, "sweep: a\nrun: {pack: 64}\n");
    assert_int_equal(spec.limits.pack, SPEC_PACK_MOST);
    spec_fini(&spec);
    const char *const packs[] = {"0", "65", "two"};
    for (int i = 0; i < 3; i++) {
        snprintf(text, 100, "sweep: a\nrun: {pack: %s}\n", packs[i]);
        assert_int_equal(parse(&spec, text, &faults, &err), STATUS_BAD_INPUT);
        assert_non_null(strstr(faults, "s.yaml:2:13: pack: want "));
        free(faults);
    }
    /* 100,000 is allowed. */
    expect_good(&spec, "sweep: a\nvariants: {a: {}, b: {aux.lambda: 1}}\ngrid: {seed: {range: [1, 50000]}}\n");
    assert_int_equal(spec.run_count, 100000);
    spec_fini(&spec);
    /* Thousands of faults: a thousand are told, and that there are more. */
    size_t at = (size_t)snprintf(text, 100, "sweep: a\nexclude:\n");
    for (int i = 0; i < 1024; i++)
        at += (size_t)snprintf(text + at, 100, "- {zzz%d: 1, yyy: 2}\n", i);
    assert_int_equal(parse(&spec, text, &faults, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(faults, "s.yaml: and more\n"));
    free(faults);
    free(text);
}

static void exclude_matches_by_value(void **state)
{
    (void)state;
    struct spec spec;
    /* 0.0001 and 1e-4 are one value; the preset's width counts too; a variant's name is a key. */
    expect_good(&spec, "sweep: a\nvariants: {a: {taper.sites: none}, b: {taper.sites: all}}\n"
                       "grid: {train.lr: [1e-4, 2e-4], model.size: [1M, 3M]}\n"
                       "exclude: [{train.lr: 0.0001, model.d_model: 128}, {variant: b, train.lr: 0.00020}]\n");
    assert_int_equal(spec.run_count, 8 - 2 - 2);
    spec_fini(&spec);
    /* What is excluded need not be a possible configuration. */
    expect_good(&spec, "sweep: a\nbase: {taper.sites: all}\ngrid: {gate.end: [1%, 50%]}\nexclude: [{gate.end: 1%}]\n");
    assert_int_equal(spec.run_count, 1);
    spec_fini(&spec);
}

static void ranges(void **state)
{
    (void)state;
    struct spec spec;
    expect_good(&spec, "sweep: a\ngrid: {train.lr: {range: [0.1, 0.5, 0.1]}, seed: {range: [3, 9, 3]}}\n");
    assert_int_equal(spec.axes[0].count, 5);
    assert_string_equal(spec.axes[0].values[2], "0.3");
    assert_string_equal(spec.axes[0].values[4], "0.5");
    assert_int_equal(spec.axes[1].count, 3);
    assert_string_equal(spec.axes[1].values[2], "9");
    spec_fini(&spec);
}

static void durations(void **state)
{
    (void)state;
    int64_t us;
    assert_int_equal(spec_duration("12h", &us), 0);
    assert_true(us == 43200ll * 1000000);
    assert_int_equal(spec_duration("1d2h3m4s", &us), 0);
    assert_true(us == (86400ll + 7200 + 180 + 4) * 1000000);
    static const char *const bad[] = {"",     "5",  "h",   "-1h",         "1.5h", "1h1h",
                                      "1m1h", "0s", "1h ", "9999999999s", "1w",   "99999d"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(spec_duration(bad[i], &us), -1);
}

static void faults_fit_an_error(void **state)
{
    (void)state;
    struct spec spec;
    struct error err = {0};
    char text[32768] = "sweep: a\nbase:\n";
    for (int i = 0; i < 900; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  wrong.key.%d: 1\n", i);
    assert_int_equal(spec_parse(&spec, text, strlen(text), "s.yaml", "/", NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "s.yaml:3:3: unknown key 'wrong.key.0'\n"));
    assert_non_null(strstr(err.text, " more errors"));
    assert_true(strlen(err.text) < sizeof err.text);
}

static void configuration_files(void **state)
{
    (void)state;
    char path[] = "/tmp/test_spec.XXXXXX";
    int fd = mkstemp(path);
    struct config cfg, before;
    struct error err = {0};
    assert_true(fd >= 0);
    close(fd);
    config_init(&cfg);
    const char *good = "model.size: 1M\ntrain.lr: 1e-3 # comment\nseed: 3\ndata.corpus: some/where\n";
    assert_int_equal(file_write_all(path, good, strlen(good), &err), STATUS_OK);
    assert_int_equal(config_load_yaml(&cfg, path, NULL, &err), STATUS_OK);
    assert_true(cfg.seed == 3 && cfg.lr == 1e-3 && !cfg.finished);
    assert_string_equal(cfg.corpus, "some/where");
    before = cfg;
    const char *bad = "seed: 4\nsed: 4\nmodel.bias: no\n";
    char *faults, *wanted = memory_format("%s:2:1: unknown key 'sed' (did you mean seed?)\n"
                                          "%s:3:13: model.bias: want true or false, got 'no'\n",
                                          path, path);
    size_t size;
    FILE *out = open_memstream(&faults, &size);
    assert_int_equal(file_write_all(path, bad, strlen(bad), &err), STATUS_OK);
    assert_int_equal(config_load_yaml(&cfg, path, out, &err), STATUS_BAD_INPUT);
    fclose(out);
    assert_string_equal(faults, wanted);
    assert_memory_equal(&cfg, &before, sizeof cfg);
    free(faults);
    free(wanted);
    const char *sweep = "sweep: x\nbase: {}\n";
    assert_int_equal(file_write_all(path, sweep, strlen(sweep), &err), STATUS_OK);
    assert_int_equal(config_load_yaml(&cfg, path, NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "this file is a sweep"));
    assert_int_equal(file_write_all(path, "", 0, &err), STATUS_OK);
    assert_int_equal(config_load_yaml(&cfg, path, NULL, &err), STATUS_OK);
    unlink(path);
    assert_int_equal(config_load_yaml(&cfg, path, NULL, &err), STATUS_BAD_INPUT);
    assert_int_equal(config_load_yaml(&cfg, "/tmp", NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "Is a directory"));
}

/* Cutting, doubling and overwriting bytes of good sweeps: an answer each time, and no fault without its place. */
static void mangled_sweeps_get_an_answer(void **state)
{
    (void)state;
    struct rng_stream rng = {.seed = 11, .use = RNG_TEST};
    uint64_t n = 0;
    int rounds = getenv("TAPER_TEST_FLAVOUR") && strcmp(getenv("TAPER_TEST_FLAVOUR"), "release") != 0 ? 400 : 3000;
    for (int round = 0; round < rounds; round++) {
        size_t size = strlen(example);
        char text[sizeof example];
        memcpy(text, example, sizeof text);
        for (uint64_t edits = 1 + rng_below(&rng, n++, 4); edits; edits--) {
            size_t at = rng_below(&rng, n++, size);
            static const char bytes[] = "{}[]:,&*!|>'\"%@`#-? \n\t0az<\xc3\x01";
            text[at] = bytes[rng_below(&rng, n++, sizeof bytes - 1)];
            if (rng_below(&rng, n++, 20) == 0)
                size = at + 1;
        }
        struct spec spec;
        struct error err = {0};
        int status = spec_parse(&spec, text, size, "s.yaml", "/", NULL, &err);
        assert_true(status == STATUS_OK || (status == STATUS_BAD_INPUT && strncmp(err.text, "s.yaml:", 7) == 0));
        spec_fini(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_expands),
        cmocka_unit_test(smallest_sweep),
        cmocka_unit_test(all_faults_at_once),
        cmocka_unit_test(single_faults),
        cmocka_unit_test(scalars_are_typed_by_the_key),
        cmocka_unit_test(anchors_and_merges),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(alias_bombs_are_bounded),
        cmocka_unit_test(limits),
        cmocka_unit_test(exclude_matches_by_value),
        cmocka_unit_test(ranges),
        cmocka_unit_test(durations),
        cmocka_unit_test(faults_fit_an_error),
        cmocka_unit_test(configuration_files),
        cmocka_unit_test(mangled_sweeps_get_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
