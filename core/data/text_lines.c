/* JSON lines as a text: a field of each is a document. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/data/text_internal.h"

static int take_line(struct text *text, const char *path, size_t line, const char *bytes, size_t length,
                     const char *field, struct error *err)
{
    json_error_t fault;
    json_t *object = json_loadb(bytes, length, JSON_ALLOW_NUL, &fault);
    const json_t *value = json_object_get(object, field);
    int status = STATUS_OK;
    if (!object)
        status = error_set(err, STATUS_BAD_INPUT, "%s:%zu: want a JSON object a line (--field %s): %s", path, line,
                           field, fault.text);
    else if (!json_is_object(object))
        status = error_set(err, STATUS_BAD_INPUT, "%s:%zu: want a JSON object a line (--field %s), got another value",
                           path, line, field);
    else if (!json_is_string(value))
        status = error_set(err, STATUS_BAD_INPUT, "%s:%zu: field %s: %s", path, line, field,
                           value ? "want a text, got another value" : "missing");
    if (!status) {
        const size_t size = json_string_length(value);
        unsigned char *copy = memory_alloc(size + 1, 1);
        memcpy(copy, json_string_value(value), size);
        text_keep(text, copy);
        text_add_document(text, copy, size);
    }
    json_decref(object);
    return status;
}

int text_cut_lines(struct text *text, const char *path, const struct file_map *map, const char *field,
                   struct error *err)
{
    const char *at = (const char *)map->data, *end = at + map->size;
    int status = STATUS_OK;
    for (size_t line = 1; at < end && !status; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((newline ? newline : end) - at);
        size_t blanks = 0;
        while (blanks < length && strchr(" \t\r", at[blanks]) && at[blanks])
            blanks++;
        if (blanks < length)
            status = take_line(text, path, line, at, length, field, err);
        at += length + 1;
    }
    text->closed = true;
    return status;
}
