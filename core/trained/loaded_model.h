/* A trained model made ready to run: from a checkpoint, folded or not, to a model on a backend with its tokenizer. */
#ifndef TAPER_CORE_TRAINED_LOADED_MODEL_H
#define TAPER_CORE_TRAINED_LOADED_MODEL_H

#include "core/data/tokenizer.h"
#include "core/model/model.h"
#include "core/trained/saved_model.h"

enum load_device { LOAD_CPU, LOAD_CUDA, LOAD_AS_TRAINED };

struct loaded_model_options {
    int threads;               /* 0: as many as the process may use */
    enum load_device device;   /* CUDA: the first visible GPU, at the run's own precision */
    bool tokenizer;            /* load one: from tokenizer_dir, else from `tokenizer` beside the checkpoint */
    const char *tokenizer_dir; /* NULL: beside the checkpoint */
};

struct loaded_model {
    char *path; /* of the file */
    struct model model;
    struct backend *be;
    struct tokenizer *tokenizer; /* NULL unless asked for */
    enum taper_sites folded;
    int64_t step;
    double gate;            /* the largest of the sites' gates at that step; 0 when folded */
    int threads, precision; /* of the backend: enum precision_kind, never PRECISION_AUTO */
    char corpus[72];        /* digest of the text it was trained on; "" when not known */
};

/* Everything is checked: shapes, unknown tensors, NaN and infinities (the tensors are named), and that the tokenizer
 * has no more entries than the model's vocabulary (rows beyond it pad). On failure nothing is left open. */
int loaded_model_open(struct loaded_model *l, const char *path, const struct loaded_model_options *options,
                      struct error *err);
void loaded_model_close(struct loaded_model *l); /* fine on a zeroed one */

/* The directory a checkpoint stands in, on the heap: "." where the path has none. */
char *load_directory(const char *path);

#endif
