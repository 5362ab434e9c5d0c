#include "core/train/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/version.h"

/* The blocks of the parameters' layout, and the prefix of their tensors' names. */
enum { BLOCKS = 3 };
static const char *const prefixes[BLOCKS] = {"", "adam.m/", "adam.v/"};

struct scalars_on_disk {
    int64_t step, ema_updates, logged, skipped[2];
    double target;
};

struct writing {
    struct tensor *tensors;
    size_t count;
    float *blocks[BLOCKS], *c;
    double *ema;
    struct scalars_on_disk scalars;
};

static void put(struct writing *w, char *name, enum tensor_type type, int rank, const int64_t *shape, const void *data)
{
    struct tensor *t = &w->tensors[w->count++];
    *t = (struct tensor){.name = name, .type = type, .rank = rank, .count = 1, .data = data};
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= (size_t)shape[i];
    }
}

static void gather(struct writing *w, const struct trainer *t)
{
    const struct model *m = t->model;
    const struct param_table *table = &m->table;
    const float *blocks[BLOCKS] = {m->params, t->m, t->v};
    size_t sums = (size_t)table->site_count * SITE_SUMS;
    w->tensors = memory_alloc((size_t)table->count * BLOCKS + (size_t)table->site_count + 9, sizeof *w->tensors);
    for (int b = 0; b < BLOCKS; b++) {
        w->blocks[b] = model_download(m, blocks[b]);
        for (int i = 0; i < table->count; i++)
            put(w, memory_format("%s%s", prefixes[b], table->rows[i].name), TENSOR_F32, table->rows[i].rank,
                table->rows[i].shape, w->blocks[b] + table->rows[i].offset);
    }
    w->c = model_download_c(m);
    for (int i = 0; i < table->site_count; i++)
        if (table->sites[i].tapered)
            put(w, memory_format("%s.c", table->sites[i].name), TENSOR_F32, 1, (int64_t[]){1}, w->c + i);
    w->ema = memory_alloc(sums, sizeof *w->ema);
    m->ops->download(m->be, w->ema, t->ema, sums * sizeof *w->ema);
    w->scalars = (struct scalars_on_disk){.step = t->step,
                                          .ema_updates = t->ema_updates,
                                          .logged = t->logged,
                                          .target = t->target,
                                          .skipped = {t->skipped, t->skipped_in_a_row}};
    put(w, memory_string("state/ema"), TENSOR_F64, 2, (int64_t[]){table->site_count, SITE_SUMS}, w->ema);
    put(w, memory_string("state/target"), TENSOR_F64, 1, (int64_t[]){1}, &w->scalars.target);
    put(w, memory_string("state/step"), TENSOR_I64, 1, (int64_t[]){1}, &w->scalars.step);
    put(w, memory_string("state/adam_step"), TENSOR_I64, 1, (int64_t[]){table->counters}, t->adam_step);
    put(w, memory_string("state/ema_updates"), TENSOR_I64, 1, (int64_t[]){1}, &w->scalars.ema_updates);
    put(w, memory_string("state/logged"), TENSOR_I64, 1, (int64_t[]){1}, &w->scalars.logged);
    if (t->skipped)
        put(w, memory_string("state/skipped"), TENSOR_I64, 1, (int64_t[]){2}, w->scalars.skipped);
}

static json_t *metadata_of(const struct trainer *t, const struct checkpoint_data *data)
{
    json_t *config = config_to_json(&t->model->cfg);
    char *text = json_dumps(config, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_t *metadata = json_pack("{s:s, s:s, s:s, s:s}", "config", text ? text : "{}", "corpus", data->corpus,
                                 "tokenizer", data->tokenizer, "version", version_string());
    json_decref(config);
    free(text);
    return metadata;
}

/* An update can overflow after a loss that was finite: such a state must not replace a good one. */
static int check_finite(const struct writing *w, const struct trainer *t, struct error *err)
{
    for (size_t i = 0; i < w->count; i++) {
        const float *values = w->tensors[i].data;
        for (size_t j = 0; w->tensors[i].type == TENSOR_F32 && j < w->tensors[i].count; j++)
            if (!isfinite(values[j]))
                return error_set(err, STATUS_DIVERGED,
                                 "step %lld: not finite: tensor %s is %g at %zu; the checkpoint before "
                                 "stays",
                                 (long long)t->step, w->tensors[i].name, (double)values[j], j);
    }
    return STATUS_OK;
}

int checkpoint_write(const char *path, const char *keep, const struct trainer *t, const struct checkpoint_data *data,
                     struct error *err)
{
    struct writing w = {0};
    gather(&w, t);
    json_t *metadata = metadata_of(t, data);
    int status = check_finite(&w, t, err);
    if (!status && safetensors_write(path, keep, w.tensors, w.count, metadata, err))
        status = error_wrap(err, "checkpoint of step %lld", (long long)t->step);
    json_decref(metadata);
    for (size_t i = 0; i < w.count; i++)
        free((void *)w.tensors[i].name);
    for (int b = 0; b < BLOCKS; b++)
        free(w.blocks[b]);
    free(w.tensors);
    free(w.c);
    free(w.ema);
    return status;
}

/* ------------------------------------------------------------------------------------------- reading */

static int check_stored_finite(const struct safetensors *f, struct error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct tensor *t = &f->tensors[i];
        for (size_t j = 0; t->type == TENSOR_F32 && j < t->count; j++) {
            float value;
            memcpy(&value, (const unsigned char *)t->data + j * sizeof value, sizeof value);
            if (!isfinite(value))
                return error_set(err, STATUS_BAD_INPUT, "%s: damaged: tensor %s is %g at %zu", f->path, t->name,
                                 (double)value, j);
        }
    }
    return STATUS_OK;
}

int checkpoint_open(struct safetensors *f, const char *path, bool *damaged, struct error *err)
{
    struct file_map readable;
    int status = file_map_open(&readable, path, err);
    *f = (struct safetensors){0};
    *damaged = false;
    file_map_close(&readable);
    if (status)
        return status;
    status = safetensors_open(f, path, err);
    if (!status && !safetensors_digest(f))
        status = check_stored_finite(f, err);
    *damaged = status == STATUS_BAD_INPUT;
    if (status)
        safetensors_close(f);
    return status;
}

int64_t checkpoint_logged(const struct safetensors *f)
{
    int64_t step = 0;
    struct error none = {0};
    return safetensors_read_i64(f, "state/logged", 1, (int64_t[]){1}, &step, &none) ? 0 : step;
}

int checkpoint_config(const struct safetensors *f, struct config *cfg, struct error *err)
{
    const char *text = safetensors_metadata(f, "config");
    json_error_t fault;
    json_t *object = text ? json_loads(text, JSON_REJECT_DUPLICATES, &fault) : NULL;
    int status = object ? config_from_json(cfg, object, f->path, err)
                        : error_set(err, STATUS_BAD_INPUT, "%s: no configuration in __metadata__.config%s%s", f->path,
                                    text ? ": " : "", text ? fault.text : "");
    json_decref(object);
    return status;
}

int checkpoint_compare(const char *where, const struct config *cfg, const struct config *other, struct error *err)
{
    int count, faults = 0;
    const struct config_key *keys = config_keys(&count);
    for (int i = 0; i < count; i++) {
        char wanted[CONFIG_TEXT], found[CONFIG_TEXT];
        if (config_same_result(cfg, other, &keys[i])) /* data is compared by digest */
            continue;
        config_get(cfg, &keys[i], wanted);
        config_get(other, &keys[i], found);
        size_t used = faults++ && err ? strlen(err->text) : 0;
        if (err) {
            err->status = STATUS_BAD_INPUT;
            snprintf(err->text + used, sizeof err->text - used, "%s%s: %s: want %s, found %s", used ? "\n" : "", where,
                     keys[i].name, wanted, found);
        }
    }
    return faults ? STATUS_BAD_INPUT : STATUS_OK;
}

static int check_data(const struct safetensors *f, const char *key, const char *wanted, struct error *err)
{
    const char *found = safetensors_metadata(f, key);
    if (found && strcmp(found, wanted) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: trained with another %s: want digest %.16s, found %.16s", f->path, key,
                     wanted, found ? found : "(none)");
}

static int read_block(const struct safetensors *f, const struct model *m, const char *prefix, float *block,
                      struct error *err)
{
    float *host = memory_alloc(m->table.total, sizeof *host);
    int status = STATUS_OK;
    for (int i = 0; !status && i < m->table.count; i++) {
        const struct param *p = &m->table.rows[i];
        char *name = memory_format("%s%s", prefix, p->name);
        status = safetensors_read_f32(f, name, p->rank, p->shape, host + p->offset, err);
        free(name);
    }
    if (!status) {
        m->ops->upload(m->be, block, host, m->table.total * sizeof *host);
        status = m->ops->sync(m->be, err);
    }
    free(host);
    return status;
}

/* Adam's step counts. Checkpoints of taper 0.1 have three: of everything else, of all gammas, of all gamma_tildes. */
static int read_counts(const struct safetensors *f, struct trainer *t, struct error *err)
{
    const struct param_table *table = &t->model->table;
    const struct tensor *found = safetensors_find(f, "state/adam_step");
    const int64_t counters[] = {table->counters}, three[] = {3};
    int64_t old[3];
    if (!found || found->count != 3 || table->counters == 3)
        return safetensors_read_i64(f, "state/adam_step", 1, counters, t->adam_step, err);
    int status = safetensors_read_i64(f, "state/adam_step", 1, three, old, err);
    t->adam_step[COUNTER_ALWAYS] = old[0];
    for (int i = 0; i < table->site_count; i++)
        if (table->sites[i].tapered) {
            t->adam_step[table->sites[i].gamma_counter] = old[1];
            t->adam_step[table->sites[i].tilde_counter] = old[2];
        }
    return status;
}

static int read_state(const struct safetensors *f, struct trainer *t, struct error *err)
{
    const struct model *m = t->model;
    const int64_t one[] = {1}, two[] = {2}, sums[] = {m->table.site_count, SITE_SUMS};
    size_t count = (size_t)m->table.site_count * SITE_SUMS;
    int64_t skipped[2] = {0};
    double *ema = memory_alloc(count, sizeof *ema);
    int status = safetensors_read_i64(f, "state/step", 1, one, &t->step, err);
    if (!status)
        status = read_counts(f, t, err);
    if (!status)
        status = safetensors_read_i64(f, "state/ema_updates", 1, one, &t->ema_updates, err);
    if (!status)
        status = safetensors_read_f64(f, "state/target", 1, one, &t->target, err);
    if (!status)
        status = safetensors_read_f64(f, "state/ema", 2, sums, ema, err);
    if (!status && safetensors_find(f, "state/logged"))
        status = safetensors_read_i64(f, "state/logged", 1, one, &t->logged, err);
    if (!status && safetensors_find(f, "state/skipped"))
        status = safetensors_read_i64(f, "state/skipped", 1, two, skipped, err);
    if (!status && (skipped[1] < 0 || skipped[1] > skipped[0] || skipped[0] > t->step))
        status = error_set(err, STATUS_BAD_INPUT, "%s: state/skipped: %lld, %lld in a row, of %lld steps", f->path,
                           (long long)skipped[0], (long long)skipped[1], (long long)t->step);
    if (!status && (t->step < 0 || t->step > m->cfg.steps))
        status = error_set(err, STATUS_BAD_INPUT, "%s: step %lld is outside the run's %lld", f->path,
                           (long long)t->step, (long long)m->cfg.steps);
    if (!status) {
        trainer_resume_skipped(t, skipped[0], skipped[1]);
        m->ops->upload(m->be, t->ema, ema, count * sizeof *ema);
        status = m->ops->sync(m->be, err);
    }
    free(ema);
    return status;
}

int checkpoint_load(const struct safetensors *f, struct trainer *t, const struct checkpoint_data *data,
                    struct error *err)
{
    struct config found;
    int status = checkpoint_config(f, &found, err);
    if (!status)
        status = checkpoint_compare(f->path, &t->model->cfg, &found, err);
    if (!status)
        status = check_data(f, "corpus", data->corpus, err);
    if (!status)
        status = check_data(f, "tokenizer", data->tokenizer, err);
    if (!status)
        status = model_read(t->model, f, "", err);
    if (!status)
        status = read_block(f, t->model, prefixes[1], t->m, err);
    if (!status)
        status = read_block(f, t->model, prefixes[2], t->v, err);
    if (!status)
        status = read_state(f, t, err);
    return status;
}

int checkpoint_read(const char *path, struct trainer *t, const struct checkpoint_data *data, struct error *err)
{
    struct safetensors f;
    bool damaged;
    int status = checkpoint_open(&f, path, &damaged, err);
    if (!status)
        status = checkpoint_load(&f, t, data, err);
    safetensors_close(&f);
    return status;
}
