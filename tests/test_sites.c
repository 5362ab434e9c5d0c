/* Sites that leave one by one: a schedule is all it takes. Training, resuming, decoding and folding follow it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/decode/decoder.h"
#include "core/train/checkpoint.h"
#include "core/train/trainer.h"
#include "core/trained/fold.h"
#include "tests/support/data.h"
#include "tests/support/tiny_model.h"

enum { B = 2, T = 8, WARMUP = 3, STEPS = 20, MIDDLE = 8 };

/* From the last site to the first: each is at one half for a step, then at 0. Step WARMUP + 1 begins. */
static double one_by_one(const struct config *cfg, const struct param_table *table, int site, int64_t k)
{
    (void)cfg;
    const int64_t falls = WARMUP + 1 + 2 * (table->site_count - 1 - site);
    return k < falls ? 1 : k == falls ? 0.5 : 0;
}

struct subject {
    struct backend *be;
    struct model m;
    struct trainer t;
};

static struct config config(const char *norm)
{
    return tiny_model_config((const char *const[]){"taper.sites=all", "aux.lambda=0.1", "train.steps=20",
                                                   "gate.warmup=3", "gate.end=10", "train.lr=1e-2", norm, NULL});
}

static void open_subject(struct subject *s, const struct config *cfg, const struct ops *ops)
{
    const struct backend_options options = {.threads = 1, .precision = PRECISION_FP32};
    struct error err = {0};
    if (ops->create(&s->be, &options, &err) || model_create(&s->m, cfg, ops, s->be, &err) ||
        model_initialize(&s->m, &err) || trainer_create(&s->t, &s->m, B, T, &err))
        fail_msg("%s", err.text);
    s->t.schedule = one_by_one;
}

static void close_subject(struct subject *s)
{
    const struct ops *ops = s->m.ops;
    trainer_destroy(&s->t);
    model_destroy(&s->m);
    ops->destroy(s->be);
}

/* Of the step after `step`. */
static void fill_windows(int32_t windows[B * (T + 1)], int64_t step)
{
    const struct rng_stream stream = {.seed = 5, .use = RNG_TEST, .second = (uint64_t)step};
    for (int i = 0; i < B * (T + 1); i++)
        windows[i] = (int32_t)rng_below(&stream, (uint64_t)i, 60);
}

static void run_steps(struct subject *s, int64_t last, double *loss)
{
    struct error err = {0};
    while (s->t.step < last) {
        int32_t windows[B * (T + 1)];
        struct step_report report = {0};
        fill_windows(windows, s->t.step);
        if (trainer_step(&s->t, windows, true, &report, &err))
            fail_msg("%s", err.text);
        if (loss)
            loss[report.step - 1] = report.stats.ce;
    }
}

/* Each site's vectors are updated while they are on the graph, and count for themselves. */
static void counts_belong_to_sites(void **state)
{
    (void)state;
    struct config cfg = config("model.norm=layernorm");
    struct subject s;
    open_subject(&s, &cfg, ops_cpu());
    run_steps(&s, STEPS, NULL);
    for (int i = 0; i < s.m.table.site_count; i++) {
        const struct param_site *site = &s.m.table.sites[i];
        const int64_t falls = WARMUP + 1 + 2 * (s.m.table.site_count - 1 - i);
        assert_int_equal(s.t.adam_step[site->gamma_counter], falls < STEPS ? falls : STEPS);
        assert_int_equal(s.t.adam_step[site->tilde_counter], STEPS - falls + 1);
        assert_int_equal(s.m.site_phase[i], PHASE_FOLDED);
    }
    assert_int_equal(s.t.adam_step[COUNTER_ALWAYS], STEPS);
    close_subject(&s);
}

/* The two implementations agree while sites stand in all three phases at once. */
static void backends_agree(void **state)
{
    (void)state;
    for (int layer = 0; layer < 2; layer++) {
        struct config cfg = config(layer ? "model.norm=layernorm" : "model.norm=rmsnorm");
        struct subject a, b;
        double want[STEPS], got[STEPS];
        open_subject(&a, &cfg, ops_reference());
        open_subject(&b, &cfg, ops_cpu());
        run_steps(&a, MIDDLE, want);
        run_steps(&b, MIDDLE, got);
        unsigned seen = 0;
        for (int i = 0; i < a.m.table.site_count; i++)
            seen |= 1u << a.m.site_phase[i];
        assert_int_equal(seen, 1u << PHASE_NORMED | 1u << PHASE_MIXED | 1u << PHASE_FOLDED);
        run_steps(&a, STEPS, want);
        run_steps(&b, STEPS, got);
        for (int k = 0; k < STEPS; k++)
            if (!(tiny_model_difference(&(float){(float)got[k]}, &(float){(float)want[k]}, 1) < 1e-4))
                fail_msg("step %d: loss %g, reference %g", k + 1, got[k], want[k]);
        close_subject(&a);
        close_subject(&b);
    }
}

/* A run that is stopped between two removals ends with the same bits. */
static void resume_between(schedule_site *schedule, const char *order)
{
    struct config cfg = tiny_model_config((const char *const[]){"taper.sites=all", "aux.lambda=0.1", "train.steps=20",
                                                                "gate.warmup=3", "gate.end=10", "train.lr=1e-2",
                                                                "model.norm=layernorm", "gate.gap=2", order, NULL});
    const struct checkpoint_data data = {"corpus", "tokenizer"};
    struct error err = {0};
    struct subject whole, first, second;
    char *folder = data_folder_make(), *path = file_join(folder, "checkpoint.safetensors");
    open_subject(&whole, &cfg, ops_cpu());
    open_subject(&first, &cfg, ops_cpu());
    open_subject(&second, &cfg, ops_cpu());
    whole.t.schedule = first.t.schedule = second.t.schedule = schedule;
    run_steps(&whole, STEPS, NULL);
    run_steps(&first, MIDDLE, NULL);
    if (checkpoint_write(path, NULL, &first.t, &data, &err) || checkpoint_read(path, &second.t, &data, &err))
        fail_msg("%s", err.text);
    run_steps(&second, STEPS, NULL);
    float *want = model_download(&whole.m, whole.m.params), *got = model_download(&second.m, second.m.params);
    assert_memory_equal(got, want, whole.m.table.total * sizeof *want);
    free(want);
    free(got);
    close_subject(&whole);
    close_subject(&first);
    close_subject(&second);
    free(path);
    data_folder_remove(folder);
}

static void resumes_between_removals(void **state)
{
    (void)state;
    resume_between(one_by_one, "gate.order=together");
    resume_between(schedule_site_gate, "gate.order=sequential");
    resume_between(schedule_site_gate, "gate.order=reversed");
}

/* Decoding takes each site as it stands, and at the end all fold. */
static void decodes_and_folds(void **state)
{
    (void)state;
    struct config cfg = config("model.norm=rmsnorm");
    struct error err = {0};
    struct subject s;
    int32_t ids[2 * T];
    const size_t V = (size_t)cfg.vocab;
    open_subject(&s, &cfg, ops_cpu());
    run_steps(&s, MIDDLE, NULL);
    for (int i = 0; i < 2 * T; i++)
        ids[i] = i * 7 % 60;
    struct activations a;
    float *logits = memory_alloc(T * V, sizeof *logits);
    assert_int_equal(activations_create(&a, &s.m, 1, T, false, &err), STATUS_OK);
    memcpy(a.tokens, ids, T * sizeof *ids);
    memset(a.targets, 0xff, T * sizeof *a.targets);
    transformer_pass(&s.m, &a, &(struct pass){.grad_scale = 1, .logits = logits});
    for (int kind = DECODER_CPU; kind <= DECODER_OPS; kind++) {
        struct decoder *d;
        assert_int_equal(
            decoder_create(&d, &s.m,
                           &(struct decoder_options){.batch = 1, .threads = 2, .kind = (enum decoder_kind)kind}, &err),
            STATUS_OK);
        assert_int_equal(decoder_feed(d, 0, ids, T - 1, &err), STATUS_OK);
        assert_int_equal(decoder_step(d, ids + T - 1, 1, &err), STATUS_OK);
        assert_true(tiny_model_difference(decoder_logits(d, 0), logits + (T - 1) * V, V) < 5e-6);
        decoder_destroy(d);
    }
    activations_destroy(&a, &s.m);
    free(logits);

    run_steps(&s, STEPS, NULL);
    struct model folded;
    struct logits_difference check;
    if (fold_model(&s.m, &folded, &err) || fold_verify(&s.m, &folded, ids, 2, T, &check, &err))
        fail_msg("%s", err.text);
    assert_true(check.error < 1e-5);
    model_destroy(&folded);
    close_subject(&s);
}

/* Gates that fall one after another, as the configuration says it: each site's c is the average up to the step at which
 * its own gate begins to fall, of what it then sees of the sites before it. */
static void each_is_calibrated_to_its_own_end(void **state)
{
    (void)state;
    for (int reversed = 0; reversed < 2; reversed++) {
        struct config cfg = tiny_model_config(
            (const char *const[]){"taper.sites=all", "train.steps=20", "gate.warmup=3", "gate.end=6", "gate.gap=2",
                                  reversed ? "gate.order=reversed" : "gate.order=sequential", "train.lr=0",
                                  "taper.ema=0.5", "model.norm=layernorm", NULL});
        struct subject s, probe;
        double sums[5][2] = {{0}}, means[5 * SITE_SUMS], want[5];
        open_subject(&s, &cfg, ops_cpu());
        open_subject(&probe, &cfg, ops_reference());
        s.t.schedule = probe.t.schedule = schedule_of(&cfg);
        for (int64_t k = 1; k <= STEPS; k++) {
            const int64_t before = k - 1;
            int32_t windows[B * (T + 1)];
            struct error err = {0};
            double gates[5];
            for (int i = 0; i < 5; i++)
                if (schedule_calibrated(&cfg, &s.m.table, i) == before)
                    probe.m.c[i] = (float)(want[i] = sums[i][0] / sums[i][1]);
            fill_windows(windows, before);
            schedule_gates(schedule_of(&cfg), &cfg, &s.m.table, k, gates);
            assert_int_equal(trainer_debug_pass(&probe.t, windows, gates, 0, false, NULL, &err), STATUS_OK);
            trainer_site_means(&probe.t, means);
            for (int i = 0; i < 5; i++)
                for (int n = 0; n < 2; n++)
                    sums[i][n] = 0.5 * sums[i][n] + 0.5 * means[i * SITE_SUMS + n];
            run_steps(&s, k, NULL);
        }
        for (int i = 0; i < 5; i++)
            assert_true(fabs((double)s.m.c[i] / want[i] - 1) < 1e-5);
        assert_true(model_largest_gate(&s.m) == 0);
        close_subject(&s);
        close_subject(&probe);
    }
}

/* The same phases have the same name, other phases another: what a backend recorded under one is not run under another.
 */
static void epochs_name_phases(void **state)
{
    (void)state;
    struct config cfg = config("model.norm=rmsnorm");
    struct subject s;
    double gates[16];
    open_subject(&s, &cfg, ops_cpu());
    const uint64_t normed = s.m.epoch;
    for (int i = 0; i < s.m.table.site_count; i++)
        gates[i] = 1;
    gates[1] = 0.5;
    model_set_gates(&s.m, gates);
    const uint64_t mixed = s.m.epoch;
    gates[1] = 0.25;
    model_set_gates(&s.m, gates);
    assert_true(s.m.epoch == mixed && mixed != normed);
    gates[1] = 0;
    model_set_gates(&s.m, gates);
    assert_true(s.m.epoch != mixed && s.m.epoch != normed);
    model_set_gate(&s.m, 1);
    assert_true(s.m.epoch == normed);
    close_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_belong_to_sites),   cmocka_unit_test(backends_agree),
        cmocka_unit_test(resumes_between_removals), cmocka_unit_test(decodes_and_folds),
        cmocka_unit_test(epochs_name_phases),       cmocka_unit_test(each_is_calibrated_to_its_own_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
