/* The section `points` of a sweep: keys that go together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/spec/spec.h"

static int parse(struct spec *spec, const char *points, struct error *err)
{
    char *text = memory_format("sweep: s\n"
                               "base: {train.steps: 20}\n"
                               "variants: {vanilla: {aux.lambda: 0}, all: {taper.sites: all}}\n"
                               "grid: {seed: [0, 1]}\n"
                               "points: %s\n",
                               points);
    const int status = spec_parse(spec, text, strlen(text), "s.yaml", "/somewhere", NULL, err);
    free(text);
    return status;
}

static void keys_go_together(void **state)
{
    static const struct {
        int64_t d, steps;
        double lr, lambda;
    } want[] = {{64, 20, 1e-3, 0.1}, {128, 40, 2e-3, 0.1}, {64, 20, 2e-3, 0.3}};
    struct spec spec;
    struct error err = {0};
    (void)state;
    if (parse(&spec,
              "\n"
              "  - {model.size: demo, train.steps: 20, train.lr: 1e-3, aux.lambda: 0.1}\n"
              "  - {model.size: 3M, train.lr: 2e-3, train.steps: 40, aux.lambda: 0.1}\n"
              "  - {aux.lambda: 0.3, model.size: demo, train.steps: 20, train.lr: 2e-3}",
              &err))
        fail_msg("%s", err.text);
    assert_int_equal(spec.run_count, 12);
    for (int64_t i = 0; i < spec.run_count; i++) { /* a point with its whole grid, then the next one */
        struct config cfg;
        const int variant = spec_run(&spec, i, &cfg), point = (int)i / 4;
        assert_int_equal(variant, i % 2);
        assert_int_equal(cfg.seed, i / 2 % 2);
        assert_int_equal(cfg.d_model, want[point].d);
        assert_int_equal(cfg.steps, want[point].steps);
        assert_true(cfg.lr == want[point].lr);
        assert_true(cfg.aux_lambda == (variant ? want[point].lambda : 0)); /* a variant's own value wins */
    }
    struct spec_points *points = spec_points_create(&spec);
    char *json = spec_point(points, 11);
    assert_string_equal(json, "{\"seed\":1,\"model.size\":\"demo\",\"train.steps\":20,\"train.lr\":0.002,\"aux."
                              "lambda\":0.29999999999999999}");
    free(json);
    spec_points_destroy(points);
    spec_fini(&spec);
}

static void faults(void **state)
{
    static const char *const rows[][2] = {
        {"{model.size: demo}", "s.yaml:5:9: points: want a list of 1 to 1000 mappings"},
        {"[]", "points: want a list of 1 to 1000 mappings"},
        {"[demo]", "s.yaml:5:10: points: want mappings of configuration keys"},
        {"[{}]", "s.yaml:5:10: points: an empty mapping"},
        {"[{model.size: demo}, {}]", "s.yaml:5:30: points: an empty mapping"},
        {"[{model.sizes: demo}]", "unknown key 'model.sizes' (did you mean model.size?)"},
        {"[{model.size: demo}, {model.sizes: demo}]", "unknown key 'model.sizes' (did you mean model.size?)"},
        {"[{model.size: demo, seed: 1}]", "s.yaml:5:29: seed: is in the grid too"},
        {"[{model.size: demo}, {seed: 1}]", "s.yaml:5:31: seed: is in the grid too"},
        {"[{model.size: demo}, {model.size: 1M, train.lr: 1}]",
         "s.yaml:5:47: train.lr: is not in the first point; every point sets the same keys"},
        {"[{model.size: demo, train.lr: 1}, {model.size: 1M}]",
         "s.yaml:5:43: points: this one lacks train.lr, which the first has"},
        {"[{model.size: demo}, {model.size: 1M}, {model.size: demo}]",
         "s.yaml:5:48: points: this one is in the list twice"},
        {"[{train.lr: 1}, {train.lr: 1.0}]", "points: this one is in the list twice"},
        {"[{train.lr: [1, 2]}]", "s.yaml:5:21: train.lr: want one value, got a list"},
        {"[{train.lr: fast}]", "train.lr: want a number"},
        {"[{train.steps: 20}, {train.steps: 30}]\nsearch: {runs: 2, sample: {train.lr: {log: [1e-4, 1e-3]}}}",
         "s.yaml:6:9: search: want this or points, got both"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spec spec;
        struct error err = {0};
        assert_int_equal(parse(&spec, rows[i][0], &err), STATUS_BAD_INPUT);
        if (!strstr(err.text, rows[i][1]))
            fail_msg("%s\nwanted %s\ngot %s", rows[i][0], rows[i][1], err.text);
    }
}

/* A key that every variant sets itself would be there for nothing. */
static void a_key_for_nothing(void **state)
{
    static const char text[] = "sweep: s\nvariants: {a: {train.lr: 1}, b: {train.lr: 2}}\n"
                               "points: [{train.lr: 1, seed: 1}, {train.lr: 2, seed: 2}]\n";
    struct spec spec;
    struct error err = {0};
    (void)state;
    assert_int_equal(spec_parse(&spec, text, strlen(text), "s.yaml", "/somewhere", NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "s.yaml:3:9: points: train.lr counts for no run: the variants set it themselves"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_go_together),
        cmocka_unit_test(faults),
        cmocka_unit_test(a_key_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
