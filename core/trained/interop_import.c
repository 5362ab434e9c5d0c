#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/trained/interop_config.h"
#include "core/trained/interop_source.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "core/trained/saved_model.h"

/* Everything an import has open. */
struct import {
    struct interop_config config;
    struct interop_source source;
    struct param_table table;
    struct interop_map map;
    const char *prefix; /* what published files leave out of the class's names, "" when they do not */
    float *params, *c;  /* host */
    bool bare;          /* the norms are all x * 1: a folded model */
};

static const char *class_prefix(enum interop_class class)
{
    return class == INTEROP_GPT2 ? "transformer." : "model.";
}

/* Files saved from the model without its head have the names without their first part. */
static void find_prefix(struct import *im)
{
    const char *prefix = class_prefix(im->config.class);
    const char *first = im->map.tensors[0].name;
    bool bare = !interop_source_find(&im->source, first) && interop_source_find(&im->source, first + strlen(prefix));
    im->prefix = bare ? prefix : "";
}

/* A tensor's name in this source. */
static const char *source_name(const struct import *im, const char *name)
{
    size_t length = strlen(im->prefix);
    return length && strncmp(name, im->prefix, length) == 0 ? name + length : name;
}

/* ------------------------------------------------------------------------------------------- numbers */

/* Buffers that are no parameters: masks, and rotary tables of older files. */
static bool is_buffer(const char *name)
{
    static const char *const endings[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && strcmp(name + length - end, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool is_expected(const struct import *im, const char *name)
{
    for (int i = 0; i < im->map.count; i++)
        if (strcmp(source_name(im, im->map.tensors[i].name), name) == 0)
            return true;
    return false;
}

/* A tied head that is in the file all the same must be the embedding. */
static void check_tied_head(const struct import *im, struct faults *f)
{
    const struct safetensors *file = interop_source_find(&im->source, "lm_head.weight");
    const struct param *p = &im->table.rows[im->table.tok_embed];
    struct error one = {0};
    float *head = memory_alloc(p->size, sizeof *head);
    if (safetensors_read_f32(file, "lm_head.weight", 2, p->shape, head, &one))
        faults_add(f, "%s", one.text);
    else if (memcmp(head, im->params + p->offset, p->size * sizeof *head) != 0)
        faults_add(f, "%s: tensor lm_head.weight: differs from the embedding, which tie_word_embeddings says it is",
                   file->path);
    free(head);
}

static void check_unknown(const struct import *im, struct faults *f)
{
    const bool tied = im->table.lm_head == im->table.tok_embed;
    for (int i = 0; i < im->source.count; i++)
        for (size_t t = 0; t < im->source.files[i].count; t++) {
            const char *name = im->source.files[i].tensors[t].name;
            if (tied && strcmp(name, "lm_head.weight") == 0)
                check_tied_head(im, f);
            else if (!is_buffer(name) && !is_expected(im, name))
                faults_add(f, "%s: tensor %s: no part of the model that config.json describes",
                           im->source.files[i].path, name);
        }
}

static void check_finite(const struct safetensors *file, const char *name, const float *x, size_t count,
                         struct faults *f)
{
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]) && bad++ == 0)
            first = i;
    if (bad)
        faults_add(f, "%s: tensor %s: %zu of %zu numbers are not finite; %g at %zu", file->path, name, bad, count,
                   (double)x[first], first);
}

/* Where a tensor goes; NULL when the model here has no place and it must hold what it would there. */
static float *destination(const struct import *im, const struct interop_tensor *t)
{
    const struct param_site *s =
        t->how == INTEROP_NORM_GAIN || t->how == INTEROP_NORM_SHIFT ? &im->table.sites[t->site] : NULL;
    int row = t->row;
    if (s && t->how == INTEROP_NORM_GAIN)
        row = s->tapered ? s->gamma_tilde : s->gamma;
    else if (s)
        row = s->tapered ? s->beta_tilde : s->beta;
    return row == NO_PARAM ? NULL : im->params + im->table.rows[row].offset + t->first;
}

static void place(const struct import *im, const struct interop_tensor *t, const float *from)
{
    float *to = destination(im, t);
    if (!to)
        return;
    if (t->how == INTEROP_REPEATED) {
        const int64_t heads = (int64_t)t->count / t->head * t->repeat;
        for (int64_t h = 0; h < heads; h++)
            memcpy(to + h * t->head, from + h / t->repeat * t->head, (size_t)t->head * sizeof *to);
        return;
    }
    if (t->how != INTEROP_TRANSPOSED) {
        memcpy(to, from, t->count * sizeof *to);
        return;
    }
    const int64_t I = t->shape[0], O = t->shape[1];
    for (int64_t i = 0; i < I; i++)
        for (int64_t o = 0; o < O; o++)
            to[o * I + i] = from[i * O + o];
}

/* Biases that the configuration leaves out of half of a Llama are zero here. */
static bool is_left_out(const struct import *im, const char *name)
{
    size_t length = strlen(name);
    if (im->config.class != INTEROP_LLAMA || length < 5 || strcmp(name + length - 5, ".bias") != 0)
        return false;
    if (strstr(name, ".mlp."))
        return !im->config.mlp;
    return !im->config.attention || (im->config.out_unbiased && strstr(name, ".o_proj."));
}

static int read_tensors(struct import *im, struct error *err)
{
    struct faults f = {.err = err};
    for (int i = 0; i < im->map.count; i++) {
        const struct interop_tensor *t = &im->map.tensors[i];
        const char *name = source_name(im, t->name);
        const struct safetensors *file = interop_source_find(&im->source, name);
        struct error one = {0};
        if (!file) {
            char shape[64];
            if (!is_left_out(im, name))
                faults_add(&f, "%s: tensor %s: missing, want shape %s", im->source.path, name,
                           tensor_shape_text(t->rank, t->shape, shape, sizeof shape));
            continue;
        }
        float *from = memory_alloc(t->count, sizeof *from);
        if (safetensors_read_f32(file, name, t->rank, t->shape, from, &one)) {
            faults_add(&f, "%s", one.text);
        } else {
            check_finite(file, name, from, t->count, &f);
            place(im, t, from);
        }
        free(from);
    }
    check_unknown(im, &f);
    return faults_end(&f);
}

/* ------------------------------------------------------------------------------------------- norms */

/* Affine norms whose gains are all the root of epsilon and whose shifts are 0 do nothing: the model is a folded one. */
static bool norms_are_bare(const struct import *im)
{
    const float root = (float)sqrt(im->config.eps);
    if (!im->config.affine || im->config.cfg.tied)
        return false;
    for (int i = 0; i < im->table.site_count; i++) {
        const struct param_site *s = &im->table.sites[i];
        const float *gain = im->params + im->table.rows[s->gamma_tilde].offset;
        const float *shift = s->beta_tilde == NO_PARAM ? NULL : im->params + im->table.rows[s->beta_tilde].offset;
        for (int64_t j = 0; j < im->config.cfg.d_model; j++)
            if (gain[j] != root || (shift && shift[j] != 0))
                return false;
    }
    return true;
}

static void make_table(struct import *im, enum taper_sites folded)
{
    interop_map_destroy(&im->map);
    params_destroy(&im->table);
    free(im->params);
    free(im->c);
    params_create_folded(&im->table, &im->config.cfg, folded);
    interop_map_create(&im->map, im->config.class, &im->config.cfg, &im->table, &im->config.extras);
    im->params = memory_alloc(im->table.total, sizeof *im->params);
    im->c = memory_alloc((size_t)im->table.site_count, sizeof *im->c);
    for (int i = 0; i < im->table.count; i++) /* gains that nothing reads at gate 0 */
        for (size_t j = 0; im->table.rows[i].init == INIT_ONE && j < im->table.rows[i].size; j++)
            im->params[im->table.rows[i].offset + j] = 1;
    for (int i = 0; i < im->table.site_count; i++)
        im->c[i] = im->config.affine ? (float)(1 / sqrt(im->config.eps)) : 1;
    find_prefix(im);
}

static int read_model(struct import *im, struct error *err)
{
    make_table(im, SITES_NONE);
    int status = read_tensors(im, err);
    if (!status && norms_are_bare(im)) {
        im->bare = true;
        make_table(im, SITES_ALL);
        status = read_tensors(im, err);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------- writing */

static int write_run(const struct import *im, const struct tokenizer *tokenizer, const char *out, struct error *err)
{
    char *checkpoint = file_join(out, RUNDIR_CHECKPOINT), *config = file_join(out, RUNDIR_CONFIG);
    char *folder = file_join(out, RUNDIR_TOKENIZER);
    json_t *object = config_to_json(&im->config.cfg),
           *metadata = json_pack("{s:s}", "imported", interop_class_name(im->config.class));
    int status = file_make_directories(out, err);
    if (!status && tokenizer)
        status = tokenizer_save(tokenizer, folder, err);
    if (!status)
        status = json_file_write(config, object, JSON_INDENT(2), err);
    if (!status) /* last: with it the directory is a model */
        status = saved_model_write(checkpoint,
                                   &(struct saved_model_content){.cfg = &im->config.cfg,
                                                                 .table = &im->table,
                                                                 .params = im->params,
                                                                 .c = im->c,
                                                                 .step = 2,
                                                                 .metadata = metadata},
                                   err);
    json_decref(object);
    json_decref(metadata);
    free(checkpoint);
    free(config);
    free(folder);
    return status;
}

static int read_tokenizer(const struct import *im, const char *dir, struct tokenizer **out, struct error *err)
{
    int status = interop_tokenizer_read(dir, out, err);
    if (!status && (int64_t)tokenizer_vocab_size(*out) > im->config.cfg.vocab)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: a tokenizer of %u entries does not fit a vocab_size of %lld, want at most that "
                         "(--no-tokenizer imports the model alone)",
                         dir, tokenizer_vocab_size(*out), (long long)im->config.cfg.vocab);
    return status;
}

static void summarize(const struct import *im, const struct tokenizer *tokenizer, char summary[INTEROP_SUMMARY])
{
    const long long heads = im->config.cfg.heads, shared = im->config.extras.key_heads;
    int used = snprintf(summary, INTEROP_SUMMARY, "%s, %lld parameters%s", interop_class_name(im->config.class),
                        (long long)im->table.parameters,
                        im->bare            ? "; without normalization"
                        : im->config.affine ? "; its norms are affine maps: gate 0"
                                            : "");
    if (im->config.class == INTEROP_LLAMA && shared != heads)
        used +=
            snprintf(summary + used, INTEROP_SUMMARY - (size_t)used,
                     "; the keys and values of its %lld heads are repeated for %lld, the same function", shared, heads);
    const int64_t entries = tokenizer ? tokenizer_vocab_size(tokenizer) : im->config.cfg.vocab;
    if (entries < im->config.cfg.vocab)
        snprintf(summary + used, INTEROP_SUMMARY - (size_t)used, "; %lld of its %lld rows pad the vocabulary",
                 (long long)(im->config.cfg.vocab - entries), (long long)im->config.cfg.vocab);
}

static void close_import(struct import *im)
{
    interop_source_close(&im->source);
    interop_map_destroy(&im->map);
    params_destroy(&im->table);
    free(im->params);
    free(im->c);
}

int interop_open_as_written(struct model *out, const char *dir, const struct ops *ops, struct backend *be,
                            struct error *err)
{
    struct import im = {.prefix = ""};
    char *config = file_join(dir, "config.json");
    int status = interop_config_read(config, &im.config, err);
    if (!status && im.config.affine) {
        im.config.affine = false;
        im.config.cfg.sites = SITES_NONE;
        im.config.cfg.norm_eps = im.config.eps;
    }
    if (!status)
        status = interop_source_open(&im.source, dir, err);
    if (!status) {
        make_table(&im, SITES_NONE);
        status = read_tensors(&im, err);
    }
    if (!status)
        status = model_create_folded(out, &im.config.cfg, SITES_NONE, ops, be, err);
    if (!status) {
        ops->upload(be, out->params, im.params, im.table.total * sizeof *im.params);
        ops->upload(be, out->c, im.c, (size_t)im.table.site_count * sizeof *im.c);
        status = ops->sync(be, err);
        if (status)
            model_destroy(out);
    }
    close_import(&im);
    free(config);
    return status;
}

int interop_import(const char *dir, const char *out, const struct interop_options *options,
                   char summary[INTEROP_SUMMARY], struct error *err)
{
    struct import im = {.prefix = ""};
    struct tokenizer *tokenizer = NULL;
    char *config = file_join(dir, "config.json");
    int status = interop_config_read(config, &im.config, err);
    if (!status)
        status = interop_source_open(&im.source, dir, err);
    if (!status)
        status = read_model(&im, err);
    if (!status && !options->no_tokenizer)
        status = read_tokenizer(&im, dir, &tokenizer, err);
    if (!status)
        status = write_run(&im, tokenizer, out, err);
    if (!status)
        summarize(&im, tokenizer, summary);
    tokenizer_destroy(tokenizer);
    close_import(&im);
    free(config);
    return status;
}
