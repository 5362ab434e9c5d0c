#include "core/train/golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/train/trainer.h"

/* ------------------------------------------------------------------------------------- configuration */

/* The reference's key, and ours. */
static const char *const key_names[][2] = {
    {"d_model", "model.d_model"}, {"n_layers", "model.layers"},   {"n_heads", "model.heads"},
    {"n_ctx", "model.context"},   {"vocab", "model.vocab"},       {"d_ff", "model.d_ff"},
    {"norm", "model.norm"},       {"norm_eps", "model.norm_eps"}, {"pos", "model.pos"},
    {"mlp", "model.mlp"},         {"bias", "model.bias"},         {"tied", "model.tied"},
    {"taper", "taper.sites"},
};
static const char *const train_names[][2] = {
    {"steps", "train.steps"},
    {"batch", "train.batch"},
    {"lr", "train.lr"},
    {"lr_warmup", "train.lr_warmup"},
    {"gate_warmup", "gate.warmup"},
    {"gate_end", "gate.end"},
    {"beta1", "train.beta1"},
    {"beta2", "train.beta2"},
    {"adam_eps", "train.adam_eps"},
    {"weight_decay", "train.weight_decay"},
    {"clip", "train.clip"},
    {"ema", "taper.ema"},
};

static const char *const fakeln_names[][2] = {
    {"ema", "fakeln.ema"},           {"mlp_start", "fakeln.mlp_start"},     {"mlp_gap", "fakeln.mlp_gap"},
    {"qk_start", "fakeln.qk_start"}, {"qk_gap", "fakeln.qk_gap"},           {"v_start", "fakeln.v_start"},
    {"v_gap", "fakeln.v_gap"},       {"final_start", "fakeln.final_start"},
};

static int set_from(struct config *cfg, const json_t *from, const char *const (*names)[2], size_t count,
                    const char *where, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(from, names[i][0]);
        char text[64];
        if (!value)
            return error_set(err, STATUS_BAD_INPUT, "%s: config has no %s", where, names[i][0]);
        if (json_is_string(value))
            snprintf(text, sizeof text, "%s", json_string_value(value));
        else if (json_is_boolean(value))
            snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
        else if (json_is_integer(value))
            snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        else
            snprintf(text, sizeof text, "%.17g", json_number_value(value));
        if (config_set(cfg, names[i][1], text, err)) {
            error_wrap(err, "%s", where);
            return STATUS_BAD_INPUT;
        }
    }
    return STATUS_OK;
}

/* One pass's gate, target and aux switch, which are not keys of a run. */
struct case_settings {
    double gate, target;
    bool aux;
    json_t *removed; /* names of FakeLN's sites that are gone; NULL with gates */
};

static int number_of(const json_t *object, const char *name, const char *where, double *out, struct error *err)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        return error_set(err, STATUS_BAD_INPUT, "%s: config: want a number %s", where, name);
    *out = json_number_value(value);
    return STATUS_OK;
}

static int set_train(struct config *cfg, const json_t *object, const char *where, struct error *err)
{
    const json_t *train = json_object_get(object, "train");
    char text[64];
    double lr = 0, lr_min = 0;
    int status = set_from(cfg, train, train_names, sizeof train_names / sizeof train_names[0], where, err);
    if (!status)
        status = number_of(train, "lr", where, &lr, err);
    if (!status)
        status = number_of(train, "lr_min", where, &lr_min, err);
    if (status)
        return status;
    snprintf(text, sizeof text, "%.17g", lr_min / lr);
    status = config_set(cfg, "train.lr_final", text, err);
    const json_t *fakeln = json_object_get(object, "fakeln");
    if (!status && fakeln)
        status = set_from(cfg, fakeln, fakeln_names, sizeof fakeln_names / sizeof fakeln_names[0], where, err);
    return status;
}

static int load_config(const struct safetensors *f, bool training, struct config *cfg, struct case_settings *s,
                       struct error *err)
{
    const char *text = safetensors_metadata(f, "config");
    json_t *object = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    char lambda[64];
    double value = 0;
    int status;
    config_init(cfg);
    if (!json_is_object(object)) {
        status = error_set(err, STATUS_BAD_INPUT, "%s: __metadata__ has no config in JSON", f->path);
        goto done;
    }
    status = set_from(cfg, object, key_names, sizeof key_names / sizeof key_names[0], f->path, err);
    if (status || (status = number_of(object, "aux_lambda", f->path, &value, err)) ||
        (status = number_of(object, "scale_target", f->path, &s->target, err)) ||
        (status = number_of(object, "gate", f->path, &s->gate, err)))
        goto done;
    s->aux = json_is_true(json_object_get(object, "aux"));
    s->removed = json_incref(json_object_get(object, "removed"));
    if (s->removed && (status = config_set(cfg, "taper.method", "fakeln", err)))
        goto done;
    if (s->removed && !training) /* the case says what is gone, and no step */
        status = config_set(cfg, "train.steps", "1000", err);
    if (status)
        goto done;
    snprintf(lambda, sizeof lambda, "%.17g", s->aux ? value : 0.0);
    status = config_set(cfg, "aux.lambda", lambda, err);
    if (!status && training)
        status = set_train(cfg, object, f->path, err);
    if (!status)
        status = config_finish(cfg, err);
done:
    json_decref(object);
    return status;
}

/* ------------------------------------------------------------------------------------------- output */

/* Tensors on their way to a file; names and data are owned. */
struct output {
    struct tensor *tensors;
    size_t count;
};

static void output_add(struct output *o, enum tensor_type type, int rank, const int64_t *shape, void *data,
                       const char *prefix, const char *name)
{
    o->tensors = memory_resize(o->tensors, o->count + 1, sizeof *o->tensors);
    struct tensor *t = &o->tensors[o->count++];
    *t = (struct tensor){
        .name = memory_format("%s%s", prefix, name), .type = type, .rank = rank, .count = 1, .data = data};
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= (size_t)shape[i];
    }
}

static void output_number(struct output *o, double x, const char *prefix, const char *name)
{
    double *data = memory_alloc(1, sizeof *data);
    *data = x;
    output_add(o, TENSOR_F64, 1, (int64_t[]){1}, data, prefix, name);
}

static void output_download(struct output *o, const struct model *m, int rank, const int64_t *shape, const float *from,
                            const char *prefix, const char *name)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    float *data = memory_alloc(count, sizeof *data);
    m->ops->download(m->be, data, from, count * sizeof *data);
    output_add(o, TENSOR_F32, rank, shape, data, prefix, name);
}

static void output_block(struct output *o, const struct model *m, float *block, const char *prefix)
{
    for (int i = 0; i < m->table.count; i++) {
        const struct param *p = &m->table.rows[i];
        output_download(o, m, p->rank, p->shape, block + p->offset, prefix, p->name);
    }
}

static void output_release(struct output *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free((void *)o->tensors[i].name);
        free((void *)o->tensors[i].data);
    }
    free(o->tensors);
    *o = (struct output){0};
}

/* -------------------------------------------------------------------------------------------- runs */

/* What both verbs need, made from a golden file. */
struct bench {
    struct safetensors file;
    struct config cfg;
    struct case_settings settings;
    struct backend *be;
    struct model model;
    struct trainer trainer;
    int32_t *windows; /* [K][B][T+1] */
    int64_t K, B, T;
};

static int load_windows(struct bench *b, const char *name, int rank, struct error *err)
{
    const struct tensor *t = safetensors_find(&b->file, name);
    if (!t || t->rank != rank || t->shape[rank - 1] < 2 || t->count == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want token ids, %s", b->file.path, name,
                         rank == 3 ? "[K, B, T+1]" : "[B, T+1]");
    b->K = rank == 3 ? t->shape[0] : 1;
    b->B = t->shape[rank - 2];
    b->T = t->shape[rank - 1] - 1;
    if (b->T > b->cfg.context)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: windows of %lld tokens, the model sees %lld",
                         b->file.path, name, (long long)b->T, (long long)b->cfg.context);
    int64_t *ids = memory_alloc(t->count, sizeof *ids);
    int status = safetensors_read_i64(&b->file, name, rank, t->shape, ids, err);
    b->windows = memory_alloc(t->count, sizeof *b->windows);
    for (size_t i = 0; !status && i < t->count; i++) {
        if (ids[i] < 0 || ids[i] >= b->cfg.vocab)
            status = error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: token %lld at %zu, the vocabulary has %lld",
                               b->file.path, name, (long long)ids[i], i, (long long)b->cfg.vocab);
        b->windows[i] = (int32_t)ids[i];
    }
    free(ids);
    return status;
}

static void bench_close(struct bench *b)
{
    const struct ops *ops = b->model.ops;
    trainer_destroy(&b->trainer);
    model_destroy(&b->model);
    if (ops)
        ops->destroy(b->be);
    safetensors_close(&b->file);
    json_decref(b->settings.removed);
    free(b->windows);
}

static int bench_open(struct bench *b, const char *in, bool training, const struct ops *ops, int threads,
                      struct error *err)
{
    struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    *b = (struct bench){0};
    int status = safetensors_open(&b->file, in, err);
    if (!status)
        status = load_config(&b->file, training, &b->cfg, &b->settings, err);
    if (!status)
        status = load_windows(b, training ? "batches" : "tokens", training ? 3 : 2, err);
    if (!status)
        status = ops->create(&b->be, &options, err);
    if (!status)
        status = model_create(&b->model, &b->cfg, ops, b->be, err);
    if (!status)
        status = model_read(&b->model, &b->file, "param/", err);
    if (!status)
        status = trainer_create(&b->trainer, &b->model, (int)b->B, (int)b->T, err);
    if (status)
        bench_close(b);
    return status;
}

static double sum_of(const struct model *m, const float *array, int count)
{
    float *host = memory_alloc((size_t)count, sizeof *host);
    double sum = 0;
    m->ops->download(m->be, host, array, (size_t)count * sizeof *host);
    for (int i = 0; i < count; i++)
        sum += (double)host[i];
    free(host);
    return sum;
}

static void output_case(struct bench *b, struct output *o, const float *logits)
{
    const struct model *m = &b->model;
    const struct activations *a = &b->trainer.acts;
    const int64_t shape[3] = {b->B, b->T, b->cfg.vocab}, hidden[3] = {b->B, b->T, b->cfg.d_model};
    double aux, *means = memory_alloc((size_t)m->table.site_count * SITE_SUMS, sizeof *means);
    m->ops->download(m->be, &aux, a->aux_sum, sizeof aux);
    aux /= a->N;
    double ce = sum_of(m, a->ce, a->N) / a->N;
    output_block(o, m, b->trainer.grads, "grad/");
    output_download(o, m, 3, shape, logits, "out/", "logits");
    output_download(o, m, 3, hidden, a->h, "out/", "hidden");
    output_download(o, m, 2, shape, a->radial, "out/", "radial");
    output_download(o, m, 2, shape, a->tangential, "out/", "tangential");
    output_number(o, ce, "out/", "ce");
    output_number(o, aux, "out/", "aux");
    output_number(o, ce + aux, "out/", "loss");
    trainer_site_means(&b->trainer, means);
    for (int i = 0; i < m->table.site_count; i++) {
        char name[PARAM_NAME + 8];
        if (!m->table.sites[i].tapered)
            continue;
        if (config_fakeln(&b->cfg)) {
            snprintf(name, sizeof name, "%s.scale", m->table.sites[i].name);
            output_number(o, means[i * SITE_SUMS + SUM_SCALE], "stat/", name);
            continue;
        }
        snprintf(name, sizeof name, "%s.num", m->table.sites[i].name);
        output_number(o, means[i * SITE_SUMS + SUM_NUM], "stat/", name);
        snprintf(name, sizeof name, "%s.den", m->table.sites[i].name);
        output_number(o, means[i * SITE_SUMS + SUM_DEN], "stat/", name);
    }
    output_number(o, means[m->table.final_site * SITE_SUMS + SUM_SCALE], "stat/", "scale");
    free(means);
}

/* The gates of a case: one for all, or what FakeLN has left. */
static double *case_gates(const struct bench *b)
{
    const struct param_table *table = &b->model.table;
    double *gates = memory_alloc((size_t)table->site_count, sizeof *gates);
    size_t index;
    json_t *name;
    for (int i = 0; i < table->site_count; i++) {
        gates[i] = b->settings.gate;
        json_array_foreach(b->settings.removed, index, name)
        {
            if (strcmp(json_string_value(name), table->sites[i].name) == 0)
                gates[i] = 0;
        }
    }
    return gates;
}

int golden_step(const char *in, const char *out, const struct ops *ops, int threads, struct error *err)
{
    struct bench b;
    struct output o = {0};
    int status = bench_open(&b, in, false, ops, threads, err);
    if (status)
        return status;
    float *logits = ops->alloc(b.be, (size_t)(b.B * b.T * b.cfg.vocab) * sizeof *logits, err);
    double *gates = case_gates(&b);
    status = logits ? trainer_debug_pass(&b.trainer, b.windows, gates, b.settings.target, b.settings.aux, logits, err)
                    : STATUS_FAILED;
    free(gates);
    if (!status) {
        output_case(&b, &o, logits);
        status = safetensors_write(out, NULL, o.tensors, o.count, NULL, err);
    }
    output_release(&o);
    bench_close(&b);
    return status;
}

enum { SERIES = 6 };
static const char *const series_names[SERIES] = {"ce", "aux", "lr", "gate", "grad_norm", "scale"};

static int run_steps(struct bench *b, double *series[SERIES], struct error *err)
{
    for (int64_t k = 0; k < b->K; k++) {
        struct step_report r = {0};
        int status = trainer_step(&b->trainer, b->windows + k * b->B * (b->T + 1), true, &r, err);
        if (status)
            return status;
        const double values[SERIES] = {r.stats.ce, r.stats.aux, r.lr, r.gate, r.grad_norm, r.stats.scale_mean};
        for (int s = 0; s < SERIES; s++)
            series[s][k] = values[s];
    }
    return STATUS_OK;
}

int golden_train(const char *in, const char *out, const struct ops *ops, int threads, struct error *err)
{
    struct bench b;
    struct output o = {0};
    double *series[SERIES];
    int status = bench_open(&b, in, true, ops, threads, err);
    if (status)
        return status;
    for (int s = 0; s < SERIES; s++) {
        series[s] = memory_alloc((size_t)b.K, sizeof **series);
        output_add(&o, TENSOR_F64, 1, &b.K, series[s], "traj/", series_names[s]);
    }
    status = run_steps(&b, series, err);
    if (!status) {
        float *c = model_download_c(&b.model);
        output_number(&o, isnan(b.trainer.target) ? 0 : b.trainer.target, "traj/", "scale_target");
        output_block(&o, &b.model, b.model.params, "final/");
        for (int i = 0; i < b.model.table.site_count; i++) {
            char name[PARAM_NAME + 4];
            snprintf(name, sizeof name, "%s.c", b.model.table.sites[i].name);
            if (b.model.table.sites[i].tapered)
                output_number(&o, (double)c[i], "final/", name);
        }
        free(c);
        status = safetensors_write(out, NULL, o.tensors, o.count, NULL, err);
    }
    output_release(&o);
    bench_close(&b);
    return status;
}
