#include "core/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

int model_create(struct model *m, const struct config *cfg, const struct ops *ops, struct backend *be,
                 struct error *err)
{
    return model_create_folded(m, cfg, SITES_NONE, ops, be, err);
}

/* The scalars of a step, a gate a site, a count a counter. */
size_t model_step_bytes(const struct param_table *t)
{
    return sizeof(struct step_scalars) + (size_t)t->site_count * sizeof(float) + (size_t)t->counters * sizeof(int32_t);
}

int model_create_folded(struct model *m, const struct config *cfg, enum taper_sites folded, const struct ops *ops,
                        struct backend *be, struct error *err)
{
    *m = (struct model){.cfg = *cfg, .ops = ops, .be = be};
    params_create_folded(&m->table, cfg, folded);
    m->params = ops->alloc(be, m->table.total * sizeof *m->params, err);
    m->c = m->params ? ops->alloc(be, (size_t)m->table.site_count * sizeof *m->c, err) : NULL;
    m->scalars = m->c ? ops->alloc(be, model_step_bytes(&m->table), err) : NULL;
    if (!m->scalars) {
        model_destroy(m);
        return error_wrap(err, "model of %s", cfg->model_size);
    }
    m->gates = (float *)(m->scalars + 1);
    m->adam_step = (int32_t *)(m->gates + m->table.site_count);
    m->step_host = memory_alloc(1, model_step_bytes(&m->table));
    m->site_gate = memory_alloc((size_t)m->table.site_count, sizeof *m->site_gate);
    m->site_phase = memory_alloc((size_t)m->table.site_count, sizeof *m->site_phase);
    model_set_gate(m, folded == SITES_NONE ? 1 : 0);
    return STATUS_OK;
}

void model_destroy(struct model *m)
{
    if (m->params)
        m->ops->release(m->be, m->params);
    if (m->c)
        m->ops->release(m->be, m->c);
    if (m->scalars)
        m->ops->release(m->be, m->scalars);
    free(m->step_host);
    free(m->site_gate);
    free(m->site_phase);
    params_destroy(&m->table);
    *m = (struct model){0};
}

static void upload_c(struct model *m, const float *c)
{
    m->ops->upload(m->be, m->c, c, (size_t)m->table.site_count * sizeof *c);
}

int model_initialize(struct model *m, struct error *err)
{
    float *host = memory_alloc(m->table.total, sizeof *host), *c = memory_alloc((size_t)m->table.site_count, sizeof *c);
    params_initialize(&m->table, &m->cfg, host);
    for (int i = 0; i < m->table.site_count; i++)
        c[i] = 1.0f;
    m->ops->upload(m->be, m->params, host, m->table.total * sizeof *host);
    upload_c(m, c);
    int status = m->ops->sync(m->be, err); /* the host copies must outlive the uploads */
    free(host);
    free(c);
    return status;
}

/* One line a tensor that does not fit, so that a wrong file is understood in one go. */
static int read_rows(const struct model *m, const struct safetensors *f, const char *prefix, float *host,
                     struct error *err)
{
    int faults = 0;
    for (int i = 0; i < m->table.count; i++) {
        const struct param *p = &m->table.rows[i];
        struct error one = {0};
        char *name = memory_format("%s%s", prefix, p->name);
        if (safetensors_read_f32(f, name, p->rank, p->shape, host + p->offset, &one)) {
            size_t used = faults++ && err ? strlen(err->text) : 0;
            if (err) {
                err->status = STATUS_BAD_INPUT;
                snprintf(err->text + used, sizeof err->text - used, "%s%s", used ? "\n" : "", one.text);
            }
        }
        free(name);
    }
    return faults ? STATUS_BAD_INPUT : STATUS_OK;
}

int model_read(struct model *m, const struct safetensors *f, const char *prefix, struct error *err)
{
    float *host = memory_alloc(m->table.total, sizeof *host), *c = memory_alloc((size_t)m->table.site_count, sizeof *c);
    int status = read_rows(m, f, prefix, host, err);
    for (int i = 0; !status && i < m->table.site_count; i++) {
        char *name = memory_format("%s%s.c", prefix, m->table.sites[i].name);
        c[i] = 1.0f;
        if (m->table.sites[i].tapered && safetensors_find(f, name))
            status = safetensors_read_f32(f, name, 1, (int64_t[]){1}, &c[i], err);
        free(name);
    }
    if (!status) {
        m->ops->upload(m->be, m->params, host, m->table.total * sizeof *host);
        upload_c(m, c);
        status = m->ops->sync(m->be, err);
    }
    free(host);
    free(c);
    return status;
}

float *model_download(const struct model *m, const float *block)
{
    float *host = memory_alloc(m->table.total, sizeof *host);
    m->ops->download(m->be, host, block, m->table.total * sizeof *host);
    return host;
}

float *model_download_c(const struct model *m)
{
    float *host = memory_alloc((size_t)m->table.site_count, sizeof *host);
    m->ops->download(m->be, host, m->c, (size_t)m->table.site_count * sizeof *host);
    return host;
}

/* FNV-1a over the phases: the same phases have the same name again, so that work which alternates is recorded once. */
#define EPOCH_BEGIN UINT64_C(0xcbf29ce484222325)
#define EPOCH_PRIME UINT64_C(0x100000001b3)

void model_begin_step(struct model *m, const struct step_scalars *scalars, const double *gates,
                      const int32_t *adam_step)
{
    struct step_scalars *host = m->step_host;
    float *host_gates = (float *)(host + 1);
    int32_t *counts = (int32_t *)(host_gates + m->table.site_count);
    *host = *scalars;
    m->epoch = EPOCH_BEGIN;
    for (int i = 0; i < m->table.site_count; i++) {
        const double gate = m->table.sites[i].tapered ? gates[i] : m->table.sites[i].absent ? 0 : 1;
        const enum gate_phase phase = gate >= 1 ? PHASE_NORMED : gate <= 0 ? PHASE_FOLDED : PHASE_MIXED;
        m->epoch = (m->epoch ^ (uint64_t)phase) * EPOCH_PRIME;
        m->site_phase[i] = phase;
        m->site_gate[i] = gate;
        host_gates[i] = (float)gate;
    }
    memset(counts, 0, (size_t)m->table.counters * sizeof *counts);
    if (adam_step)
        memcpy(counts, adam_step, (size_t)m->table.counters * sizeof *counts);
    m->ops->upload(m->be, m->scalars, host, model_step_bytes(&m->table));
}

void model_set_gates(struct model *m, const double *gates)
{
    model_begin_step(m, &(struct step_scalars){0}, gates, NULL);
}

void model_set_gate(struct model *m, double gate)
{
    double *gates = memory_alloc((size_t)m->table.site_count, sizeof *gates);
    for (int i = 0; i < m->table.site_count; i++)
        gates[i] = gate;
    model_set_gates(m, gates);
    free(gates);
}

double model_largest_gate(const struct model *m)
{
    double largest = 0;
    bool tapered = m->table.folded != SITES_NONE;
    for (int i = 0; i < m->table.site_count; i++)
        if (m->table.sites[i].tapered) {
            tapered = true;
            largest = m->site_gate[i] > largest ? m->site_gate[i] : largest;
        }
    return tapered ? largest : 1;
}

struct rope model_rope(const struct config *cfg)
{
    struct rope rope = {.theta = cfg->pos == POS_ROPE ? (float)cfg->rope_theta : 0, .factor = 1};
    if (cfg->rope_scaling != ROPE_PLAIN)
        rope.factor = (float)cfg->rope_factor;
    if (cfg->rope_scaling == ROPE_LLAMA3) {
        rope.low = (float)cfg->rope_low;
        rope.high = (float)cfg->rope_high;
        rope.original = (float)cfg->rope_original;
    }
    return rope;
}

bool model_values_apart(const struct model *m, int layer)
{
    const struct param_block *b = &m->table.blocks[layer];
    if (b->attn_site == b->value_site || m->table.sites[b->attn_site].absent)
        return false;
    return m->site_phase[b->attn_site] != PHASE_NORMED || m->site_phase[b->value_site] != PHASE_NORMED;
}

struct norm_site model_site(const struct model *m, int i)
{
    const struct param_site *s = &m->table.sites[i];
    return (struct norm_site){
        .kind = (enum norm_kind)m->cfg.norm,
        .phase = m->site_phase[i],
        .eps = (float)m->cfg.norm_eps,
        .gamma = model_row(m, m->params, s->gamma),
        .beta = model_row(m, m->params, s->beta),
        .gamma_tilde = model_row(m, m->params, s->gamma_tilde),
        .beta_tilde = model_row(m, m->params, s->beta_tilde),
        .c = m->c + i,
        .gate = m->gates + i,
    };
}

float *model_row(const struct model *m, float *block, int row)
{
    return row == NO_PARAM ? NULL : block + m->table.rows[row].offset;
}
