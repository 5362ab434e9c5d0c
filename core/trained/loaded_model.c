#include "core/trained/loaded_model.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops/gpu_load.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/model/schedule.h"
#include "core/base/rundir.h"

char *load_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return memory_string(".");
    return slash == path ? memory_string("/") : memory_format("%.*s", (int)(slash - path), path);
}

static int open_tokenizer(struct loaded_model *l, const struct loaded_model_options *o, struct error *err)
{
    char *dir = load_directory(l->path);
    char *path = o->tokenizer_dir ? memory_string(o->tokenizer_dir) : file_join(dir, RUNDIR_TOKENIZER);
    int status = tokenizer_load(&l->tokenizer, path, err);
    if (status)
        status = error_wrap(err, o->tokenizer_dir ? "--tokenizer"
                                                  : "the checkpoint's tokenizer (--tokenizer DIR names another)");
    else if ((int64_t)tokenizer_vocab_size(l->tokenizer) > config_classes(&l->model.cfg))
        status = error_set(err, STATUS_BAD_INPUT, "%s: a tokenizer of %u entries does not fit %s: want at most %lld",
                           path, tokenizer_vocab_size(l->tokenizer), l->path, (long long)config_classes(&l->model.cfg));
    free(path);
    free(dir);
    return status;
}

/* The backend, and in l->model.ops its owner, which loaded_model_close needs even when the next call fails. */
static int open_backend(struct loaded_model *l, const struct config *cfg, enum load_device device, struct error *err)
{
    struct backend_options options = {.threads = l->threads, .precision = PRECISION_FP32};
    const struct ops *ops = ops_cpu();
    if (device == LOAD_CUDA || (device == LOAD_AS_TRAINED && cfg->device == DEVICE_CUDA)) {
        const struct gpu_library *library;
        int status = gpu_load(&library, err);
        if (status)
            return error_wrap(err, "device: cuda");
        ops = library->ops;
        options.precision = cfg->precision == PRECISION_FP32 ? PRECISION_FP32 : PRECISION_BF16;
    }
    int status = ops->create(&l->be, &options, err);
    if (!status)
        l->model.ops = ops;
    l->precision = options.precision;
    return status;
}

static int open_model(struct loaded_model *l, const struct saved_model *file, const struct loaded_model_options *o,
                      struct error *err)
{
    l->threads = o->threads > 0 ? o->threads : parallel_processors();
    int status = saved_model_check_finite(file, err);
    if (!status)
        status = open_backend(l, &file->cfg, o->device, err);
    if (status)
        return status;
    const struct ops *ops = l->model.ops;
    status = model_create_folded(&l->model, &file->cfg, file->folded, ops, l->be, err);
    l->model.ops = ops;
    return status ? status : model_read(&l->model, &file->file, "", err);
}

/* The sites stand where the step of the file has them. */
static void set_gates(struct model *m, int64_t step)
{
    double *gates = memory_alloc((size_t)m->table.site_count, sizeof *gates);
    schedule_gates(schedule_of(&m->cfg), &m->cfg, &m->table, step, gates);
    model_set_gates(m, gates);
    free(gates);
}

int loaded_model_open(struct loaded_model *l, const char *path, const struct loaded_model_options *options,
                      struct error *err)
{
    struct saved_model file;
    *l = (struct loaded_model){0};
    int status = saved_model_open(&file, path, err);
    if (status)
        return status;
    const char *corpus = safetensors_metadata(&file.file, "corpus");
    snprintf(l->corpus, sizeof l->corpus, "%s", corpus ? corpus : "");
    l->path = memory_string(file.file.path);
    l->folded = file.folded;
    l->step = file.step;
    status = open_model(l, &file, options, err);
    if (!status) {
        set_gates(&l->model, file.step);
        l->gate = model_largest_gate(&l->model);
    }
    if (!status && options->tokenizer)
        status = open_tokenizer(l, options, err);
    saved_model_close(&file);
    if (status)
        loaded_model_close(l);
    return status;
}

void loaded_model_close(struct loaded_model *l)
{
    const struct ops *ops = l->model.ops;
    if (ops && l->model.params)
        model_destroy(&l->model);
    if (ops)
        ops->destroy(l->be);
    tokenizer_destroy(l->tokenizer);
    free(l->path);
    *l = (struct loaded_model){0};
}
