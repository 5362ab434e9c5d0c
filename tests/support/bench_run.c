#include "tests/support/bench_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/cpu/cpu.h"
#include "tests/support/bench.h"

static void fail(const struct error *err)
{
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

void bench_run_open(struct bench_run *r, const struct ops *ops, int threads, const char *size, const char *const *pairs)
{
    struct error err = {0};
    char batch[32];
    config_init(&r->cfg);
    int status = config_set(&r->cfg, "model.size", size, &err);
    for (; !status && pairs && *pairs; pairs++)
        status = config_set_pair(&r->cfg, *pairs, &err);
    struct config shape = r->cfg; /* for the preset's context */
    if (!status)
        status = config_finish(&shape, &err);
    snprintf(batch, sizeof batch, "%lld", BENCH_TOKENS / (long long)shape.context);
    if (!status)
        status = config_set(&r->cfg, "train.batch", batch, &err);
    if (!status)
        status = config_finish(&r->cfg, &err);
    const struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    if (!status)
        status = ops->create(&r->be, &options, &err);
    if (!status)
        status = model_create(&r->model, &r->cfg, ops, r->be, &err);
    if (!status)
        status = trainer_create(&r->trainer, &r->model, (int)r->cfg.batch, (int)r->cfg.context, &err);
    if (!status)
        status = model_initialize(&r->model, &err);
    if (status)
        fail(&err);
    const struct rng_stream stream = {.seed = 1, .use = RNG_TEST};
    size_t count = (size_t)(r->cfg.batch * (r->cfg.context + 1));
    r->windows = memory_alloc(count, sizeof *r->windows);
    for (size_t i = 0; i < count; i++)
        r->windows[i] = (int32_t)rng_below(&stream, i, (uint64_t)r->cfg.vocab);
    r->sites = memory_alloc((size_t)r->model.table.site_count, sizeof *r->sites);
    r->clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

void bench_run_close(struct bench_run *r)
{
    const struct ops *ops = r->model.ops;
    trainer_destroy(&r->trainer);
    model_destroy(&r->model);
    ops->destroy(r->be);
    free(r->windows);
    free(r->sites);
}

double bench_run_step(struct bench_run *r, bool logged)
{
    struct error err = {0};
    struct step_report report = {.sites = r->sites};
    double begin = bench_now(r->clock);
    if (trainer_step(&r->trainer, r->windows, logged, &report, &err))
        fail(&err);
    return bench_now(r->clock) - begin;
}
