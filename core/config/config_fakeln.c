/* When FakeLN removes which site: as published for the sizes of GPT-2, spread over the gate's time for all others. */
#include <string.h>

#include "core/config/config_internal.h"

bool config_fakeln(const struct config *cfg)
{
    return cfg->sites != SITES_NONE && cfg->method == METHOD_FAKELN;
}

/* What is published for a size; every kind begins where the one before it has ended. v_gap 0: as gap. */
struct published {
    const char *size;
    int64_t layers, start, gap, v_gap;
    double ema;
};

static const struct published published[] = {
    {"gpt2", 12, 20, 2, 3, 0.9},
    {"gpt2-medium", 24, 20, 2, 3, 0.9},
    {"gpt2-large", 36, 30, 4, 6, 0.912},
    {"gpt2-xl", 48, 50, 4, 6, 0.942},
};

static struct published plan_of(const struct config *cfg)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (strcmp(cfg->model_size, published[i].size) == 0 && cfg->layers == published[i].layers)
            return published[i];
    const int64_t warm = config_steps(cfg->gate_warmup, cfg->steps), end = config_steps(cfg->gate_end, cfg->steps);
    const int64_t gap = (end - warm) / (3 * cfg->layers + 1), spread = gap > 1 ? gap : 1;
    return (struct published){.start = (warm > 1 ? warm : 1) + 1, .gap = spread, .ema = 0.9};
}

/* auto stands as a number below the bounds of its key: 1 for a start, 0 for a gap. */
static void fill(int64_t *to, int64_t automatic, int64_t value)
{
    if (*to == automatic)
        *to = value;
}

void config_fakeln_derive(struct config *cfg)
{
    struct config_fakeln *f = &cfg->fakeln;
    if (!config_fakeln(cfg))
        return;
    const struct published plan = plan_of(cfg);
    if (f->ema < 0)
        f->ema = plan.ema;
    fill(&f->mlp_start, 1, plan.start);
    fill(&f->mlp_gap, 0, plan.gap);
    fill(&f->qk_start, 1, f->mlp_start + cfg->layers * f->mlp_gap);
    fill(&f->qk_gap, 0, f->mlp_gap);
    fill(&f->v_start, 1, f->qk_start + cfg->layers * f->qk_gap);
    fill(&f->v_gap, 0, plan.v_gap ? plan.v_gap : f->mlp_gap);
    fill(&f->final_start, 1, f->v_start + cfg->layers * f->v_gap);
}

void config_fakeln_check(const struct config *cfg, struct error *faults)
{
    const struct config_fakeln *f = &cfg->fakeln;
    const int64_t later = cfg->layers - 1;
    const struct {
        const char *key;
        int64_t last;
    } kinds[] = {{"fakeln.mlp_start", f->mlp_start + later * f->mlp_gap},
                 {"fakeln.qk_start", f->qk_start + later * f->qk_gap},
                 {"fakeln.v_start", f->v_start + later * f->v_gap},
                 {"fakeln.final_start", f->final_start}};
    const int count = cfg->sites == SITES_ALL ? 4 : 3;
    const int64_t warm = config_steps(cfg->gate_warmup, cfg->steps);
    if (config_fakeln(cfg) && count == 4 && cfg->aux_lambda > 0 && cfg->aux_target.word && f->final_start <= warm)
        error_add(faults, STATUS_BAD_INPUT,
                  "fakeln.final_start: want more than gate.warmup (step %lld), up to which aux.target is calibrated at "
                  "that norm, got %lld",
                  (long long)warm, (long long)f->final_start);
    for (int i = 0; i < count && config_fakeln(cfg); i++)
        if (kinds[i].last > cfg->steps)
            error_add(faults, STATUS_BAD_INPUT,
                      "%s: the last of these norms goes at step %lld, want at most train.steps %lld", kinds[i].key,
                      (long long)kinds[i].last, (long long)cfg->steps);
}
