/* FakeLN, from the schedule to the folded model. tests/test_golden.c holds its numbers against an independent
 * reference; here is what runs around them. */
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
#include "core/train/calibration.h"
#include "core/train/evaluate.h"
#include "core/train/trainer.h"
#include "core/trained/fold.h"
#include "core/trained/interop_internal.h"
#include "tests/support/data.h"
#include "tests/support/tiny_model.h"

enum { B = 2, T = 8, STEPS = 20, VOCAB = 301 };

struct subject {
    struct backend *be;
    struct model m;
    struct trainer t;
};

#define SCHEDULE                                                                                                       \
    "train.steps=20", "model.norm=layernorm", "model.mlp=gelu_tanh", "model.bias=true", "taper.method=fakeln",         \
        "fakeln.mlp_start=4", "fakeln.mlp_gap=1", "fakeln.qk_start=7", "fakeln.qk_gap=2", "fakeln.v_start=8",          \
        "fakeln.v_gap=5", "fakeln.final_start=15", "fakeln.ema=0.8", "gate.warmup=3"

static struct config config(const char *sites, const char *more)
{
    return tiny_model_config((const char *const[]){SCHEDULE, "train.lr=1e-2", sites, more, NULL});
}

static void open_subject(struct subject *s, const struct config *cfg, const struct ops *ops)
{
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    struct error err = {0};
    if (ops->create(&s->be, &options, &err) || model_create(&s->m, cfg, ops, s->be, &err) ||
        model_initialize(&s->m, &err) || trainer_create(&s->t, &s->m, B, T, &err))
        fail_msg("%s", err.text);
}

static void close_subject(struct subject *s)
{
    const struct ops *ops = s->m.ops;
    trainer_destroy(&s->t);
    model_destroy(&s->m);
    ops->destroy(s->be);
}

/* The windows of step k, [accumulate][B][T+1], on the heap. */
static int32_t *windows_of(const struct config *cfg, int64_t k)
{
    const int count = (int)cfg->accumulate * B * (T + 1);
    const struct rng_stream stream = {.seed = 5, .use = RNG_TEST, .second = (uint64_t)k};
    int32_t *windows = memory_alloc((size_t)count, sizeof *windows);
    for (int i = 0; i < count; i++)
        windows[i] = (int32_t)rng_below(&stream, (uint64_t)i, 60);
    return windows;
}

static void run_steps(struct subject *s, int64_t last, bool logged, struct site_stats *sites)
{
    struct error err = {0};
    while (s->t.step < last) {
        struct step_report report = {.sites = sites};
        int32_t *windows = windows_of(&s->m.cfg, s->t.step + 1);
        if (trainer_step(&s->t, windows, logged, &report, &err))
            fail_msg("%s", err.text);
        free(windows);
    }
}

static int site_named(const struct param_table *t, const char *name)
{
    for (int i = 0; i < t->site_count; i++)
        if (strcmp(t->sites[i].name, name) == 0)
            return i;
    fail_msg("no site %s", name);
    return -1;
}

/* ------------------------------------------------------------------------------------------- the schedule */

static void published_schedules(void **state)
{
    (void)state;
    static const struct {
        const char *size, *steps;
        double ema;
        int64_t mlp, qk, v, final;
    } rows[] = {{"model.size=gpt2", "train.steps=300", 0.9, 20, 44, 68, 104},
                {"model.size=gpt2-medium", "train.steps=500", 0.9, 20, 68, 116, 188},
                {"model.size=gpt2-large", "train.steps=1200", 0.912, 30, 174, 318, 534},
                {"model.size=gpt2-xl", "train.steps=1200", 0.942, 50, 242, 434, 722}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config cfg;
        struct error err = {0};
        const char *const pairs[] = {rows[i].size, rows[i].steps, "taper.sites=all", "taper.method=fakeln"};
        config_init(&cfg);
        for (int p = 0; p < 4; p++)
            assert_int_equal(config_set_pair(&cfg, pairs[p], &err), STATUS_OK);
        assert_int_equal(config_finish(&cfg, &err), STATUS_OK);
        const struct config_fakeln *f = &cfg.fakeln;
        assert_true(f->ema == rows[i].ema && f->mlp_start == rows[i].mlp && f->qk_start == rows[i].qk &&
                    f->v_start == rows[i].v && f->final_start == rows[i].final);
    }
}

/* Other sizes: between gate.warmup and gate.end, every kind behind the one before; one given, the rest follows. */
static void other_sizes_spread(void **state)
{
    (void)state;
    struct config cfg = tiny_model_config((const char *const[]){"train.steps=100", "gate.warmup=10", "gate.end=80",
                                                                "taper.sites=all", "taper.method=fakeln", NULL});
    const struct config_fakeln *f = &cfg.fakeln;
    assert_int_equal(f->mlp_start, 11);
    assert_true(f->mlp_gap == 10 && f->qk_gap == 10 && f->v_gap == 10);
    assert_true(f->qk_start == 31 && f->v_start == 51 && f->final_start == 71);
    struct config given = tiny_model_config((const char *const[]){
        "train.steps=100", "taper.sites=all", "taper.method=fakeln", "fakeln.mlp_start=20", "fakeln.mlp_gap=3", NULL});
    assert_true(given.fakeln.qk_start == 26 && given.fakeln.v_start == 32 && given.fakeln.final_start == 38);
    struct config late;
    struct error err = {0};
    config_init(&late);
    for (const char *const *p = (const char *const[]){"taper.sites=all", "taper.method=fakeln", "train.steps=100",
                                                      "fakeln.v_start=99", NULL};
         *p; p++)
        assert_int_equal(config_set_pair(&late, *p, &err), STATUS_OK);
    assert_int_equal(config_finish(&late, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "fakeln.v_start: the last of these norms goes at step "));
    assert_non_null(strstr(err.text, "want at most train.steps 100"));
}

static void name_of(const char *const *pairs, char id[CONFIG_ID])
{
    const struct config cfg = tiny_model_config(pairs);
    config_identity(&cfg, "corpus", "tokenizer", id);
}

#define NAME(id, ...) name_of((const char *const[]){"train.steps=100", __VA_ARGS__, NULL}, id)

/* A name says when the sites go, as it comes out, and nothing of it where none goes that way. */
static void names_say_the_schedule(void **state)
{
    (void)state;
    char gate[CONFIG_ID], other[CONFIG_ID], fakeln[CONFIG_ID];
    NAME(gate, "taper.sites=all");
    NAME(other, "taper.sites=all", "taper.method=gate", "fakeln.qk_start=20", "fakeln.ema=0.5");
    assert_string_equal(gate, other);
    NAME(gate, "taper.sites=none");
    NAME(other, "taper.sites=none", "taper.method=fakeln");
    assert_string_equal(gate, other);
    NAME(fakeln, "taper.sites=all", "taper.method=fakeln", "gate.end=80");
    NAME(other, "taper.sites=all", "taper.method=fakeln", "gate.end=80", "fakeln.mlp_start=2", "fakeln.v_gap=11",
         "gate.shape=linear", "taper.ema=0.5");
    assert_string_equal(fakeln, other);
    NAME(other, "taper.sites=all", "taper.method=fakeln", "gate.end=80", "fakeln.v_gap=12");
    assert_string_not_equal(fakeln, other);
    NAME(other, "taper.sites=all", "taper.method=fakeln", "gate.end=80", "fakeln.ema=0.5");
    assert_string_not_equal(fakeln, other);
}

static void sites_go_when_told(void **state)
{
    (void)state;
    struct config cfg = config("taper.sites=all", NULL), internal = config("taper.sites=internal", NULL);
    struct param_table t, u;
    params_create(&t, &cfg);
    params_create(&u, &internal);
    static const struct {
        const char *site;
        int step;
    } removals[] = {{"blocks.0.mlp_norm", 4},  {"blocks.1.mlp_norm", 5},   {"blocks.0.attn_norm", 7},
                    {"blocks.1.attn_norm", 9}, {"blocks.0.value_norm", 8}, {"blocks.1.value_norm", 13},
                    {"final_norm", 15}};
    assert_int_equal(t.site_count, 7);
    for (int i = 0; i < 7; i++)
        for (int k = 1; k <= STEPS; k++)
            assert_true(schedule_of(&cfg)(&cfg, &t, site_named(&t, removals[i].site), k) == (k < removals[i].step));
    assert_true(schedule_mean_gate(schedule_of(&cfg), &cfg, &t, 3) == 1);
    assert_true(schedule_mean_gate(schedule_of(&cfg), &cfg, &t, 15) == 0);
    assert_true(fabs(schedule_mean_gate(schedule_of(&cfg), &cfg, &t, 7) - 4.0 / 7) < 1e-12);
    assert_false(u.sites[u.final_site].tapered);
    /* One gamma and beta for Q, K and V, and no others; all of them always in training. */
    const struct param_site *qk = &t.sites[t.blocks[1].attn_site], *v = &t.sites[t.blocks[1].value_site];
    assert_true(qk->gamma == v->gamma && qk->beta == v->beta && qk->gamma == qk->gamma_tilde);
    assert_int_equal(params_find(&t, "blocks.1.attn_norm.gamma_tilde"), NO_PARAM);
    assert_int_equal(t.counters, 1);
    params_destroy(&t);
    params_destroy(&u);
}

/* ------------------------------------------------------------------------------------------- sigma_avg */

/* The mean scale of every site over one micro-batch, V's as its own. */
static void scales_of(struct subject *s, const int32_t *windows, double *scales)
{
    struct error err = {0};
    double *means = memory_alloc((size_t)s->m.table.site_count * SITE_SUMS, sizeof *means);
    double *gates = memory_alloc((size_t)s->m.table.site_count, sizeof *gates);
    memcpy(gates, s->m.site_gate, (size_t)s->m.table.site_count * sizeof *gates);
    assert_int_equal(trainer_debug_pass(&s->t, windows, gates, 0, false, NULL, &err), STATUS_OK);
    trainer_site_means(&s->t, means);
    for (int i = 0; i < s->m.table.site_count; i++)
        scales[i] = means[i * SITE_SUMS + SUM_SCALE];
    free(gates);
    free(means);
}

/* By hand over the forward passes before each removal, two a step; the weights stand still, so that a pass says what
 * the step saw. What removed sites change downstream is seen as well. */
static void averages_are_of_forward_passes(void **state)
{
    (void)state;
    struct config cfg =
        tiny_model_config((const char *const[]){SCHEDULE, "train.lr=0", "taper.sites=all", "train.accumulate=2", NULL});
    struct subject s, probe;
    double average[7] = {0}, scales[7], frozen[7] = {0};
    open_subject(&s, &cfg, ops_cpu());
    open_subject(&probe, &cfg, ops_reference());
    const struct param_table *table = &s.m.table;
    for (int k = 1; k <= STEPS; k++) {
        for (int i = 0; i < 7; i++)
            if (schedule_removal(&cfg, table, i) == k) {
                frozen[i] = average[i] / (1 - pow(0.8, 2.0 * (k - 1)));
                probe.m.c[i] = (float)(1 / frozen[i]);
            }
        int32_t *windows = windows_of(&cfg, k);
        trainer_set_gates(&probe.t, k);
        for (int pass = 0; pass < 2; pass++) {
            scales_of(&probe, windows + (size_t)pass * B * (T + 1), scales);
            for (int i = 0; i < 7; i++)
                average[i] = 0.8 * average[i] + 0.2 * scales[i];
        }
        free(windows);
        run_steps(&s, k, k % 3 == 0, NULL);
    }
    for (int i = 0; i < 7; i++)
        if (!(fabs(calibration_removed_scale(&s.t, i) / frozen[i] - 1) < 1e-5))
            fail_msg("%s: sigma_avg %.9g, want %.9g", table->sites[i].name, calibration_removed_scale(&s.t, i),
                     frozen[i]);
    /* V's average went on where Q's and K's had ended. */
    assert_true(frozen[table->blocks[1].attn_site] != frozen[table->blocks[1].value_site]);
    close_subject(&s);
    close_subject(&probe);
}

static void expect_same(const struct subject *a, const struct subject *b)
{
    const size_t bytes = a->m.table.total * sizeof(float), sites = (size_t)a->m.table.site_count;
    float *x[2] = {model_download(&a->m, a->m.params), model_download(&b->m, b->m.params)};
    float *c[2] = {model_download_c(&a->m), model_download_c(&b->m)};
    assert_memory_equal(x[0], x[1], bytes);
    assert_memory_equal(c[0], c[1], sites * sizeof *c[0]);
    for (int i = 0; i < 2; i++) {
        free(x[i]);
        free(c[i]);
    }
}

/* Evaluating between all steps, and logging or not, changes no bit. */
static void looking_moves_nothing(void **state)
{
    (void)state;
    struct config cfg = config("taper.sites=all", "aux.lambda=0.1");
    struct subject s, watched;
    struct error err = {0};
    uint32_t ids[50];
    for (int i = 0; i < 50; i++)
        ids[i] = (uint32_t)(i * 7 % 60);
    const struct tokens tokens = {.wide = ids, .count = 50, .width = 4, .vocab = VOCAB};
    struct site_stats sites[7];
    open_subject(&s, &cfg, ops_cpu());
    open_subject(&watched, &cfg, ops_cpu());
    run_steps(&s, STEPS, false, NULL);
    for (int k = 1; k <= STEPS; k++) {
        struct evaluation e;
        run_steps(&watched, k, true, sites);
        trainer_set_gates(&watched.t, k);
        assert_int_equal(evaluate(&watched.m, &tokens, 2, 0, NULL, &e, &err), STATUS_OK);
        for (int i = 0; i < 7; i++)
            assert_true(isfinite(sites[i].c) && sites[i].scale_mean > 0);
    }
    expect_same(&s, &watched);
    close_subject(&s);
    close_subject(&watched);
}

/* Stopped after any step, the removals' among them, a run ends with the same bits. */
static void resumes_anywhere(void **state)
{
    (void)state;
    struct config cfg = config("taper.sites=all", "train.accumulate=2");
    const struct checkpoint_data data = {"corpus", "tokenizer"};
    struct error err = {0};
    struct subject whole, first;
    char *folder = data_folder_make(), *path = file_join(folder, "checkpoint.safetensors");
    open_subject(&whole, &cfg, ops_cpu());
    open_subject(&first, &cfg, ops_cpu());
    run_steps(&whole, STEPS, false, NULL);
    for (int k = 1; k < STEPS; k++) {
        struct subject second;
        run_steps(&first, k, false, NULL);
        open_subject(&second, &cfg, ops_cpu());
        if (checkpoint_write(path, NULL, &first.t, &data, &err) || checkpoint_read(path, &second.t, &data, &err))
            fail_msg("%s", err.text);
        run_steps(&second, STEPS, false, NULL);
        expect_same(&whole, &second);
        close_subject(&second);
    }
    close_subject(&whole);
    close_subject(&first);
    free(path);
    data_folder_remove(folder);
}

/* ------------------------------------------------------------------------------------------- what is left */

/* Once all are gone it is TaperLN at gate 0, with c = 1/sigma_avg and gamma_tilde = gamma: the same logits. */
static void ends_as_a_taper_at_zero(void **state)
{
    (void)state;
    struct config cfg = config("taper.sites=all", NULL);
    struct config gated =
        tiny_model_config((const char *const[]){"train.steps=20", "model.norm=layernorm", "model.mlp=gelu_tanh",
                                                "model.bias=true", "gate.end=10", "taper.sites=all", NULL});
    struct subject s;
    struct tiny_model taper;
    struct logits_difference d;
    struct error err = {0};
    int32_t windows[40];
    open_subject(&s, &cfg, ops_cpu());
    run_steps(&s, STEPS, false, NULL);
    tiny_model_open(&taper, &gated, ops_cpu(), 3);
    const struct param_table *from = &s.m.table, *to = &taper.m.table;
    for (int l = 0; l < 2; l++) /* a taper has one constant there */
        s.m.c[from->blocks[l].value_site] = s.m.c[from->blocks[l].attn_site];
    for (int i = 0; i < to->count; i++) {
        const char *tilde = strstr(to->rows[i].name, "_tilde");
        char name[PARAM_NAME];
        snprintf(name, sizeof name, "%.*s", tilde ? (int)(tilde - to->rows[i].name) : PARAM_NAME, to->rows[i].name);
        const int row = params_find(from, name);
        assert_int_not_equal(row, NO_PARAM);
        memcpy(model_row(&taper.m, taper.m.params, i), model_row(&s.m, s.m.params, row),
               to->rows[i].size * sizeof(float));
    }
    for (int i = 0; i < to->site_count; i++)
        taper.m.c[i] = s.m.c[site_named(from, to->sites[i].name)];
    model_set_gate(&taper.m, 0);
    compare_random_windows(60, 2, 20, windows);
    assert_int_equal(compare_logits((const struct model *const[2]){&s.m, &taper.m}, windows, 2, 20, &d, &err),
                     STATUS_OK);
    if (!(d.error < 1e-6))
        fail_msg("logits differ by %g", d.error);
    tiny_model_close(&taper);
    close_subject(&s);
}

/* The mean loss at the parameters `start` and so many times `direction`. */
static double loss_along(struct subject *s, const int32_t *windows, const double *gates, const float *start,
                         const float *direction, float times)
{
    struct error err = {0};
    double sum = 0;
    for (size_t i = 0; i < s->m.table.total; i++)
        s->m.params[i] = start[i] + times * direction[i];
    assert_int_equal(trainer_debug_pass(&s->t, windows, gates, 0, false, NULL, &err), STATUS_OK);
    for (int n = 0; n < B * T; n++)
        sum += (double)s->t.acts.ce[n] / (B * T);
    return sum;
}

/* The derivative along a random direction, by finite differences of the reference, while all kinds of block stand:
 * V alone removed, Q and K alone, both, neither. */
static void derivatives(void **state)
{
    (void)state;
    struct config cfg =
        tiny_model_config((const char *const[]){SCHEDULE, "taper.sites=all", "model.layers=4", "train.steps=30", NULL});
    struct subject s;
    double gates[13], found = 0, slope[2];
    open_subject(&s, &cfg, ops_reference());
    for (int i = 0; i < 13; i++) {
        const struct param_site *site = &s.m.table.sites[i];
        s.m.c[i] = 0.7f + 0.05f * (float)i;
        gates[i] = site->kind == SITE_VALUE  ? site->block == 1 || site->block == 3
                   : site->kind == SITE_ATTN ? site->block >= 2
                                             : i % 2;
    }
    const size_t total = s.m.table.total;
    float *direction = memory_alloc(total, sizeof *direction), *start = model_download(&s.m, s.m.params);
    const struct rng_stream stream = {.seed = 8, .use = RNG_TEST};
    rng_normal_fill(&stream, direction, total, 1e-3);
    int32_t *windows = windows_of(&cfg, 1);
    loss_along(&s, windows, gates, start, direction, 0);
    for (size_t i = 0; i < total; i++)
        found += (double)s.t.grads[i] * (double)direction[i];
    for (int h = 1; h <= 2; h++)
        slope[h - 1] = (loss_along(&s, windows, gates, start, direction, (float)h) -
                        loss_along(&s, windows, gates, start, direction, (float)-h)) /
                       (2 * h);
    const double wanted = (4 * slope[0] - slope[1]) / 3; /* without the part that goes with the square of the step */
    if (!(fabs(found - wanted) < 2e-3 * fabs(wanted)))
        fail_msg("derivative %g, finite differences %g", found, wanted);
    free(windows);
    free(start);
    free(direction);
    close_subject(&s);
}

/* Between the removals decoding takes the sites as they stand; at the end all fold, and Q, K and V get one norm without
 * a change. */
static void decodes_folds_and_joins(void **state)
{
    (void)state;
    struct config cfg = config("taper.sites=all", NULL);
    struct error err = {0};
    struct subject s;
    struct model folded;
    struct logits_difference check;
    int32_t ids[2 * T];
    for (int i = 0; i < 2 * T; i++)
        ids[i] = i * 7 % 60;
    open_subject(&s, &cfg, ops_cpu());
    for (int stop = 6; stop <= 14; stop += 2) {
        float logits[T * VOCAB];
        struct activations a;
        struct decoder *d;
        run_steps(&s, stop, false, NULL);
        assert_int_equal(activations_create(&a, &s.m, 1, T, false, &err), STATUS_OK);
        memcpy(a.tokens, ids, T * sizeof *ids);
        memset(a.targets, 0xff, T * sizeof *a.targets);
        transformer_pass(&s.m, &a, &(struct pass){.grad_scale = 1, .logits = logits});
        if (decoder_create(&d, &s.m, &(struct decoder_options){.batch = 1, .threads = 2}, &err) ||
            decoder_feed(d, 0, ids, T - 1, &err) || decoder_step(d, ids + T - 1, 1, &err))
            fail_msg("%s", err.text);
        assert_true(tiny_model_difference(decoder_logits(d, 0), logits + (T - 1) * VOCAB, VOCAB) < 5e-6);
        decoder_destroy(d);
        activations_destroy(&a, &s.m);
    }
    run_steps(&s, STEPS, false, NULL);
    if (fold_model(&s.m, &folded, &err) || fold_verify(&s.m, &folded, ids, 2, T, &check, &err))
        fail_msg("%s", err.text);
    assert_true(check.error < 1e-5);
    assert_true(s.m.c[s.m.table.blocks[1].attn_site] != s.m.c[s.m.table.blocks[1].value_site]);
    interop_join_values(&s.m);
    assert_true(s.m.c[s.m.table.blocks[1].attn_site] == s.m.c[s.m.table.blocks[1].value_site]);
    assert_int_equal(fold_verify(&s.m, &folded, ids, 2, T, &check, &err), STATUS_OK);
    assert_true(check.error < 1e-5);
    model_destroy(&folded);
    close_subject(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_schedules),
        cmocka_unit_test(other_sizes_spread),
        cmocka_unit_test(sites_go_when_told),
        cmocka_unit_test(names_say_the_schedule),
        cmocka_unit_test(averages_are_of_forward_passes),
        cmocka_unit_test(looking_moves_nothing),
        cmocka_unit_test(resumes_anywhere),
        cmocka_unit_test(ends_as_a_taper_at_zero),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(decodes_folds_and_joins),
    };
    return cmocka_run_group_tests_name("fakeln", tests, NULL, NULL);
}
