#include "core/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

int model_create(struct model *m, const struct config *cfg, const struct ops *ops, struct backend *be,
                 struct error *err)
{
    return model_create_folded(m, cfg, SITES_NONE, ops, be, err);
}

int model_create_folded(struct model *m, const struct config *cfg, enum taper_sites folded, const struct ops *ops,
                        struct backend *be, struct error *err)
{
    *m = (struct model){.cfg = *cfg, .ops = ops, .be = be};
    params_create_folded(&m->table, cfg, folded);
    m->params = ops->alloc(be, m->table.total * sizeof *m->params, err);
    m->c = m->params ? ops->alloc(be, (size_t)m->table.site_count * sizeof *m->c, err) : NULL;
    m->scalars = m->c ? ops->alloc(be, sizeof *m->scalars, err) : NULL;
    if (!m->scalars) {
        model_destroy(m);
        return error_wrap(err, "model of %s", cfg->model_size);
    }
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

void model_set_scalars(struct model *m, const struct step_scalars *host)
{
    m->ops->upload(m->be, m->scalars, host, sizeof *host);
}

float *model_row(const struct model *m, float *block, int row)
{
    return row == NO_PARAM ? NULL : block + m->table.rows[row].offset;
}
