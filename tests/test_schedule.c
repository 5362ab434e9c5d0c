/* The gate, the learning rate, and the parameter table they act on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "core/model/params.h"
#include "core/model/schedule.h"

static struct config config_of(const char *const *pairs)
{
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    for (int i = 0; pairs[i]; i++)
        if (config_set_pair(&cfg, pairs[i], &err))
            fail_msg("%s", err.text);
    if (config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return cfg;
}

#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL})

static void cosine_gate(void **state)
{
    (void)state;
    struct config cfg = CONFIG("taper.sites=all", "train.steps=1000", "gate.warmup=50", "gate.end=400");
    assert_true(schedule_gate(&cfg, 1) == 1 && schedule_gate(&cfg, 50) == 1);
    assert_true(schedule_gate(&cfg, 51) < 1 && schedule_gate(&cfg, 399) > 0);
    assert_true(fabs(schedule_gate(&cfg, 225) - 0.5) < 1e-12); /* half way */
    assert_true(fabs(schedule_gate(&cfg, 100) - 0.5 * (1 + cos(M_PI * 50 / 350))) < 1e-12);
    assert_true(schedule_gate(&cfg, 400) == 0 && schedule_gate(&cfg, 1000) == 0);
}

static void other_gates(void **state)
{
    (void)state;
    struct config linear =
        CONFIG("taper.sites=internal", "train.steps=100", "gate.warmup=10", "gate.end=30", "gate.shape=linear");
    struct config step =
        CONFIG("taper.sites=internal", "train.steps=100", "gate.warmup=10", "gate.end=30", "gate.shape=step");
    struct config constant =
        CONFIG("taper.sites=internal", "train.steps=100", "gate.warmup=10", "gate.shape=constant", "gate.value=0.25");
    struct config none = CONFIG("taper.sites=none", "train.steps=100");
    assert_true(fabs(schedule_gate(&linear, 15) - 0.75) < 1e-12 && schedule_gate(&linear, 30) == 0);
    assert_true(schedule_gate(&step, 29) == 1 && schedule_gate(&step, 30) == 0);
    assert_true(schedule_gate(&constant, 10) == 1 && schedule_gate(&constant, 11) == 0.25 &&
                schedule_gate(&constant, 100) == 0.25);
    assert_true(schedule_gate(&none, 100) == 1);
}

/* One site after another, each on the same curve, and calibrated until it begins to fall. */
static void gates_in_order(void **state)
{
    (void)state;
    struct config together =
        CONFIG("taper.sites=all", "train.steps=100", "gate.warmup=10", "gate.end=30", "gate.gap=5");
    for (int reversed = 0; reversed < 2; reversed++) {
        struct config cfg = CONFIG("taper.sites=all", "train.steps=100", "gate.warmup=10", "gate.end=30", "gate.gap=5",
                                   "model.layers=4", reversed ? "gate.order=reversed" : "gate.order=sequential");
        struct param_table t;
        params_create(&t, &cfg);
        assert_int_equal(t.site_count, 9);
        for (int i = 0; i < 9; i++) {
            const int later = 5 * (reversed ? 8 - i : i);
            assert_int_equal(schedule_calibrated(&cfg, &t, i), 10 + later);
            for (int k = 1; k <= 100; k++)
                assert_true(schedule_site_gate(&cfg, &t, i, k) == schedule_gate(&together, k - later));
        }
        assert_int_equal(schedule_calibration_end(&cfg, &t), 50);
        assert_true(schedule_mean_gate(schedule_site_gate, &cfg, &t, 10) == 1);
        assert_true(schedule_mean_gate(schedule_site_gate, &cfg, &t, 70) == 0);
        double mean = 0;
        for (int i = 0; i < 9; i++)
            mean += schedule_site_gate(&cfg, &t, i, 33) / 9;
        assert_true(fabs(schedule_mean_gate(schedule_site_gate, &cfg, &t, 33) - mean) < 1e-12);
        params_destroy(&t);
    }
    struct config late;
    struct error err = {0};
    config_init(&late);
    for (const char *const *p = (const char *const[]){"taper.sites=internal", "train.steps=100", "gate.gap=10%",
                                                      "gate.order=sequential", NULL};
         *p; p++)
        assert_int_equal(config_set_pair(&late, *p, &err), STATUS_OK);
    assert_int_equal(config_finish(&late, &err), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "gate.gap: the last site is done at step 110, want at most train.steps 100");
}

static void learning_rates(void **state)
{
    (void)state;
    struct config cosine = CONFIG("train.steps=100", "train.lr=1", "train.lr_warmup=10", "train.lr_final=0.1");
    struct config linear =
        CONFIG("train.steps=100", "train.lr=1", "train.lr_warmup=10", "train.lr_final=0.1", "train.lr_schedule=linear");
    struct config constant = CONFIG("train.steps=100", "train.lr=1", "train.lr_warmup=0", "train.lr_schedule=constant");
    assert_true(fabs(schedule_lr(&cosine, 1) - 0.1) < 1e-12 && schedule_lr(&cosine, 10) == 1);
    assert_true(fabs(schedule_lr(&cosine, 55) - 0.55) < 1e-12 && fabs(schedule_lr(&cosine, 100) - 0.1) < 1e-12);
    assert_true(fabs(schedule_lr(&linear, 55) - 0.55) < 1e-12 && fabs(schedule_lr(&linear, 100) - 0.1) < 1e-12);
    assert_true(schedule_lr(&constant, 1) == 1 && schedule_lr(&constant, 100) == 1);
}

static void aux_after_warmup(void **state)
{
    (void)state;
    struct config on = CONFIG("train.steps=100", "gate.warmup=10", "aux.lambda=0.1"), off = CONFIG("train.steps=100");
    assert_true(!schedule_aux(&on, 10) && schedule_aux(&on, 11) && !schedule_aux(&off, 50));
}

/* The published totals, 1.0, 2.9, 8.9 and 30.3 million with a tied head, leave the position table out. */
static void published_counts(void **state)
{
    (void)state;
    const struct {
        const char *size;
        double millions, slack;
    } rows[] = {{"model.size=1M", 1.0, 0.05},
                {"model.size=3M", 2.9, 0.05},
                {"model.size=9M", 8.9, 0.05},
                {"model.size=30M", 30.3, 0.05}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg = CONFIG(rows[i].size);
        struct param_table t;
        params_create(&t, &cfg);
        double counted = (double)t.parameters - (double)t.rows[t.pos_embed].size;
        if (fabs(counted / 1e6 - rows[i].millions) > rows[i].slack)
            fail_msg("%s: %.2f million parameters", rows[i].size, counted / 1e6);
        params_destroy(&t);
    }
    struct config cfg = CONFIG("model.size=gpt2");
    struct param_table t;
    params_create(&t, &cfg);
    assert_int_equal(t.parameters, 124439808); /* as published for GPT-2 small */
    params_destroy(&t);
}

static void layout(void **state)
{
    (void)state;
    struct config cfg = CONFIG("model.norm=layernorm", "model.bias=true", "taper.sites=all", "model.d_model=20",
                               "model.heads=2", "model.vocab=31", "model.context=7");
    struct param_table t;
    params_create(&t, &cfg);
    size_t covered = 0, end = 0;
    for (int i = 0; i < t.count; i++) {
        assert_true(t.rows[i].offset % 16 == 0 && t.rows[i].offset >= end);
        end = t.rows[i].offset + t.rows[i].size;
        assert_int_equal(params_find(&t, t.rows[i].name), i);
    }
    assert_true(end <= t.total);
    for (int s = 0; s < t.segment_count; s++)
        for (int i = 0; i < t.count; i++) /* every parameter lies in one segment, updated as its row says */
            if (t.rows[i].offset >= t.segments[s].offset &&
                t.rows[i].offset < t.segments[s].offset + t.segments[s].size) {
                assert_true(t.segments[s].decay == (t.rows[i].rank == 2));
                const struct param *p = &t.rows[i];
                const struct param_site *site = p->site < 0 ? NULL : &t.sites[p->site];
                assert_int_equal(t.segments[s].counter, p->group == GROUP_TILDE   ? site->tilde_counter
                                                        : p->group == GROUP_GAMMA ? site->gamma_counter
                                                                                  : COUNTER_ALWAYS);
                covered += t.rows[i].size;
            }
    assert_int_equal(covered, t.parameters);
    params_destroy(&t);
}

static double deviation(const float *x, size_t n)
{
    double sum = 0, sum_sq = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        sum_sq += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / (double)n) < 0.002);
    return sqrt(sum_sq / (double)n);
}

static void initial_values(void **state)
{
    (void)state;
    struct config cfg =
        CONFIG("model.size=1M", "taper.sites=all", "model.norm=layernorm", "model.bias=true", "model.init_std=0.02");
    struct param_table t;
    params_create(&t, &cfg);
    float *block = malloc(t.total * sizeof *block), *again = malloc(t.total * sizeof *again);
    params_initialize(&t, &cfg, block);
    params_initialize(&t, &cfg, again);
    assert_memory_equal(block, again, t.total * sizeof *block);
    const struct param *embed = &t.rows[t.tok_embed], *out = &t.rows[t.blocks[3].mlp_out],
                       *gamma = &t.rows[t.sites[2].gamma];
    assert_true(fabs(deviation(block + embed->offset, embed->size) / 0.02 - 1) < 0.01);
    assert_true(fabs(deviation(block + out->offset, out->size) / (0.02 / 4) - 1) < 0.03); /* sqrt(2*8) = 4 */
    assert_true(block[gamma->offset] == 1 && block[t.rows[t.sites[2].beta].offset] == 0);
    cfg.seed = 1;
    params_initialize(&t, &cfg, again);
    assert_true(memcmp(block + embed->offset, again + embed->offset, embed->size * sizeof *block) != 0);
    free(block);
    free(again);
    params_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cosine_gate),    cmocka_unit_test(other_gates),      cmocka_unit_test(learning_rates),
        cmocka_unit_test(gates_in_order), cmocka_unit_test(aux_after_warmup), cmocka_unit_test(published_counts),
        cmocka_unit_test(layout),         cmocka_unit_test(initial_values),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
