/* Milliseconds a step, tokens a second, and the rate of arithmetic as a share of one large matrix product's, for one
 * run and for several at once in this process, each with a thread, a stream and recordings of its own; decoding by
 * variant. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/bench_decode.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/train/trainer.h"
#include "tests/gpu/tool/tool.h"

enum { PACK_MOST = 8, WARM_STEPS = 4 };

/* ------------------------------------------------------------------------------------ the yardstick */

/* TFLOP/s of a product of two square bf16 matrices; NaN when it fails. */
static double product_rate(const struct ops *ops, bool tiny)
{
    const int width = tiny ? 128 : 8192, repeats = tiny ? 2 : 30;
    const size_t count = (size_t)width * (size_t)width;
    const struct backend_options options = {.precision = PRECISION_BF16};
    struct backend *be = NULL;
    struct error err = {0};
    double seconds = NAN;
    if (ops->create(&be, &options, &err))
        return NAN;
    float *in = ops->alloc(be, count * sizeof *in, &err), *weight = ops->alloc(be, count * sizeof *in, &err);
    float *out = ops->alloc(be, count * sizeof *in, &err);
    if (in && weight && out) {
        const struct linear_forward a = {.in = in, .weight = weight, .pre = out, .N = width, .I = width, .O = width};
        ops->linear_forward(be, &a);
        int status = ops->sync(be, &err);
        double begin = tool_seconds();
        for (int i = 0; i < repeats; i++)
            ops->linear_forward(be, &a);
        if (!status && !ops->sync(be, &err))
            seconds = (tool_seconds() - begin) / repeats;
    }
    ops->destroy(be);
    return 2e-12 * pow(width, 3) / seconds;
}

/* -------------------------------------------------------------------------------------------- steps */

/* One of several runs at once. */
struct packed_run {
    const struct ops *ops;
    struct config cfg;
    pthread_barrier_t *together;
    int steps;
    double seconds;
    struct error err;
    int status;
};

static int open_run(struct packed_run *p, struct backend **be, struct model *m, struct trainer *t)
{
    const struct backend_options options = {.precision = PRECISION_BF16};
    int status = p->ops->create(be, &options, &p->err);
    if (!status)
        status = model_create(m, &p->cfg, p->ops, *be, &p->err);
    if (!status)
        status = model_initialize(m, &p->err);
    if (!status)
        status = trainer_create(t, m, (int)p->cfg.batch, (int)p->cfg.context, &p->err);
    return status;
}

static void *run_packed(void *arg)
{
    struct packed_run *p = arg;
    struct backend *be = NULL;
    struct model m = {0};
    struct trainer t = {0};
    const struct rng_stream stream = {.seed = 1, .use = RNG_TEST};
    size_t count = (size_t)p->cfg.batch * (size_t)(p->cfg.context + 1);
    int32_t *windows = memory_alloc(count, sizeof *windows);
    for (size_t i = 0; i < count; i++)
        windows[i] = (int32_t)rng_below(&stream, i, (uint64_t)p->cfg.vocab);
    p->status = open_run(p, &be, &m, &t);
    for (int k = -WARM_STEPS; k <= p->steps; k++) {
        struct step_report report = {0};
        if (k == 0) { /* every run is warm, and none at work, when the first one is timed */
            if (!p->status)
                p->status = trainer_settle(&t, &p->err);
            pthread_barrier_wait(p->together);
            p->seconds = tool_seconds();
        }
        if (!p->status && k != 0)
            p->status = trainer_step(&t, windows, false, &report, &p->err);
    }
    if (!p->status)
        p->status = trainer_settle(&t, &p->err);
    p->seconds = (tool_seconds() - p->seconds) / p->steps;
    trainer_destroy(&t);
    model_destroy(&m);
    p->ops->destroy(be);
    free(windows);
    return NULL;
}

/* Floating-point operations of a token's forward and backward: 6 a parameter that multiplies, and causal attention. */
static double flops_of_token(const struct config *cfg)
{
    struct param_table table;
    params_create(&table, cfg);
    double parameters = (double)table.parameters, C = (double)cfg->d_model;
    if (table.pos_embed != NO_PARAM)
        parameters -= (double)table.rows[table.pos_embed].size;
    if (table.lm_head != table.tok_embed)
        parameters -= (double)table.rows[table.tok_embed].size;
    params_destroy(&table);
    return 6 * parameters + 6 * (double)cfg->layers * C * (double)cfg->context;
}

static void bench_packed(struct tool_report *r, const struct ops *ops, const struct config *cfg, const char *name,
                         int pack, int steps, double product)
{
    struct packed_run runs[PACK_MOST];
    pthread_t threads[PACK_MOST];
    pthread_barrier_t together;
    double slowest = 0, tokens = (double)(cfg->batch * cfg->context);
    pthread_barrier_init(&together, NULL, (unsigned)pack);
    for (int i = 0; i < pack; i++) {
        runs[i] = (struct packed_run){.ops = ops, .cfg = *cfg, .together = &together, .steps = steps};
        if (pthread_create(&threads[i], NULL, run_packed, &runs[i]))
            abort();
    }
    for (int i = 0; i < pack; i++) {
        pthread_join(threads[i], NULL);
        slowest = fmax(slowest, runs[i].seconds);
    }
    pthread_barrier_destroy(&together);
    for (int i = 0; i < pack; i++)
        if (runs[i].status) {
            report_fault(r, runs[i].err.text, "%s, %d at once", name, pack);
            return;
        }
    double rate = flops_of_token(cfg) * tokens * pack / slowest * 1e-12;
    report_number(r, slowest * 1e3, "ms a step", "%s, batch %d, %d at once", name, (int)cfg->batch, pack);
    report_number(r, tokens * pack / slowest, "tokens/s", "%s, batch %d, %d at once", name, (int)cfg->batch, pack);
    report_number(r, 100 * rate / product, "% of the product's rate", "%s, batch %d, %d at once", name, (int)cfg->batch,
                  pack);
}

/* ------------------------------------------------------------------------------------------- decode */

static int bench_variants(struct tool_report *r, struct model *m, const char *name, bool tiny, struct error *err)
{
    static const int batches[] = {1, 4, 16, 64};
    const struct bench_options options = {
        .decoder = DECODER_OPS, .repeats = tiny ? 1 : 5, .warmups = 1, .tokens = tiny ? 4 : 128};
    const int context = tiny ? 16 : 512;
    for (size_t b = 0; b < (tiny ? 1 : sizeof batches / sizeof batches[0]); b++) {
        struct bench_result result;
        int status = bench_decode(m, &options, batches[b], context, &result, err);
        if (status)
            return status;
        for (int v = 0; v < BENCH_VARIANTS; v++)
            report_number(r, result.tokens_per_s[v], "tokens/s", "%s decoding, batch %d, context %d, %s", name,
                          batches[b], context, bench_variant_name((enum bench_variant)v));
    }
    return STATUS_OK;
}

static void bench_decoding(struct tool_report *r, const struct ops *ops, const struct config *cfg, const char *name,
                           bool tiny)
{
    const struct backend_options options = {.precision = PRECISION_BF16};
    struct backend *be = NULL;
    struct model m = {0}, timed = {0};
    struct error err = {0};
    int status = ops->create(&be, &options, &err);
    if (!status)
        status = model_create(&m, cfg, ops, be, &err);
    if (!status)
        status = model_initialize(&m, &err);
    if (!status)
        status = bench_model_create(&timed, &m, SITES_ALL, &err);
    if (!status)
        status = bench_variants(r, &timed, name, tiny, &err);
    if (status)
        report_fault(r, err.text, "%s decoding", name);
    model_destroy(&timed);
    model_destroy(&m);
    ops->destroy(be);
}

static int configure(struct config *cfg, const char *preset, const char *batch, bool tiny, struct error *err)
{
    static const char *const small[] = {"model.context=16", "model.vocab=64", NULL};
    config_init(cfg);
    int status = config_set(cfg, "model.size", preset, err);
    if (!status)
        status = config_set(cfg, "train.batch", batch, err);
    for (int i = 0; tiny && small[i] && !status; i++)
        status = config_set_pair(cfg, small[i], err);
    return status ? status : config_finish(cfg, err);
}

/* What is timed: a preset, and how often and how many at once; decoding where it says so. */
struct bench_row {
    const char *preset, *batch;
    int steps, packs; /* of packs[] */
    bool decode;
};

static void bench_one(struct tool_report *r, const struct ops *ops, const struct bench_row *row, bool tiny,
                      double product)
{
    static const int packs[] = {1, 4, 8};
    struct config cfg;
    struct error err = {0};
    if (configure(&cfg, row->preset, row->batch, tiny, &err)) {
        report_fault(r, err.text, "configuration");
        return;
    }
    for (int p = 0; p < row->packs; p++)
        bench_packed(r, ops, &cfg, row->preset, packs[p], row->steps, product);
    if (row->decode)
        bench_decoding(r, ops, &cfg, row->preset, tiny);
}

void bench_run(struct tool_report *r, const struct ops *ops, enum bench_extent extent)
{
    static const struct bench_row tiny[] = {{"demo", "1", 2, 1, true}, {0}};
    static const struct bench_row brief[] = {{"1M", "64", 20, 1, true}, {"gpt2", "8", 10, 1, false}, {0}};
    static const struct bench_row all[] = {{"1M", "64", 40, 3, true},
                                           {"3M", "64", 40, 3, true},
                                           {"9M", "64", 40, 3, true},
                                           {"30M", "64", 30, 3, true},
                                           {"gpt2", "8", 20, 1, true},
                                           {"1M", "8", 60, 3, false},
                                           {0}};
    const struct bench_row *rows = extent == BENCH_TINY ? tiny : extent == BENCH_BRIEF ? brief : all;
    struct ops half;
    double product = product_rate(ops, extent == BENCH_TINY);
    tool_variant(&half, ops, PRECISION_BF16, true);
    if (isnan(product)) /* shares of it would say nothing */
        report_fault(r, "it failed", "one bf16 product");
    else
        report_number(r, product, "TFLOP/s", "one bf16 product of %d x %d", extent == BENCH_TINY ? 128 : 8192,
                      extent == BENCH_TINY ? 128 : 8192);
    for (; rows->preset; rows++)
        bench_one(r, &half, rows, extent == BENCH_TINY, product);
}
