#include "core/data/rdata.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "core/base/memory.h"

/* R's names for the types that are read here. */
enum { R_STRING = 9, R_STRINGS = 16, R_TYPE_BITS = 0xff };

/* A byte of a zlib stream becomes at most so many (zlib's technical details). */
enum { INFLATED_MOST = 1032 };

struct object {
    const unsigned char *at, *end;
    const char *path;
    size_t place; /* of the object in the file */
};

static int damaged(const struct object *o, const char *what, struct error *err)
{
    return error_set(err, STATUS_BAD_INPUT, "%s: object at byte %zu: %s", o->path, o->place, what);
}

static uint32_t big_end_first(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool take_word(struct object *o, uint32_t *word)
{
    if (o->end - o->at < 4)
        return false;
    *word = big_end_first(o->at);
    o->at += 4;
    return true;
}

/* "X\n", the version, two versions of R; in version 3 also the name of an encoding. */
static bool take_header(struct object *o)
{
    uint32_t version, word, length = 0;
    if (o->end - o->at < 2 || memcmp(o->at, "X\n", 2) != 0)
        return false;
    o->at += 2;
    if (!take_word(o, &version) || version < 2 || version > 3 || !take_word(o, &word) || !take_word(o, &word))
        return false;
    if (version == 3 && !take_word(o, &length))
        return false;
    if (length > (size_t)(o->end - o->at))
        return false;
    o->at += length;
    return true;
}

static int read_vector(struct object *o, size_t vector, rdata_string *string, void *arg, struct error *err)
{
    uint32_t flags, count, length;
    if (!take_header(o))
        return damaged(o, "want R's XDR serialization of version 2 or 3", err);
    if (!take_word(o, &flags) || (flags & R_TYPE_BITS) != R_STRINGS || !take_word(o, &count))
        return damaged(o, "want a character vector", err);
    for (uint32_t i = 0; i < count; i++) {
        if (!take_word(o, &flags) || (flags & R_TYPE_BITS) != R_STRING || !take_word(o, &length))
            return damaged(o, "want a string in its vector", err);
        if (length == UINT32_MAX) /* NA */
            length = 0;
        if (length > (size_t)(o->end - o->at))
            return damaged(o, "a string is longer than the object", err);
        int status = string(arg, vector, i, (const char *)o->at, length, err);
        if (status)
            return status;
        o->at += length;
    }
    return STATUS_OK;
}

/* Inflate the object at `from` of `room` bytes into to[size]. *used: the bytes of its stream. */
static bool inflate_object(const unsigned char *from, size_t room, unsigned char *to, uint32_t size, size_t *used)
{
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK)
        return false;
    z.next_in = (unsigned char *)from; /* zlib does not write there */
    z.avail_in = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    z.next_out = to;
    z.avail_out = size;
    bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    *used = z.total_in;
    inflateEnd(&z);
    return whole;
}

int rdata_read_strings(const unsigned char *bytes, size_t size, const char *path, rdata_string *string, void *arg,
                       struct error *err)
{
    int status = STATUS_OK;
    size_t at = 0;
    for (size_t vector = 0; !status && at < size; vector++) {
        struct object o = {.path = path, .place = at};
        if (size - at < 4)
            return damaged(&o, "the file is cut off", err);
        uint32_t length = big_end_first(bytes + at);
        if (length > RDATA_OBJECT_MOST)
            return damaged(&o, "it is said to be larger than any that is read", err);
        if (length / INFLATED_MOST > size - at)
            return damaged(&o, "it is said to be longer than the rest of the file can hold", err);
        unsigned char *object = memory_alloc((size_t)length + 1, 1);
        size_t used = 0;
        o.at = object;
        o.end = object + length;
        if (inflate_object(bytes + at + 4, size - at - 4, object, length, &used))
            status = read_vector(&o, vector, string, arg, err);
        else
            status = damaged(&o, "want a zlib stream of the length it is said to have", err);
        free(object);
        at += 4 + used;
    }
    return status;
}
