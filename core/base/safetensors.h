/* safetensors files: named tensors behind a JSON header, read by map and written whole or not at all.
 *
 * Layout (the published format): 8 bytes little-endian header length, the header, then the bytes of the tensors with no
 * holes. The reader believes nothing: header length, JSON, every dtype, shape, offset and size are checked, tensors may
 * neither overlap nor leave gaps. A dtype that is not listed below is no fault of the file (masks are BOOL): such a
 * tensor is there, and only refused when its numbers are asked for. What this program writes carries a digest of the
 * whole file in __metadata__.digest, taken with zeros in its own place (digest.h); where one is there it is checked
 * before anything is believed, at the speed of memory (1.4 GiB in 0.11 s). Tensors of a reader point into the map and
 * live until safetensors_close. */
#ifndef TAPER_CORE_BASE_SAFETENSORS_H
#define TAPER_CORE_BASE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "core/base/error.h"
#include "core/base/file.h"

#define DIGEST_KEY "digest" /* of __metadata__ */

enum { TENSOR_RANK = 8 };
enum tensor_type { TENSOR_F64, TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_I64, TENSOR_I32, TENSOR_U8, TENSOR_OTHER };

struct tensor {
    const char *name;
    enum tensor_type type;
    const char *dtype; /* of a reader: as the file has it, which for TENSOR_OTHER is all that is known */
    int rank;          /* 0: a scalar */
    int64_t shape[TENSOR_RANK];
    size_t count;     /* elements */
    size_t bytes;     /* of a reader: what it takes in the file */
    const void *data; /* unaligned in a reader */
};

struct safetensors {
    struct file_map map;
    char *path;
    json_t *header;         /* owns the names */
    struct tensor *tensors; /* sorted by name */
    size_t count;
};

int safetensors_open(struct safetensors *f, const char *path, struct error *err);
void safetensors_close(struct safetensors *f); /* fine on a zeroed one */

/* NULL when there is none of that name. */
const struct tensor *safetensors_find(const struct safetensors *f, const char *name);

/* A string of __metadata__, NULL when absent. */
const char *safetensors_metadata(const struct safetensors *f, const char *key);

/* The digest the file states, which was found to be right; NULL when it has none. */
const char *safetensors_digest(const struct safetensors *f);

/* The tensor of a name with exactly this shape, converted; f32 and f64 of floating-point numbers, i64 of integers.
 * Errors name file, tensor, wanted and found. */
int safetensors_read_f32(const struct safetensors *f, const char *name, int rank, const int64_t *shape, float *out,
                         struct error *err);
int safetensors_read_f64(const struct safetensors *f, const char *name, int rank, const int64_t *shape, double *out,
                         struct error *err);
int safetensors_read_i64(const struct safetensors *f, const char *name, int rank, const int64_t *shape, int64_t *out,
                         struct error *err);

/* Write tensors in the order given (data aligned as their type wants), and metadata: an object of strings, or NULL.
 * keep: as in struct file_writer, NULL for none. */
int safetensors_write(const char *path, const char *keep, const struct tensor *tensors, size_t count,
                      const json_t *metadata, struct error *err);

bool tensor_type_is_float(enum tensor_type type);

/* "[512, 64]" into to, which is returned. */
char *tensor_shape_text(int rank, const int64_t *shape, char *to, size_t room);

#endif
