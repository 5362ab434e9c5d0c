#include "core/trained/initial.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/faults.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "core/data/tokenizer.h"
#include "core/trained/interop_internal.h"
#include "core/trained/loaded_model.h"

/* ------------------------------------------------------------------------------------------- the source */

/* Where init.from leads: a file of ours, or a folder of another program. */
struct place {
    char *file;   /* NULL: a folder */
    char *folder; /* the folder, or the one that the file stands in */
};

static void place_release(struct place *p)
{
    free(p->file);
    free(p->folder);
}

static bool is_there(const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    const bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static int find_place(const char *from, struct place *p, struct error *err)
{
    struct stat st;
    *p = (struct place){0};
    if (stat(from, &st) != 0)
        return error_errno(err, STATUS_BAD_INPUT, errno, "init.from: %s", from);
    if (!S_ISDIR(st.st_mode)) {
        p->file = memory_string(from);
        p->folder = load_directory(from);
    } else if (is_there(from, RUNDIR_CHECKPOINT)) {
        p->file = file_join(from, RUNDIR_CHECKPOINT);
        p->folder = memory_string(from);
    } else if (is_there(from, "config.json")) {
        p->folder = memory_string(from);
    } else {
        return error_set(err, STATUS_BAD_INPUT,
                         "init.from: %s: want a checkpoint, a run's directory (with " RUNDIR_CHECKPOINT
                         ") or a folder of Hugging Face (with config.json)",
                         from);
    }
    return STATUS_OK;
}

/* Its tokenizer's directory, on the heap; NULL when it has none. */
static char *find_tokenizer(const struct place *p)
{
    if (p->file)
        return is_there(p->folder, RUNDIR_TOKENIZER) ? file_join(p->folder, RUNDIR_TOKENIZER) : NULL;
    const bool there = is_there(p->folder, "tokenizer.json") || is_there(p->folder, "vocab.json");
    return there ? memory_string(p->folder) : NULL;
}

/* ------------------------------------------------------------------------------------------- the digest */

static int add_file(crypto_generichash_state *state, const char *path, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status)
        return error_wrap(err, "init.from");
    const uint64_t size = map.size;
    crypto_generichash_update(state, (const unsigned char *)&size, sizeof size);
    crypto_generichash_update(state, map.data, map.size);
    file_map_close(&map);
    return STATUS_OK;
}

static int is_tensors(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".safetensors") == 0;
}

/* What says which model a folder is, and all of its tensors, in the order of their names. */
static int add_folder(crypto_generichash_state *state, const char *folder, struct error *err)
{
    struct dirent **entries = NULL;
    char *path = file_join(folder, "config.json");
    int status = add_file(state, path, err);
    free(path);
    int count = status ? 0 : scandir(folder, &entries, is_tensors, alphasort);
    if (count < 0)
        status = error_errno(err, STATUS_BAD_INPUT, errno, "init.from: %s", folder);
    for (int i = 0; i < count; i++) {
        path = file_join(folder, entries[i]->d_name);
        if (!status)
            status = add_file(state, path, err);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int take_digest(const struct place *p, char out[CONFIG_DIGEST_TEXT], struct error *err)
{
    crypto_generichash_state state;
    unsigned char bytes[32];
    crypto_generichash_init(&state, NULL, 0, sizeof bytes);
    int status = p->file ? add_file(&state, p->file, err) : add_folder(&state, p->folder, err);
    crypto_generichash_final(&state, bytes, sizeof bytes);
    sodium_bin2hex(out, CONFIG_DIGEST_TEXT, bytes, sizeof bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------- the tokenizer */

static int compare_tokenizers(const char *given, const char *theirs, struct error *err)
{
    struct tokenizer *a = NULL, *b = NULL;
    int status = tokenizer_load(&a, given, err);
    if (status)
        error_wrap(err, "data.tokenizer");
    else if ((status = tokenizer_load(&b, theirs, err)))
        error_wrap(err, "init.from");
    if (!status && memcmp(tokenizer_digest(a), tokenizer_digest(b), TOKENIZER_DIGEST_BYTES) != 0)
        status = error_set(err, STATUS_BAD_INPUT,
                           "data.tokenizer: %s does not do what %s does, with which the weights of init.from were "
                           "trained (auto takes that one)",
                           given, theirs);
    tokenizer_destroy(a);
    tokenizer_destroy(b);
    return status;
}

static int settle_tokenizer(struct config *cfg, const struct place *p, struct error *err)
{
    char *theirs = find_tokenizer(p);
    int status = STATUS_OK;
    if (strcmp(cfg->tokenizer, "auto") == 0)
        status = theirs ? config_set(cfg, "data.tokenizer", theirs, err)
                        : error_set(err, STATUS_BAD_INPUT,
                                    "data.tokenizer: %s has no tokenizer, and one that is made anew (auto) would give "
                                    "the weights of init.from other tokens: name one",
                                    cfg->init_from);
    else if (theirs)
        status = compare_tokenizers(cfg->tokenizer, theirs, err);
    free(theirs);
    return status;
}

int initial_resolve(struct config *cfg, struct error *err)
{
    struct place place;
    char digest[CONFIG_DIGEST_TEXT];
    if (!cfg->init_from[0])
        return STATUS_OK;
    int status = find_place(cfg->init_from, &place, err);
    if (!status && !cfg->init_digest[0]) {
        status = take_digest(&place, digest, err);
        if (!status)
            status = config_set(cfg, "init.digest", digest, err);
    }
    if (!status)
        status = settle_tokenizer(cfg, &place, err);
    place_release(&place);
    return status;
}

static bool is_of_run(const struct config *cfg)
{
    return strncmp(cfg->init_digest, CONFIG_OF_RUN, strlen(CONFIG_OF_RUN)) == 0;
}

int initial_of_run(struct config *cfg, const char *dir, struct error *err)
{
    if (!cfg->init_run[0])
        return STATUS_OK;
    if (!is_of_run(cfg))
        return error_set(err, STATUS_BAD_INPUT, "init.run: %s is a variant, which only a sweep has", cfg->init_run);
    char *here = realpath(dir, NULL), *slash = here ? strrchr(here, '/') : NULL;
    if (!slash) {
        free(here);
        return error_errno(err, STATUS_FAILED, errno, "%s", dir);
    }
    *slash = '\0';
    char *from = file_join(here, cfg->init_digest + strlen(CONFIG_OF_RUN));
    int status = is_there(from, RUNDIR_CHECKPOINT)
                     ? config_set(cfg, "init.from", from, err)
                     : error_set(err, STATUS_BAD_INPUT,
                                 "init.run: the run of variant %s has no checkpoint any more: %s/" RUNDIR_CHECKPOINT,
                                 cfg->init_run, from);
    if (!status)
        status = config_set(cfg, "init.run", "", err);
    if (!status)
        status = initial_resolve(cfg, err);
    free(from);
    free(here);
    return status ? status : config_finish(cfg, err);
}

/* ------------------------------------------------------------------------------------------- loading */

/* A source that is open: its model in host memory. */
struct initial {
    struct place place;
    struct loaded_model ours;
    struct model other;
    struct backend *be; /* of the other */
    const struct model *m;
};

static void initial_close(struct initial *s)
{
    loaded_model_close(&s->ours);
    if (s->m == &s->other)
        model_destroy(&s->other);
    ops_cpu()->destroy(s->be);
    place_release(&s->place);
}

static int open_source(struct initial *s, const struct config *cfg, struct error *err)
{
    char digest[CONFIG_DIGEST_TEXT];
    const struct backend_options options = {.threads = 1, .precision = PRECISION_FP32};
    *s = (struct initial){0};
    int status = find_place(cfg->init_from, &s->place, err);
    if (!status && !is_of_run(cfg))
        status = take_digest(&s->place, digest, err);
    if (!status && !is_of_run(cfg) && cfg->init_digest[0] && strcmp(digest, cfg->init_digest) != 0)
        status = error_set(err, STATUS_BAD_INPUT,
                           "init.from: %s: its weights are not those that the run's name stands for: want digest "
                           "%.16s, found %.16s",
                           cfg->init_from, cfg->init_digest, digest);
    if (status)
        return status;
    if (s->place.file) {
        status = loaded_model_open(&s->ours, s->place.file, &(struct loaded_model_options){.threads = 1}, err);
        s->m = &s->ours.model;
    } else {
        status = ops_cpu()->create(&s->be, &options, err);
        if (!status)
            status = interop_open_as_written(&s->other, s->place.folder, ops_cpu(), s->be, err);
        s->m = status ? NULL : &s->other;
    }
    return status ? error_wrap(err, "init.from") : STATUS_OK;
}

/* The weights mean the same only in the same model, and in one whose norms are real. */
static int check_source(const struct initial *s, const struct config *cfg, struct error *err)
{
    static const char *const keys[] = {"model.d_model",    "model.layers",
                                       "model.heads",      "model.context",
                                       "model.vocab",      "model.d_ff",
                                       "model.norm",       "model.norm_eps",
                                       "model.pos",        "model.mlp",
                                       "model.bias",       "model.tied",
                                       "model.rope_theta", NULL};
    struct faults f = {.err = err};
    for (int i = 0; keys[i]; i++) {
        const struct config_key *key = config_key_find(keys[i]);
        char wanted[CONFIG_TEXT], found[CONFIG_TEXT];
        if (!config_same_result(cfg, &s->m->cfg, key))
            faults_add(&f, "init.from: %s: %s is %s, want this run's %s", cfg->init_from, keys[i],
                       config_get(&s->m->cfg, key, found), config_get(cfg, key, wanted));
    }
    for (int i = 0; i < s->m->table.site_count; i++)
        if (s->m->table.sites[i].absent || s->m->site_phase[i] != PHASE_NORMED) {
            faults_add(&f, "init.from: %s: its norms are tapered, removed or folded; want a model whose norms are real",
                       cfg->init_from);
            break;
        }
    return faults_end(&f);
}

/* Rows of the same name into a block of the run's layout; what the source has not stays. */
static void carry_over(const struct param_table *to, float *block, const struct param_table *from, const float *params)
{
    for (int i = 0; i < to->count; i++) {
        const int row = params_find(from, to->rows[i].name);
        if (row != NO_PARAM && to->rows[i].group != GROUP_TILDE)
            memcpy(block + to->rows[i].offset, params + from->rows[row].offset, to->rows[i].size * sizeof *block);
    }
}

static int load_weights(struct model *m, const struct model *from, struct error *err)
{
    float *host = model_download(m, m->params);
    carry_over(&m->table, host, &from->table, from->params);
    m->ops->upload(m->be, m->params, host, m->table.total * sizeof *host);
    int status = m->ops->sync(m->be, err);
    free(host);
    return status;
}

/* A block of the optimizer, by the names of its tensors in the file. */
static int load_moments(const struct trainer *t, const struct safetensors *f, const struct param_table *from,
                        const char *prefix, float *block, struct error *err)
{
    const struct model *m = t->model;
    float *theirs = memory_alloc(from->total, sizeof *theirs), *host = memory_alloc(m->table.total, sizeof *host);
    int status = STATUS_OK;
    for (int i = 0; !status && i < from->count; i++) {
        const struct param *p = &from->rows[i];
        char *name = memory_format("%s%s", prefix, p->name);
        status = safetensors_read_f32(f, name, p->rank, p->shape, theirs + p->offset, err);
        free(name);
    }
    if (!status) {
        carry_over(&m->table, host, from, theirs);
        m->ops->upload(m->be, block, host, m->table.total * sizeof *host);
        status = m->ops->sync(m->be, err);
    }
    free(host);
    free(theirs);
    return status;
}

/* A site's gamma goes on from the count that it had there, whether it was tapered or not; gamma_tilde is new. */
static int load_counts(struct trainer *t, const struct safetensors *f, const struct param_table *from,
                       struct error *err)
{
    const struct param_table *to = &t->model->table;
    int64_t *counts = memory_alloc((size_t)from->counters, sizeof *counts);
    int status = safetensors_read_i64(f, "state/adam_step", 1, (int64_t[]){from->counters}, counts, err);
    t->adam_step[COUNTER_ALWAYS] = status ? 0 : counts[COUNTER_ALWAYS];
    for (int i = 0; !status && i < to->count; i++) {
        const struct param *p = &to->rows[i];
        const int row = params_find(from, p->name);
        if (p->group != GROUP_GAMMA || row == NO_PARAM)
            continue;
        const struct param *there = &from->rows[row];
        t->adam_step[to->sites[p->site].gamma_counter] =
            counts[there->group == GROUP_GAMMA ? from->sites[there->site].gamma_counter : COUNTER_ALWAYS];
    }
    free(counts);
    return status;
}

static int load_optimizer(struct trainer *t, const struct initial *s, struct error *err)
{
    struct saved_model file;
    if (!s->place.file)
        return error_set(err, STATUS_BAD_INPUT,
                         "init.optimizer: keep wants the optimizer's state, which a checkpoint of a run has and %s has "
                         "not",
                         s->place.folder);
    int status = saved_model_open(&file, s->place.file, err);
    if (!status)
        status = load_moments(t, &file.file, &file.table, "adam.m/", t->m, err);
    if (!status)
        status = load_moments(t, &file.file, &file.table, "adam.v/", t->v, err);
    if (!status)
        status = load_counts(t, &file.file, &file.table, err);
    saved_model_close(&file);
    return status ? error_wrap(err, "init.optimizer: keep") : STATUS_OK;
}

int initial_load(void *arg, struct trainer *t, struct error *err)
{
    const struct config *cfg = &t->model->cfg;
    struct initial s;
    (void)arg;
    int status = open_source(&s, cfg, err);
    if (!status)
        status = check_source(&s, cfg, err);
    if (!status)
        status = load_weights(t->model, s.m, err);
    if (!status && cfg->init_optimizer == OPTIMIZER_KEEP)
        status = load_optimizer(t, &s, err);
    initial_close(&s);
    return status;
}
