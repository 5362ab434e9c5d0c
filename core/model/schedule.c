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

/* Steps by which a site's gate falls after the first one's. */
static int64_t later_by(const struct config *cfg, const struct param_table *table, int site)
{
    int before = 0, behind = 0;
    for (int i = 0; i < table->site_count; i++) {
        before += table->sites[i].tapered && i < site;
        behind += table->sites[i].tapered && i > site;
    }
    const int place = cfg->gate_order == ORDER_TOGETHER ? 0 : cfg->gate_order == ORDER_REVERSED ? behind : before;
    return place * config_steps(cfg->gate_gap, cfg->steps);
}

double schedule_site_gate(const struct config *cfg, const struct param_table *table, int site, int64_t k)
{
    return schedule_gate(cfg, k - later_by(cfg, table, site));
}

int64_t schedule_removal(const struct config *cfg, const struct param_table *table, int site)
{
    const struct config_fakeln *f = &cfg->fakeln;
    const struct param_site *s = &table->sites[site];
    switch (s->kind) {
    case SITE_MLP:
        return f->mlp_start + s->block * f->mlp_gap;
    case SITE_ATTN:
        return f->qk_start + s->block * f->qk_gap;
    case SITE_VALUE:
        return f->v_start + s->block * f->v_gap;
    default:
        return f->final_start;
    }
}

double schedule_site_fakeln(const struct config *cfg, const struct param_table *table, int site, int64_t k)
{
    return k < schedule_removal(cfg, table, site) ? 1 : 0;
}

schedule_site *schedule_of(const struct config *cfg)
{
    return config_fakeln(cfg) ? schedule_site_fakeln : schedule_site_gate;
}

int64_t schedule_gone(const struct config *cfg, const struct param_table *table, int site)
{
    if (config_fakeln(cfg))
        return schedule_removal(cfg, table, site);
    if (cfg->gate_shape == GATE_CONSTANT)
        return INT64_MAX;
    return schedule_gate_end(cfg) + later_by(cfg, table, site);
}

int64_t schedule_calibrated(const struct config *cfg, const struct param_table *table, int site)
{
    return config_fakeln(cfg) ? schedule_removal(cfg, table, site) - 1
                              : schedule_gate_warmup(cfg) + later_by(cfg, table, site);
}

int64_t schedule_calibration_end(const struct config *cfg, const struct param_table *table)
{
    int64_t last = schedule_gate_warmup(cfg);
    for (int i = 0; i < table->site_count; i++)
        if (table->sites[i].tapered && schedule_calibrated(cfg, table, i) > last)
            last = schedule_calibrated(cfg, table, i);
    return last;
}

double schedule_mean_gate(schedule_site *schedule, const struct config *cfg, const struct param_table *table, int64_t k)
{
    double sum = 0, first = 1;
    int count = 0;
    bool equal = true;
    for (int i = 0; i < table->site_count; i++) {
        if (!table->sites[i].tapered)
            continue;
        const double gate = schedule(cfg, table, i, k);
        first = count == 0 ? gate : first;
        equal = equal && gate == first;
        sum += gate;
        count++;
    }
    return equal ? first : sum / count;
}

void schedule_gates(schedule_site *schedule, const struct config *cfg, const struct param_table *table, int64_t k,
                    double *gates)
{
    for (int i = 0; i < table->site_count; i++)
        gates[i] = table->sites[i].tapered ? schedule(cfg, table, i, k) : 1;
}
