#include "core/base/json_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"

int json_file_read(const char *path, json_t **out, struct error *err)
{
    struct file_map map;
    json_error_t fault;
    int status = file_map_open(&map, path, err);
    *out = NULL;
    if (status)
        return status;
    json_t *object = json_loadb((const char *)map.data, map.size, JSON_REJECT_DUPLICATES, &fault);
    if (!object)
        status = error_set(err, STATUS_BAD_INPUT, "%s:%d: %s", path, fault.line, fault.text);
    else if (!json_is_object(object))
        status = error_set(err, STATUS_BAD_INPUT, "%s: want a JSON object", path);
    file_map_close(&map);
    if (status)
        json_decref(object);
    else
        *out = object;
    return status;
}

int json_file_write(const char *path, const json_t *object, size_t flags, struct error *err)
{
    char *text = json_dumps(object, flags | JSON_REAL_PRECISION(17));
    if (!text)
        return error_set(err, STATUS_FAILED, "%s: no JSON", path);
    size_t length = strlen(text);
    text = memory_resize(text, length + 2, 1);
    memcpy(text + length, "\n", 2);
    int status = file_write_all(path, text, length + 1, err);
    free(text);
    return status;
}
