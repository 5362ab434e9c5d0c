#include "tests/support/fixture_db.h"

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

#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        if ((call) != STATUS_OK)                                                                                       \
            fail_msg("%s", err_.text);                                                                                 \
    } while (0)

static const char spec[] =
    "sweep: paper\nabout: A sweep <made up> & \"full of trouble\"\n"
    "base: {model.size: demo, data.corpus: stories, train.steps: 100, log.every: 10}\n"
    "variants:\n"
    "  baseline: {taper.sites: none}\n"
    "  internal: {taper.sites: internal}\n"
    "  internal+aux: {taper.sites: internal, aux.lambda: 0.1}\n"
    "  all: {taper.sites: all}\n"
    "  all+aux: {taper.sites: all, aux.lambda: 0.1}\n"
    "  end-20: {taper.sites: all, aux.lambda: 0.1, gate.end: 20%}\n"
    "  end-70: {taper.sites: all, aux.lambda: 0.1, gate.end: 70%}\n"
    "grid: {seed: [0, 1, 2, 3, 4]}\n"
    "exclude:\n"
    "  - {variant: end-20, seed: 2}\n  - {variant: end-20, seed: 3}\n  - {variant: end-20, seed: 4}\n"
    "  - {variant: end-70, seed: 2}\n  - {variant: end-70, seed: 3}\n  - {variant: end-70, seed: 4}\n";

enum { BASELINE, INTERNAL, INTERNAL_AUX, ALL, ALL_AUX, END_20, END_70, VARIANTS };

static const char *const names[] = {"baseline", "internal", "internal+aux", "all", "all+aux", "end-20", "end-70", NULL};

const char *fixture_db_variant(int variant)
{
    return names[variant];
}

double fixture_db_loss(int variant, int seed)
{
    static const double base[] = {2.0, 2.006, 2.02, 2.05, 2.03, 2.035, 2.025};
    static const double noise[] = {0.001, -0.0125, 0.00375, 0.0085, -0.0005};
    if ((variant == INTERNAL && seed == 3) || (variant == INTERNAL_AUX && seed == 4) ||
        (variant == BASELINE && seed == 4) || (variant == ALL && seed == 2))
        return NAN;
    if (variant == ALL_AUX && seed == 1)
        return 2.75;
    return base[variant] + noise[seed] + 0.0001 * variant * seed;
}

double fixture_db_logits(int variant, int seed, int step)
{
    static const double growth[] = {2, 2.125, 2.0625, 6, 2.25, 2.3125, 2.1875};
    return 0.5 + growth[variant] * step / 100 + 0.03125 * seed;
}

static double gate(int variant, int step)
{
    double end = variant == END_20 ? 20 : variant == END_70 ? 70 : 40;
    return step <= 5 ? 1 : step >= end ? 0 : 0.5 * (1 + cos(M_PI * (step - 5) / (end - 5)));
}

static void put_number(FILE *out, const char *name, double value)
{
    if (isnan(value))
        fprintf(out, ",\"%s\":\"NaN\"", name);
    else
        fprintf(out, ",\"%s\":%.9g", name, value);
}

static void put_sites(FILE *out, int variant, int seed, int step)
{
    const char *const sites[] = {"blocks.0.attn_norm", "blocks.0.mlp_norm", "blocks.1.attn_norm", "blocks.1.mlp_norm",
                                 "final_norm"};
    fputs(",\"site_step\":[", out);
    for (int i = 0; i < 5; i++) {
        bool tapered = variant >= ALL || (variant >= INTERNAL && i < 4);
        fprintf(out, "%s{\"site\":\"%s\",\"scale_mean\":%.9g", i ? "," : "", sites[i], 1 + 0.25 * i);
        if (tapered)
            fprintf(out, ",\"c\":%.9g,\"agreement\":%.9g", 1 / (1 + 0.25 * i),
                    1 + 0.001 * step * (i + 1) + 0.01 * seed);
        fputs(",\"gamma_norm\":8}", out);
    }
    fputc(']', out);
}

static void put_step(FILE *out, int variant, int seed, int step)
{
    bool bare = variant >= ALL && gate(variant, step) == 0, broken = variant == ALL && seed == 2 && step >= 60;
    fprintf(out, "{\"table\":\"step\",\"attempt\":1,\"step\":%d,\"tokens\":%d", step, step * 2048);
    put_number(out, "ce", broken ? NAN : 2 + 5 * exp(-step / 20.0) + 0.01 * seed);
    put_number(out, "lr", 0.001);
    put_number(out, "gate", gate(variant, step));
    put_number(out, "grad_norm", 1);
    put_number(out, "scale_mean", broken ? NAN : variant == ALL ? 1 + 0.03 * step : 1 + 0.001 * step);
    if (variant == INTERNAL_AUX || variant >= ALL_AUX)
        put_number(out, "scale_target", 1.0625);
    put_number(out, "logit_rms", broken ? NAN : fixture_db_logits(variant, seed, step));
    put_number(out, "entropy", broken ? NAN : 2.5 + 4 * exp(-step / 20.0));
    put_number(out, "p_correct", broken ? NAN : 0.25 + 0.001 * step);
    put_number(out, "margin", broken ? NAN : -1 + 0.01 * step + 0.125 * seed);
    put_number(out, "radial", broken ? NAN : bare ? -0.02 - 0.001 * seed : 1e-7 * (seed + 1));
    put_number(out, "radial_rms", bare ? 0.05 : 2e-7);
    put_number(out, "tangential_rms", 0.5 + 0.01 * variant);
    put_number(out, "leading", broken ? 0 : 0.25);
    if (!broken)
        put_number(out, "bounded", bare ? (step == 100 ? 0.9921875 : 1) : 0);
    put_number(out, "ms", 20 + seed + (step == 50 ? 100 : 0));
    put_sites(out, variant, seed, step);
    fputs("}\n", out);
}

static void put_bench(FILE *out, int seed)
{
    static const char *const norms[] = {"baseline", "unfused", "fused"};
    static const double speed[] = {1, 1.125, 1.25};
    for (int kind = 0; kind < 2; kind++)
        for (int batch = 1; batch <= 4; batch += 3)
            for (int v = 0; v < 3; v++) {
                double tokens = 16000 * batch * (speed[v] + (v ? 0.015625 * (seed - 1) : 0));
                fprintf(out,
                        "{\"table\":\"bench\",\"attempt\":1,\"kind\":\"%s\",\"variant\":\"%s\",\"batch\":%d,"
                        "\"context\":128,\"weights\":\"fp32\","
                        "\"tokens_per_s\":%.9g,\"ms\":%.9g,\"repeats\":50,\"device\":\"cpu\"}\n",
                        kind ? "last-token" : "decode", norms[v], batch, tokens, 1000 * batch / tokens);
            }
}

/* The journal of a run up to step `last`, with its last word unless that is NULL. */
static void write_journal(struct fixture *f, const char *id, int variant, int seed, int last, const char *state,
                          const char *text)
{
    char *journal = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&journal, &size);
    put_step(out, variant, seed, 1);
    for (int step = 10; step <= last; step += 10) {
        put_step(out, variant, seed, step);
        if (step % 50 == 0)
            fprintf(
                out,
                "{\"table\":\"eval\",\"attempt\":1,\"step\":%d,\"split\":\"valid\",\"loss\":%.9g,\"tokens\":8192}\n",
                step, 2 + 5 * exp(-step / 20.0) + 0.02 * seed);
    }
    if (state) {
        fprintf(out,
                "{\"table\":\"run\",\"attempt\":1,\"step\":%d,\"state\":\"%s\",\"params\":270912,\"device\":\"cpu\","
                "\"text\":\"%s\"",
                last, state, text);
        if (strcmp(state, "done") == 0)
            put_number(out, "val_loss", fixture_db_loss(variant, seed));
        fputs("}\n", out);
        if (variant >= INTERNAL && strcmp(state, "done") == 0)
            fprintf(out, "{\"table\":\"fold\",\"attempt\":1,\"fold_error\":%.9g}\n", 1e-7 * (variant + seed + 1));
        if (variant == INTERNAL && strcmp(state, "done") == 0)
            put_bench(out, seed);
    }
    fclose(out);
    fixture_append(f, id, journal, size);
    free(journal);
}

static void live(struct fixture *f, const char *id, int variant, int seed)
{
    const struct store_start start = {"local", "testhost", "cpu", "cpu:0", NULL, 1};
    const struct store_exit well = {
        .cause = OUTCOME_DONE, .code = 0, .signal = -1, .cpu_us = 1000, .peak_bytes = 1 << 20};
    const struct store_exit badly = {.cause = OUTCOME_FAILED,
                                     .text = "exit status 1",
                                     .code = 1,
                                     .signal = -1,
                                     .cpu_us = 1,
                                     .peak_bytes = 1,
                                     .counts = true};
    bool fails = variant == INTERNAL && seed == 3, runs_on = variant == BASELINE && seed == 4;
    int attempt;
    GOOD(store_attempt_begin(f->s, id, &start, &attempt, err));
    GOOD(store_attempt_running(f->s, id, attempt, "1", 1, 1, "boot", err));
    write_journal(f, id, variant, seed,
                  fails     ? 30
                  : runs_on ? 50
                            : 100,
                  fails     ? "failed"
                  : runs_on ? NULL
                            : "done",
                  fails ? "out of luck" : "");
    fixture_take(f, id);
    if (!runs_on)
        GOOD(store_attempt_end(f->s, id, attempt, fails ? &badly : &well, fails ? RUN_FAILED : RUN_DONE, err));
}

static int variant_of(const char *name)
{
    for (int v = 0; v < VARIANTS; v++)
        if (strcmp(names[v], name) == 0)
            return v;
    fail_msg("no variant %s", name);
    return -1;
}

struct listed {
    char id[64][CONFIG_ID];
    int variant[64], count;
    int64_t seed[64];
};

static int list(void *arg, const struct store_run *run)
{
    struct listed *l = arg;
    memcpy(l->id[l->count], run->id, CONFIG_ID);
    l->variant[l->count] = variant_of(run->variant);
    l->seed[l->count++] = run->seed;
    return 0;
}

void fixture_db_fill(struct fixture *f)
{
    struct listed l = {.count = 0};
    fixture_submit(f, spec);
    GOOD(store_runs_each(f->s, &(struct store_filter){.sweep = "paper"}, list, &l, err));
    assert_int_equal(l.count, 29);
    for (int i = 0; i < l.count; i++)
        if (!(l.variant[i] == INTERNAL_AUX && l.seed[i] == 4))
            live(f, l.id[i], l.variant[i], (int)l.seed[i]);
}
