#include "core/trained/saved_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/train/checkpoint.h"
#include "core/base/faults.h"
#include "core/base/memory.h"
#include "core/base/version.h"
#include "core/base/rundir.h"

static const char *const sites_names[] = {[SITES_NONE] = "none", [SITES_INTERNAL] = "internal", [SITES_ALL] = "all"};

const char *saved_model_sites_name(enum taper_sites sites)
{
    return sites_names[sites];
}

/* ------------------------------------------------------------------------------------------- checking */

static void check_shape(const struct saved_model *m, struct faults *f, const char *name, int rank, const int64_t *shape)
{
    char wanted[64], found[128];
    const struct tensor *t = safetensors_find(&m->file, name);
    tensor_shape_text(rank, shape, wanted, sizeof wanted);
    if (!t)
        faults_add(f, "%s: tensor %s: missing, want shape %s", m->file.path, name, wanted);
    else if (t->rank != rank || memcmp(t->shape, shape, (size_t)rank * sizeof *shape) != 0)
        faults_add(f, "%s: tensor %s: want shape %s, got %s", m->file.path, name, wanted,
                   tensor_shape_text(t->rank, t->shape, found, sizeof found));
    else if (!tensor_type_is_float(t->type))
        faults_add(f, "%s: tensor %s: want floating-point numbers, got %s", m->file.path, name, t->dtype);
}

static bool is_site_scalar(const struct param_table *table, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < table->site_count; i++) {
        const struct param_site *s = &table->sites[i];
        if (s->tapered && length == strlen(s->name) + 2 && strncmp(name, s->name, length - 2) == 0 &&
            strcmp(name + length - 2, ".c") == 0)
            return true;
    }
    return false;
}

/* A checkpoint's moments and state are no part of the model, and known all the same. */
static bool is_known(const struct param_table *table, const char *name)
{
    static const char *const prefixes[] = {"adam.m/", "adam.v/"};
    if (strncmp(name, "state/", 6) == 0)
        return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return params_find(table, name + strlen(prefixes[i])) != NO_PARAM;
    return params_find(table, name) != NO_PARAM || is_site_scalar(table, name);
}

static int check_tensors(struct saved_model *m, struct error *err)
{
    struct faults f = {.err = err};
    for (int i = 0; i < m->table.count; i++)
        check_shape(m, &f, m->table.rows[i].name, m->table.rows[i].rank, m->table.rows[i].shape);
    for (int i = 0; i < m->table.site_count; i++) {
        char name[PARAM_NAME + 4];
        snprintf(name, sizeof name, "%s.c", m->table.sites[i].name);
        if (m->table.sites[i].tapered)
            check_shape(m, &f, name, 1, (int64_t[]){1});
    }
    for (size_t i = 0; i < m->file.count; i++)
        if (!is_known(&m->table, m->file.tensors[i].name))
            faults_add(&f, "%s: tensor %s: no part of the model its configuration describes", m->file.path,
                       m->file.tensors[i].name);
    return faults_end(&f);
}

static int read_folded(struct saved_model *m, struct error *err)
{
    const char *text = safetensors_metadata(&m->file, "folded");
    m->folded = SITES_NONE;
    if (!text)
        return STATUS_OK;
    for (int i = SITES_NONE; i <= SITES_ALL; i++)
        if (strcmp(text, sites_names[i]) == 0)
            m->folded = (enum taper_sites)i;
    if (strcmp(text, sites_names[m->folded]) != 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: __metadata__.folded: want none, internal or all, got '%.40s'",
                         m->file.path, text);
    if (m->folded != SITES_NONE && (int)m->folded != m->cfg.sites)
        return error_set(err, STATUS_BAD_INPUT, "%s: __metadata__.folded is %s, but taper.sites is %s", m->file.path,
                         text, sites_names[m->cfg.sites]);
    return STATUS_OK;
}

int saved_model_open(struct saved_model *m, const char *path, struct error *err)
{
    struct stat st;
    *m = (struct saved_model){0};
    char *inside = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? file_join(path, RUNDIR_CHECKPOINT) : NULL;
    int status = safetensors_open(&m->file, inside ? inside : path, err);
    free(inside);
    if (status)
        return status;
    status = checkpoint_config(&m->file, &m->cfg, err);
    if (!status)
        status = read_folded(m, err);
    if (!status) {
        params_create_folded(&m->table, &m->cfg, m->folded);
        status = safetensors_read_i64(&m->file, "state/step", 1, (int64_t[]){1}, &m->step, err);
    }
    if (!status && (m->step < 0 || m->step > m->cfg.steps))
        status = error_set(err, STATUS_BAD_INPUT, "%s: step %lld is outside the run's %lld", m->file.path,
                           (long long)m->step, (long long)m->cfg.steps);
    if (!status)
        status = check_tensors(m, err);
    if (status)
        saved_model_close(m);
    return status;
}

void saved_model_close(struct saved_model *m)
{
    safetensors_close(&m->file);
    params_destroy(&m->table);
    *m = (struct saved_model){0};
}

/* The place of element i of a parameter, as "[3, 17]". */
static const char *place_text(const struct param *p, size_t i, char *to, size_t room)
{
    int64_t at[2] = {(int64_t)(i / (size_t)p->shape[1]), (int64_t)(i % (size_t)p->shape[1])};
    return tensor_shape_text(p->rank, at, to, room);
}

/* A tensor of p's shape; host: room for it. */
static void check_numbers(const struct saved_model *m, const char *name, const struct param *p, float *host,
                          struct faults *f)
{
    size_t bad = 0, first = 0;
    char place[64];
    struct error one = {0};
    if (safetensors_read_f32(&m->file, name, p->rank, p->shape, host, &one)) {
        faults_add(f, "%s", one.text);
        return;
    }
    for (size_t j = 0; j < p->size; j++)
        if (!isfinite(host[j]) && bad++ == 0)
            first = j;
    if (bad)
        faults_add(f, "%s: tensor %s: %zu of %zu numbers are not finite; %g at %s", m->file.path, name, bad, p->size,
                   (double)host[first], place_text(p, first, place, sizeof place));
}

int saved_model_check_finite(const struct saved_model *m, struct error *err)
{
    struct faults f = {.err = err};
    float *host = memory_alloc(m->table.total, sizeof *host);
    for (int i = 0; i < m->table.count; i++)
        check_numbers(m, m->table.rows[i].name, &m->table.rows[i], host, &f);
    for (int i = 0; i < m->table.site_count; i++) {
        const struct param c = {.rank = 1, .shape = {1, 1}, .size = 1};
        char name[PARAM_NAME + 4];
        snprintf(name, sizeof name, "%s.c", m->table.sites[i].name);
        if (m->table.sites[i].tapered)
            check_numbers(m, name, &c, host, &f);
    }
    free(host);
    return faults_end(&f);
}

/* ------------------------------------------------------------------------------------------- writing */

static json_t *metadata_of(const struct saved_model_content *content)
{
    json_t *metadata = json_object(), *config = config_to_json(content->cfg);
    char *text = json_dumps(config, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_object_set_new(metadata, "config", json_string(text ? text : "{}"));
    json_object_set_new(metadata, "folded", json_string(sites_names[content->table->folded]));
    json_object_set_new(metadata, "version", json_string(version_string()));
    if (content->metadata)
        json_object_update(metadata, (json_t *)content->metadata);
    json_decref(config);
    free(text);
    return metadata;
}

int saved_model_write(const char *path, const struct saved_model_content *content, struct error *err)
{
    const struct param_table *table = content->table;
    struct tensor *tensors = memory_alloc((size_t)table->count + (size_t)table->site_count + 1, sizeof *tensors);
    char(*names)[PARAM_NAME + 4] = memory_alloc((size_t)table->site_count, sizeof *names);
    size_t count = 0;
    for (int i = 0; i < table->count; i++) {
        const struct param *p = &table->rows[i];
        tensors[count] = (struct tensor){.name = p->name,
                                         .type = TENSOR_F32,
                                         .rank = p->rank,
                                         .shape = {p->shape[0], p->shape[1]},
                                         .count = p->size,
                                         .data = content->params + p->offset};
        count++;
    }
    for (int i = 0; i < table->site_count; i++) {
        if (!table->sites[i].tapered)
            continue;
        snprintf(names[i], sizeof names[i], "%s.c", table->sites[i].name);
        tensors[count] = (struct tensor){
            .name = names[i], .type = TENSOR_F32, .rank = 1, .shape = {1}, .count = 1, .data = content->c + i};
        count++;
    }
    tensors[count] = (struct tensor){
        .name = "state/step", .type = TENSOR_I64, .rank = 1, .shape = {1}, .count = 1, .data = &content->step};
    count++;
    json_t *metadata = metadata_of(content);
    int status = safetensors_write(path, NULL, tensors, count, metadata, err);
    json_decref(metadata);
    free(tensors);
    free(names);
    return status;
}
