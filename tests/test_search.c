/* The section `search` of a sweep: what is drawn, from what, and for whom. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/spec/sobol.h"
#include "harness/spec/spec.h"

static void load(struct spec *spec, const char *search)
{
    struct error err = {0};
    char *text = memory_format("sweep: s\n"
                               "base: {model.size: demo, train.steps: 20}\n"
                               "variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}\n"
                               "grid: {seed: [0, 1, 2]}\n"
                               "search: %s\n",
                               search);
    const int status = spec_parse(spec, text, strlen(text), "s.yaml", "/somewhere", NULL, &err);
    if (status)
        fail_msg("%s", err.text);
    free(text);
}

static void expect_fault(const char *search, const char *wanted)
{
    struct spec spec;
    struct error err = {0};
    char *text = memory_format("sweep: s\nbase: {model.size: demo}\ngrid: {seed: [0]}\nsearch: %s\n", search);
    assert_int_equal(spec_parse(&spec, text, strlen(text), "s.yaml", "/somewhere", NULL, &err), STATUS_BAD_INPUT);
    if (!strstr(err.text, wanted))
        fail_msg("%s\nwanted %s\ngot %s", search, wanted, err.text);
    free(text);
}

/* Every first 2^k points have one in each of 2^k parts of each dimension; the first two dimensions also in each of
 * the rectangles that 2^k parts can be made of. */
static void sobol_is_even(void **state)
{
    enum { MOST = 10, PARTS = 1 << MOST };
    static int seen[PARTS];
    (void)state;
    for (int d = 0; d < SOBOL_DIMENSIONS; d++)
        for (int k = 0; k <= MOST; k++) {
            memset(seen, 0, sizeof seen);
            for (uint32_t i = 0; i < 1u << k; i++)
                seen[(int)(sobol_value(d, i, 0x9e3779b9u + (uint32_t)d) * (1 << k))]++;
            for (int part = 0; part < 1 << k; part++)
                assert_int_equal(seen[part], 1);
        }
    for (int a = 0; a <= MOST; a++) {
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < PARTS; i++)
            seen[((int)(sobol_value(0, i, 7) * (1 << a)) << (MOST - a)) +
                 (int)(sobol_value(1, i, 9) * (1 << (MOST - a)))]++;
        for (int part = 0; part < PARTS; part++)
            assert_int_equal(seen[part], 1);
    }
}

/* What was drawn once is drawn for ever, on every machine: these values are pinned. */
static void samples_are_pinned(void **state)
{
    static const char *const wanted[2][2][3] = {
        {{"0.001999", "0.001117", "0.0008024"}, {"1", "1", "3"}},
        {{"0.0001376", "0.01285", "0.001005"}, {"1", "3", "3"}},
    };
    (void)state;
    for (int sobol = 0; sobol < 2; sobol++) {
        struct spec spec;
        load(&spec,
             sobol ? "{runs: 3, sobol: true, sample: {train.lr: {log: [1e-4, 3e-2]}, model.layers: {integer: [1, 3]}}}"
                   : "{runs: 3, sample: {train.lr: {log: [1e-4, 3e-2]}, model.layers: {integer: [1, 3]}}}");
        for (int i = 0; i < 3; i++) {
            assert_string_equal(spec_run_value(&spec, 6 * i, 1), wanted[sobol][0][i]);
            assert_string_equal(spec_run_value(&spec, 6 * i, spec.axis_count - 1), wanted[sobol][1][i]);
        }
        spec_fini(&spec);
    }
}

/* Sample by sample its whole grid, in it every variant; more samples leave the first as they are. */
static void samples_are_paired_and_grow(void **state)
{
    struct spec few, many;
    struct config a, b;
    (void)state;
    load(&few, "{runs: 5, seed: 3, sample: {train.lr: {log: [1e-4, 3e-2]}}}");
    load(&many, "{runs: 9, seed: 3, sample: {train.lr: {log: [1e-4, 3e-2]}, model.layers: {integer: [1, 4]}}}");
    assert_int_equal(few.run_count, 5 * 3 * 2);
    assert_int_equal(many.run_count, 9 * 3 * 2);
    for (int64_t i = 0; i < few.run_count; i++) {
        assert_int_equal(spec_run(&few, i, &a), i % 2);
        spec_run(&many, i, &b);
        assert_true(a.lr == b.lr && a.seed == b.seed && a.seed == i / 2 % 3);
        assert_int_equal(spec_run_place(&few, i, 1), i / 6);
        spec_run(&few, i - i % 6, &b); /* the sample's first */
        assert_true(a.lr == b.lr);
    }
    spec_fini(&few);
    spec_fini(&many);
}

/* Many draws lie where the distribution says. */
static void distributions(void **state)
{
    enum { RUNS = 2000 };
    struct spec spec;
    double lr = 0, decay = 0, squares = 0, end = 0;
    int layers[5] = {0}, swiglu = 0, heavy = 0;
    (void)state;
    load(&spec,
         "{runs: 2000, sample: {train.lr: {log: [1e-4, 1e-2]}, train.weight_decay: {normal: [0.1, 0.02]}, "
         "gate.end: {uniform: [20%, 80%]}, model.layers: {integer: [1, 4]}, model.mlp: {choice: [gelu, swiglu]}, "
         "train.batch: {log: [1, 64]}}}");
    for (int64_t i = 0; i < spec.run_count; i += 6) {
        struct config cfg;
        spec_run(&spec, i + 1, &cfg);
        assert_true(cfg.lr >= 1e-4 && cfg.lr <= 1e-2 && cfg.batch >= 1 && cfg.batch <= 64);
        assert_true(cfg.layers >= 1 && cfg.layers <= 4);
        lr += log10(cfg.lr) / RUNS;
        decay += cfg.weight_decay / RUNS;
        squares += (cfg.weight_decay - 0.1) * (cfg.weight_decay - 0.1) / RUNS;
        end += strtod(spec_run_value(&spec, i, 3), NULL) / RUNS;
        layers[cfg.layers]++;
        swiglu += cfg.mlp == MLP_SWIGLU;
        heavy += cfg.batch > 8;
    }
    assert_true(fabs(lr + 3) < 0.05 && fabs(decay - 0.1) < 0.002 && fabs(sqrt(squares) - 0.02) < 0.002);
    assert_true(fabs(end - 50) < 1.5 && abs(swiglu - RUNS / 2) < 100 && abs(heavy - RUNS * 41 / 100) < 120);
    for (int l = 1; l <= 4; l++)
        assert_true(abs(layers[l] - RUNS / 4) < 80);
    spec_fini(&spec);
}

static void conditions_hold(void **state)
{
    struct spec spec;
    (void)state;
    load(&spec, "{runs: 4, sample: {aux.lambda: {log: [0.01, 1], when: {taper.sites: [internal, all]}}}}");
    for (int64_t i = 0; i < spec.run_count; i++) {
        struct config cfg;
        const int variant = spec_run(&spec, i, &cfg);
        assert_true(variant == 0 ? cfg.aux_lambda == 0 : cfg.aux_lambda >= 0.01);
    }
    spec_fini(&spec);
}

/* A share of the steps stays one, and steps are whole. */
static void lengths(void **state)
{
    static const char *const rows[][2] = {
        {"integer: [20%, 80%]", "%"}, {"uniform: [20%, 80%]", "%"}, {"uniform: [2, 9]", ""}, {"log: [2, 9]", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spec spec;
        char *search = memory_format("{runs: 8, sample: {gate.end: {%s}}}", rows[i][0]);
        load(&spec, search);
        for (int k = 0; k < 8; k++) {
            const char *value = spec_run_value(&spec, 6 * k, 1), *end = value + strspn(value, "0123456789");
            if (i != 1)
                assert_string_equal(end, rows[i][1]);
            assert_string_equal(end + strcspn(end, "%"), rows[i][1]);
        }
        spec_fini(&spec);
        free(search);
    }
}

static void faults(void **state)
{
    static const char *const rows[][2] = {
        {"{runs: 0, sample: {train.lr: {log: [1, 2]}}}",
         "s.yaml:4:16: runs: want an integer from 1 to 100000, got '0'"},
        {"{sample: {train.lr: {log: [1e-4, 1e-3]}}}", "s.yaml:4:9: search: want runs: N"},
        {"{runs: 2}", "s.yaml:4:9: search: want sample:"},
        {"{runs: 2, sample: {}}", "s.yaml:4:27: sample: empty"},
        {"{runs: 2, stop: x, sample: {train.lr: {log: [1e-4, 1e-3]}}}",
         "stop: want a mapping of policy, metric, rungs, keep"},
        {"{runs: 2, stap: x, sample: {train.lr: {log: [1e-4, 1e-3]}}}", "unknown key 'stap' in search"},
        {"{runs: 2, sample: {train.lr: {log: [0, 1e-3]}}}", "train.lr: log: want a range above 0, got one from 0"},
        {"{runs: 2, sample: {train.lr: {log: [1e-3, 1e-4]}}}", "train.lr: an empty range"},
        {"{runs: 2, sample: {train.lr: {log: [1e-3]}}}", "train.lr: want the ends of a range, [low, high]"},
        {"{runs: 2, sample: {train.lr: {log: [a, 1]}}}", "s.yaml:4:45: train.lr: want a number, got 'a'"},
        {"{runs: 2, sample: {train.lr: {log: [1e-4, nan]}}}", "train.lr: want a number, got 'nan'"},
        {"{runs: 2, sample: {train.lr: [1e-4]}}", "want {uniform: [low, high]}"},
        {"{runs: 2, sample: {train.lr: {}}}", "train.lr: want one of uniform, log"},
        {"{runs: 2, sample: {train.lr: {log: [1e-4, 1e-3], uniform: [1e-4, 1e-3]}}}", "train.lr: want one of uniform"},
        {"{runs: 2, sample: {train.lrr: {log: [1e-4, 1e-3]}}}", "unknown key 'train.lrr' (did you mean train.lr?)"},
        {"{runs: 2, sample: {seed: {integer: [0, 9]}}}", "seed: is in the grid too"},
        {"{runs: 2, sample: {gate.end: {uniform: [20%, 300]}}}", "gate.end: want percentages or steps, not both"},
        {"{runs: 2, sample: {model.mlp: {uniform: [1, 2]}}}", "model.mlp: is no number; want choice"},
        {"{runs: 2, sample: {model.layers: {uniform: [1, 2]}}}", "model.layers: is a whole number; want integer"},
        {"{runs: 2, sample: {train.lr: {integer: [1, 2]}}}", "train.lr: is not a whole number; want uniform"},
        {"{runs: 2, sample: {train.weight_decay: {normal: [0.1, 0]}}}", "want a deviation above 0, got 0"},
        {"{runs: 64, sample: {train.weight_decay: {normal: [0, 1]}}}",
         "(bounds: normal: [mean, deviation, low, high])"},
        {"{runs: 2, sample: {model.mlp: {choice: []}}}", "model.mlp: choice: want a list of 1 to"},
        {"{runs: 2, sample: {model.mlp: {choice: [relu]}}}", "model.mlp: "},
        {"{runs: 100000, sample: {train.lr: {log: [1e-4, 1e-3]}}, seed: -1}", "seed: want an integer from 0"},
        {"{runs: 2, sample: {aux.lambda: {log: [0.1, 1], when: {taper.sites: all}}}}",
         "search: aux.lambda is drawn for no run"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_fault(rows[i][0], rows[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sobol_is_even),   cmocka_unit_test(samples_are_pinned),
        cmocka_unit_test(distributions),   cmocka_unit_test(samples_are_paired_and_grow),
        cmocka_unit_test(conditions_hold), cmocka_unit_test(faults),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
