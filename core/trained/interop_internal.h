/* Shared by the files of interop; nothing else includes it. */
#ifndef TAPER_CORE_TRAINED_INTEROP_INTERNAL_H
#define TAPER_CORE_TRAINED_INTEROP_INTERNAL_H

#include "core/base/json_file.h"
#include "core/data/tokenizer.h"
#include "core/base/faults.h"
#include "core/trained/interop.h"
#include "core/model/model.h"
#include "core/model/params.h"
#include "core/base/safetensors.h"

enum interop_class { INTEROP_GPT2, INTEROP_LLAMA, INTEROP_CLASSES };
const char *interop_class_name(enum interop_class class);

/* The trick: y = x / sqrt(var + r^2) * (r * w) is x * w, but for a part var / (2 r^2). r is the dtype's least,
 * or as many of its steps larger as keep that part at HEADROOM below the stream of the model. */
#define INTEROP_MOST_ROOT 1e18 /* its square is a float */
#define INTEROP_HEADROOM  1e3

/* From here on an epsilon is taken for the trick: a norm's own is far below, a stream's variance may not be. */
#define INTEROP_LEAST_EPS 1e6

struct interop_number {
    const char *name; /* as config.json has it */
    enum tensor_type type;
    double least_root, root_step; /* of the trick; of 16 bits powers of two, which gains hold exactly */
    double tolerance;             /* of the logits of what was written */
    double most;                  /* finite */
};
const struct interop_number *interop_number(enum interop_dtype dtype);

/* count numbers from the heap as this dtype: `from` itself, or another array, the caller's too. *lost: the first that
 * is too large for it, count when none is. */
void *interop_narrow(enum interop_dtype dtype, float *from, size_t count, size_t *lost);

/* How a tensor there lies in a parameter here. */
enum interop_how {
    INTEROP_SAME,       /* a row of the table, or `rows` of its rows from `first` on */
    INTEROP_TRANSPOSED, /* Conv1D: [in, out] there, [out, in] here */
    INTEROP_REPEATED,   /* keys or values that several heads share there: `repeat` copies of each head's rows here */
    INTEROP_NORM_GAIN,  /* of a site: gamma, or what stands for it */
    INTEROP_NORM_SHIFT,
};

struct interop_tensor {
    char name[96];
    enum interop_how how;
    int row;              /* NO_PARAM: the model here has none, it is zero */
    int site;             /* of the two norm kinds */
    int64_t first;        /* offset in the parameter, in floats */
    int64_t repeat, head; /* of INTEROP_REPEATED: copies, and floats of a head */
    int rank;
    int64_t shape[2]; /* there */
    size_t count;
};

struct interop_map {
    struct interop_tensor *tensors;
    int count;
};

/* What a class may have that a configuration here does not say. */
struct interop_extras {
    bool biases;       /* a Llama has them */
    int64_t key_heads; /* of a Llama: heads of keys and values, a divisor of the heads */
};

/* Every tensor of the class for a model of this table. */
void interop_map_create(struct interop_map *map, enum interop_class class, const struct config *cfg,
                        const struct param_table *table, const struct interop_extras *extras);
void interop_map_destroy(struct interop_map *map);

/* A tensor of a GPT-2, on the heap, in the twice as wide one that is the same function without centring
 * (interop_widen.c). t's shape becomes the wider one; `from` is given back or freed. */
float *interop_widen(struct interop_tensor *t, float *from);

/* Give V's norm the constant of Q's and K's (interop_values.c). m: in host memory, all its norms removed, and with
 * biases where it has shifts. */
void interop_join_values(struct model *m);

/* The model of a folder as a loader runs it: norms that are affine maps by the trick are norms with that epsilon. The
 * caller destroys it. */
int interop_open_as_written(struct model *out, const char *dir, const struct ops *ops, struct backend *be,
                            struct error *err);

/* tokenizer.json, vocab.json, merges.txt and the small files beside them. */
int interop_tokenizer_write(const char *dir, const struct tokenizer *t, enum interop_class class, int64_t context,
                            struct error *err);

/* From tokenizer.json, else from vocab.json and merges.txt with the names in added_tokens.json. Where both forms are
 * there, both must give the same ids to a list of hard texts. STATUS_BAD_INPUT when there is neither, or one does what
 * has no counterpart here. */
int interop_tokenizer_read(const char *dir, struct tokenizer **out, struct error *err);

#endif
