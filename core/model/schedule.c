#include "core/model/schedule.h"

#include <math.h>

int64_t schedule_gate_warmup(const struct config *cfg)
{
    return config_steps(cfg->gate_warmup, cfg->steps);
}

int64_t schedule_gate_end(const struct config *cfg)
{
    return config_steps(cfg->gate_end, cfg->steps);
}

double schedule_gate(const struct config *cfg, int64_t k)
{
    int64_t warm = schedule_gate_warmup(cfg), end = schedule_gate_end(cfg);
    if (cfg->sites == SITES_NONE || k <= warm)
        return 1.0;
    if (cfg->gate_shape == GATE_CONSTANT)
        return cfg->gate_value;
    if (k >= end)
        return 0.0;
    double x = (double)(k - warm) / (double)(end - warm);
    switch (cfg->gate_shape) {
    case GATE_LINEAR:
        return 1.0 - x;
    case GATE_STEP:
        return 1.0;
    default:
        return 0.5 * (1.0 + cos(M_PI * x));
    }
}

double schedule_lr(const struct config *cfg, int64_t k)
{
    int64_t warm = config_steps(cfg->lr_warmup, cfg->steps);
    double low = cfg->lr * cfg->lr_final;
    if (k <= warm)
        return cfg->lr * (double)k / (double)warm;
    if (cfg->lr_schedule == LR_CONSTANT || cfg->steps <= warm)
        return cfg->lr;
    double x = (double)(k - warm) / (double)(cfg->steps - warm);
    if (cfg->lr_schedule == LR_LINEAR)
        return cfg->lr + (low - cfg->lr) * x;
    return low + 0.5 * (cfg->lr - low) * (1.0 + cos(M_PI * x));
}

bool schedule_aux(const struct config *cfg, int64_t k)
{
    return cfg->aux_lambda > 0 && k > schedule_gate_warmup(cfg);
}

double schedule_site_gate(const struct config *cfg, const struct param_table *table, int site, int64_t k)
{
    (void)table, (void)site; /* all together */
    return schedule_gate(cfg, k);
}

void schedule_gates(schedule_site *schedule, const struct config *cfg, const struct param_table *table, int64_t k,
                    double *gates)
{
    for (int i = 0; i < table->site_count; i++)
        gates[i] = table->sites[i].tapered ? schedule(cfg, table, i, k) : 1;
}
