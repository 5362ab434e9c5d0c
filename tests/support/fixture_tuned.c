#include "tests/support/fixture_tuned.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"

enum { PRETRAIN, VANILLA, FAKELN, INTERNAL, ALL, VARIANTS, TEXTS = 4, STEPS = 100, SITES = 13 };

static const char *const names[VARIANTS] = {"pretrain", "vanilla", "fakeln", "internal", "all"};
static const char *const texts[TEXTS] = {"openwebtext", "pile", "pile-filtered", "valid"};

double fixture_tuned_loss(int variant, int text, int seed)
{
    static const double noise[] = {0.0025, -0.0125, 0.00375};
    if (variant == ALL && text == 1 && seed == 1)
        return NAN;
    return 3 - 0.125 * text + (1 + 0.5 * text) * 0.01 * variant + noise[seed] + 0.0005 * variant * seed;
}

/* A real site is left at a step: all 13 before step 6, one less at every step from there on. */
static int sites_left(int variant, int step)
{
    int left = variant == FAKELN ? SITES - (step - 5) : SITES;
    return left < 0 ? 0 : left > SITES ? SITES : left;
}

static void put_removals(FILE *out)
{
    static const char *const kinds[] = {"mlp_norm", "attn_norm", "value_norm"};
    for (int i = 0; i < SITES - 1; i++)
        fprintf(out,
                "{\"table\":\"event\",\"attempt\":1,\"step\":%d,\"kind\":\"removal\","
                "\"text\":\"blocks.%d.%s: sigma_avg 1.5\"}\n",
                6 + i, i % 4, kinds[i / 4]);
    fprintf(
        out,
        "{\"table\":\"event\",\"attempt\":1,\"step\":%d,\"kind\":\"removal\",\"text\":\"final_norm: sigma_avg 2\"}\n",
        5 + SITES);
}

static void put_eval(FILE *out, int step, const char *text, double loss)
{
    fprintf(out, "{\"table\":\"eval\",\"attempt\":1,\"step\":%d,\"split\":\"%s\",\"tokens\":8192,\"loss\":", step,
            text);
    fprintf(out, isnan(loss) ? "\"NaN\"}\n" : "%.9g}\n", loss);
}

static void write_journal(struct fixture *f, const char *id, int variant, int seed, bool sets)
{
    char *journal = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&journal, &size);
    for (int step = 0; step <= STEPS; step += 10) {
        const double bump = variant > VANILLA && step > 0 && step < 40 ? 0.25 : 0;
        fprintf(out,
                "{\"table\":\"step\",\"attempt\":1,\"step\":%d,\"tokens\":%d,\"ce\":%.9g,\"gate\":%.9g,\"lr\":0.001,"
                "\"grad_norm\":1,\"logit_rms\":2,\"leading\":0.25,\"ms\":20}\n",
                step ? step : 1, 2048 * (step ? step : 1), 3 + exp(-step / 20.0) + bump + 0.01 * seed,
                variant == FAKELN ? sites_left(variant, step) / (double)SITES : fmax(0, 1 - step / 40.0));
        if (step % 50 == 0 && step > 0)
            for (int t = sets && step == STEPS && variant != PRETRAIN ? 0 : TEXTS - 1; t < TEXTS; t++)
                put_eval(out, step, texts[t], fixture_tuned_loss(variant, t, seed) + 0.1 * (STEPS - step) / STEPS);
    }
    if (variant == FAKELN) {
        put_removals(out);
        put_removals(out); /* as a run does that was resumed from before them */
    }
    fprintf(out,
            "{\"table\":\"run\",\"attempt\":1,\"step\":%d,\"state\":\"done\",\"params\":%d,\"device\":\"cpu\",\"text\":"
            "\"\","
            "\"val_loss\":%.9g}\n",
            STEPS, sets ? 124439808 : 270912, fixture_tuned_loss(variant, TEXTS - 1, seed));
    fclose(out);
    fixture_append(f, id, journal, size);
    free(journal);
    fixture_take(f, id);
}

struct listed {
    char id[VARIANTS * 3][CONFIG_ID];
    int variant[VARIANTS * 3], seed[VARIANTS * 3], count;
};

static int list(void *arg, const struct store_run *run)
{
    struct listed *l = arg;
    int v = 0;
    while (v < VARIANTS && strcmp(names[v], run->variant) != 0)
        v++;
    assert_true(v < VARIANTS && l->count < VARIANTS * 3);
    memcpy(l->id[l->count], run->id, CONFIG_ID);
    l->variant[l->count] = v;
    l->seed[l->count++] = (int)run->seed;
    return 0;
}

void fixture_tuned_fill(struct fixture *f, bool sets)
{
    static const struct store_exit well = {
        .cause = OUTCOME_DONE, .code = 0, .signal = -1, .cpu_us = 1000, .peak_bytes = 1 << 20};
    static const char rows[] = "compare: vanilla\ngrid: {seed: [0, 1, 2]}\nvariants:\n  pretrain: {}\n"
                               "  vanilla: {init.run: pretrain, data.corpus: novels}\n"
                               "  fakeln: {init.run: pretrain, data.corpus: novels, taper.sites: all, taper.method: "
                               "fakeln, fakeln.mlp_start: 6, "
                               "fakeln.mlp_gap: 1, fakeln.v_gap: 1}\n"
                               "  internal: {init.run: pretrain, data.corpus: novels, taper.sites: internal}\n"
                               "  all: {init.run: pretrain, data.corpus: novels, taper.sites: all, aux.lambda: 0.1}\n";
    char *spec =
        memory_format("sweep: tuned\nabout: Stages\nbase: {model.size: %s, model.layers: %d, model.norm: layernorm, "
                      "train.steps: 100, log.every: 10}\n%s",
                      sets ? "gpt2" : "demo", sets ? 12 : 4, rows);
    struct listed l = {.count = 0};
    fixture_submit(f, spec);
    GOOD(store_runs_each(f->s, &(struct store_filter){.sweep = "tuned"}, list, &l, err));
    assert_int_equal(l.count, VARIANTS * 3);
    for (int i = 0; i < l.count; i++) {
        int attempt;
        GOOD(store_attempt_begin(f->s, l.id[i], &fixture_start, &attempt, err));
        GOOD(store_attempt_running(f->s, l.id[i], attempt, "1", 1, 1, "boot", err));
        write_journal(f, l.id[i], l.variant[i], l.seed[i], sets);
        GOOD(store_attempt_end(f->s, l.id[i], attempt, &well, RUN_DONE, err));
    }
    free(spec);
}
