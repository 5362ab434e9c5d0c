#include "core/base/safetensors.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/memory.h"

enum { HEADER_MOST = 100 << 20 };

static const struct {
    const char *name;
    size_t size;
} types[] = {[TENSOR_F64] = {"F64", 8}, [TENSOR_F32] = {"F32", 4},
             [TENSOR_F16] = {"F16", 2}, [TENSOR_BF16] = {"BF16", 2},
             [TENSOR_I64] = {"I64", 8}, [TENSOR_I32] = {"I32", 4},
             [TENSOR_U8] = {"U8", 1},   [TENSOR_OTHER] = {"another dtype", 0}};

bool tensor_type_is_float(enum tensor_type type)
{
    return type == TENSOR_F64 || type == TENSOR_F32 || type == TENSOR_F16 || type == TENSOR_BF16;
}

char *tensor_shape_text(int rank, const int64_t *shape, char *to, size_t room)
{
    size_t used = (size_t)snprintf(to, room, "[");
    for (int i = 0; i < rank && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%lld", i ? ", " : "", (long long)shape[i]);
    if (used < room)
        snprintf(to + used, room - used, "]");
    return to;
}

/* ------------------------------------------------------------------------------------------- reading */

/* What is wrong with a shape, NULL when it is fine. */
static const char *parse_shape(const json_t *shape, struct tensor *t)
{
    static const char wanted[] = "want a shape of at most 8 sizes, none negative";
    _Static_assert(TENSOR_RANK == 8, "the text above says so");
    if (!json_is_array(shape) || json_array_size(shape) > TENSOR_RANK)
        return wanted;
    t->rank = (int)json_array_size(shape);
    t->count = 1;
    for (int i = 0; i < t->rank; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return wanted;
        t->shape[i] = json_integer_value(dim);
        if (__builtin_mul_overflow(t->count, (size_t)t->shape[i], &t->count))
            return "its shape has more elements than any file";
    }
    return NULL;
}

static enum tensor_type parse_type(const char *dtype)
{
    enum tensor_type type = 0;
    while (type < TENSOR_OTHER && strcmp(dtype, types[type].name) != 0)
        type++;
    return type;
}

static int parse_tensor(struct safetensors *f, const char *name, const json_t *entry, size_t body, struct tensor *t,
                        struct error *err)
{
    *t = (struct tensor){.name = name, .dtype = json_string_value(json_object_get(entry, "dtype"))};
    size_t room = f->map.size - body, bytes;
    if (!t->dtype)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want a dtype, as F32", f->path, name);
    t->type = parse_type(t->dtype);
    const char *wrong = parse_shape(json_object_get(entry, "shape"), t);
    if (wrong)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: %s", f->path, name, wrong);
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want two data_offsets", f->path, name);
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (size_t)end > room)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: tensor %s: bytes %lld to %lld lie outside the %zu that follow the header", f->path, name,
                         (long long)begin, (long long)end, room);
    t->bytes = (size_t)(end - begin);
    if (t->type != TENSOR_OTHER &&
        (__builtin_mul_overflow(t->count, types[t->type].size, &bytes) || bytes != t->bytes)) {
        char shape[128];
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want %zu bytes for %s %s, got %lld", f->path, name,
                         t->count * types[t->type].size, t->dtype,
                         tensor_shape_text(t->rank, t->shape, shape, sizeof shape), (long long)(end - begin));
    }
    t->data = f->map.data + body + begin;
    return STATUS_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* empty ones before the one that starts there */
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* The format wants every byte of the body in exactly one tensor. */
static int check_cover(struct safetensors *f, size_t body, struct error *err)
{
    const unsigned char *at = f->map.data + body, *end = f->map.data + f->map.size;
    qsort(f->tensors, f->count, sizeof *f->tensors, by_place);
    for (size_t i = 0; i < f->count; i++) {
        const struct tensor *t = &f->tensors[i];
        if ((const unsigned char *)t->data != at)
            return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s %s", f->path, t->name,
                             (const unsigned char *)t->data < at ? "overlaps the one before it" : "follows a gap");
        at += t->bytes;
    }
    if (at != end)
        return error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes after the last tensor belong to none", f->path,
                         (size_t)(end - at));
    qsort(f->tensors, f->count, sizeof *f->tensors, by_name);
    return STATUS_OK;
}

static int check_metadata(const struct safetensors *f, json_t *metadata, struct error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return error_set(err, STATUS_BAD_INPUT, "%s: __metadata__: want an object of texts", f->path);
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return error_set(
        err, STATUS_BAD_INPUT, "%s: __metadata__.%.60s: want a text", f->path, key);
    return STATUS_OK;
}

static int parse_header(struct safetensors *f, struct error *err)
{
    uint64_t length;
    json_error_t fault;
    if (f->map.size < sizeof length)
        return error_set(err, STATUS_BAD_INPUT, "%s: not a safetensors file: %zu bytes", f->path, f->map.size);
    memcpy(&length, f->map.data, sizeof length);
    length = le64toh(length);
    if (length > f->map.size - sizeof length || length > HEADER_MOST)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: not a safetensors file, or truncated: its header claims %llu of %zu bytes", f->path,
                         (unsigned long long)length, f->map.size);
    f->header = json_loadb((const char *)f->map.data + sizeof length, length, JSON_REJECT_DUPLICATES, &fault);
    if (!json_is_object(f->header))
        return error_set(err, STATUS_BAD_INPUT, "%s: header is not a JSON object: %s at byte %d", f->path,
                         f->header ? "another value" : fault.text, f->header ? 0 : fault.position);
    const char *name;
    json_t *entry;
    size_t body = sizeof length + length;
    f->tensors = memory_alloc(json_object_size(f->header), sizeof *f->tensors);
    json_object_foreach(f->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(f, entry, err))
                return STATUS_BAD_INPUT;
            continue;
        }
        int status = parse_tensor(f, name, entry, body, &f->tensors[f->count], err);
        if (status)
            return status;
        f->count++;
    }
    return check_cover(f, body, err);
}

/* The digest counts as blank where it stands itself. */
static void digest_around(const unsigned char *bytes, size_t size, const unsigned char *stands, char out[DIGEST_TEXT])
{
    struct digest d;
    const unsigned char *behind = stands + DIGEST_TEXT - 1;
    digest_begin(&d);
    digest_add(&d, bytes, (size_t)(stands - bytes));
    digest_add(&d, DIGEST_BLANK, DIGEST_TEXT - 1);
    digest_add(&d, behind, size - (size_t)(behind - bytes));
    digest_end(&d, out);
}

/* Files of other programs, and of ours before there were digests, have none. */
static int check_digest(const struct safetensors *f, struct error *err)
{
    const char *stated = safetensors_digest(f);
    char found[DIGEST_TEXT];
    uint64_t length;
    if (!stated)
        return STATUS_OK;
    memcpy(&length, f->map.data, sizeof length);
    const unsigned char *stands = memmem(f->map.data + sizeof length, le64toh(length), stated, DIGEST_TEXT - 1);
    if (stands)
        digest_around(f->map.data, f->map.size, stands, found);
    if (stands && strcmp(stated, found) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: damaged: its content does not match its digest (__metadata__.%s): want %s, found %s", f->path,
                     DIGEST_KEY, stated, stands ? found : "none");
}

int safetensors_open(struct safetensors *f, const char *path, struct error *err)
{
    *f = (struct safetensors){0};
    int status = file_map_open(&f->map, path, err);
    if (status)
        return status;
    f->path = memory_string(path);
    status = parse_header(f, err);
    if (!status)
        status = check_digest(f, err);
    if (status)
        safetensors_close(f);
    return status;
}

void safetensors_close(struct safetensors *f)
{
    file_map_close(&f->map);
    free(f->path);
    json_decref(f->header);
    free(f->tensors);
    *f = (struct safetensors){0};
}

const struct tensor *safetensors_find(const struct safetensors *f, const char *name)
{
    struct tensor key = {.name = name};
    return f->count ? bsearch(&key, f->tensors, f->count, sizeof key, by_name) : NULL;
}

const char *safetensors_metadata(const struct safetensors *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}

const char *safetensors_digest(const struct safetensors *f)
{
    const char *text = safetensors_metadata(f, DIGEST_KEY);
    return digest_is(text) ? text : NULL;
}

/* ----------------------------------------------------------------------------------------- conversion */

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else { /* zero or subnormal: fraction * 2^-24 is exact in fp32 */
        float value = (float)fraction * 0x1p-24f;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    }
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static double element(const struct tensor *t, size_t i)
{
    const unsigned char *at = (const unsigned char *)t->data + i * types[t->type].size;
    union {
        double f64;
        float f32;
        uint16_t u16;
        int64_t i64;
        int32_t i32;
        uint8_t u8;
    } x;
    memcpy(&x, at, types[t->type].size);
    switch (t->type) {
    case TENSOR_F64:
        return x.f64;
    case TENSOR_F32:
        return (double)x.f32;
    case TENSOR_F16:
        return (double)half_to_float(x.u16);
    case TENSOR_BF16: {
        uint32_t bits = (uint32_t)x.u16 << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    case TENSOR_I64:
        return (double)x.i64;
    case TENSOR_I32:
        return (double)x.i32;
    case TENSOR_U8:
        return (double)x.u8;
    case TENSOR_OTHER:
        break;
    }
    return 0;
}

static int require(const struct safetensors *f, const char *name, int rank, const int64_t *shape,
                   const struct tensor **out, struct error *err)
{
    const struct tensor *t = safetensors_find(f, name);
    char wanted[128], found[128];
    if (!t)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: missing", f->path, name);
    if (t->rank != rank || (rank && memcmp(t->shape, shape, (size_t)rank * sizeof *shape) != 0))
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want shape %s, got %s", f->path, name,
                         tensor_shape_text(rank, shape, wanted, sizeof wanted),
                         tensor_shape_text(t->rank, t->shape, found, sizeof found));
    *out = t;
    return STATUS_OK;
}

/* As require, of floating-point numbers: integers that stand for weights are quantized, and scaled by something else.
 */
static int require_floats(const struct safetensors *f, const char *name, int rank, const int64_t *shape,
                          const struct tensor **out, struct error *err)
{
    int status = require(f, name, rank, shape, out, err);
    if (!status && !tensor_type_is_float((*out)->type))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: tensor %s: want floating-point numbers (F32, F16, BF16, F64), got %s", f->path, name,
                         (*out)->dtype);
    return status;
}

int safetensors_read_f32(const struct safetensors *f, const char *name, int rank, const int64_t *shape, float *out,
                         struct error *err)
{
    const struct tensor *t;
    int status = require_floats(f, name, rank, shape, &t, err);
    if (status)
        return status;
    if (t->type == TENSOR_F32)
        memcpy(out, t->data, t->count * sizeof *out);
    else
        for (size_t i = 0; i < t->count; i++)
            out[i] = (float)element(t, i);
    return STATUS_OK;
}

int safetensors_read_f64(const struct safetensors *f, const char *name, int rank, const int64_t *shape, double *out,
                         struct error *err)
{
    const struct tensor *t;
    int status = require_floats(f, name, rank, shape, &t, err);
    for (size_t i = 0; !status && i < t->count; i++)
        out[i] = element(t, i);
    return status;
}

int safetensors_read_i64(const struct safetensors *f, const char *name, int rank, const int64_t *shape, int64_t *out,
                         struct error *err)
{
    const struct tensor *t;
    int status = require(f, name, rank, shape, &t, err);
    if (status)
        return status;
    if (t->type != TENSOR_I64 && t->type != TENSOR_I32 && t->type != TENSOR_U8)
        return error_set(err, STATUS_BAD_INPUT, "%s: tensor %s: want integers, got %s", f->path, name, t->dtype);
    if (t->type == TENSOR_I64)
        memcpy(out, t->data, t->count * sizeof *out);
    else
        for (size_t i = 0; i < t->count; i++)
            out[i] = (int64_t)element(t, i);
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------- writing */

static json_t *describe(const struct tensor *t, size_t at)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", types[t->type].name, "shape", shape, "data_offsets",
                     (json_int_t)at, (json_int_t)(at + t->count * types[t->type].size));
}

static char *header_text(const struct tensor *tensors, size_t count, const json_t *metadata)
{
    json_t *header = json_object(), *texts = json_object();
    size_t at = 0;
    if (metadata)
        json_object_update(texts, (json_t *)metadata);
    json_object_set_new(texts, DIGEST_KEY, json_string(DIGEST_BLANK));
    json_object_set_new(header, "__metadata__", texts);
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(header, tensors[i].name, describe(&tensors[i], at));
        at += tensors[i].count * types[tensors[i].type].size;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

/* What comes before the tensors, with the digest of all in its place; *size: its bytes. */
static char *make_head(char *text, const struct tensor *tensors, size_t count, size_t *size)
{
    const size_t length = strlen(text), padding = (8 - length % 8) % 8; /* the body starts at a multiple of 8 */
    const uint64_t claimed = htole64(length + padding);
    char *head = memory_alloc(sizeof claimed + length + padding, 1), found[DIGEST_TEXT];
    struct digest d;
    *size = sizeof claimed + length + padding;
    memcpy(head, &claimed, sizeof claimed);
    memcpy(head + sizeof claimed, text, length);
    memset(head + sizeof claimed + length, ' ', padding);
    digest_begin(&d);
    digest_add(&d, head, *size);
    for (size_t i = 0; i < count; i++)
        digest_add(&d, tensors[i].data, types[tensors[i].type].size * tensors[i].count);
    digest_end(&d, found);
    char *stands = memmem(head, *size, "\"" DIGEST_KEY "\":\"" DIGEST_BLANK, strlen(DIGEST_KEY) + DIGEST_TEXT + 3);
    memcpy(stands + strlen(DIGEST_KEY) + 4, found, DIGEST_TEXT - 1);
    return head;
}

int safetensors_write(const char *path, const char *keep, const struct tensor *tensors, size_t count,
                      const json_t *metadata, struct error *err)
{
    char *text = header_text(tensors, count, metadata);
    struct file_writer w;
    size_t size;
    if (!text)
        return error_set(err, STATUS_FAILED, "%s: the header cannot be written as JSON", path);
    int status = file_create(&w, path, err);
    if (!status) {
        char *head = make_head(text, tensors, count, &size);
        w.keep = keep ? memory_string(keep) : NULL;
        fwrite(head, 1, size, w.stream);
        for (size_t i = 0; i < count; i++)
            fwrite(tensors[i].data, types[tensors[i].type].size, tensors[i].count, w.stream);
        status = file_commit(&w, err);
        free(head);
    }
    free(text);
    return status;
}
