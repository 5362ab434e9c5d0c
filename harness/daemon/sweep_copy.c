#include "harness/daemon/sweep_copy.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static bool holds(const char *file, const char *bytes, size_t size)
{
    struct file_map old = {0};
    bool same = file_map_open(&old, file, NULL) == STATUS_OK && old.size == size && !memcmp(old.data, bytes, size);
    file_map_close(&old);
    return same;
}

int sweep_copy_write(const struct home *home, const char *sweep, const char *text, size_t size, const char *path,
                     const char *directory, struct error *err)
{
    int status = file_make_directories(home->sweeps, err);
    if (status)
        return status;
    json_t *from = json_pack("{s:s, s:s}", "path", path, "directory", directory);
    char *line = json_dumps(from, JSON_COMPACT), *file = memory_format("%s/%s.yaml", home->sweeps, sweep);
    json_decref(from);
    if (!line) {
        free(file);
        return error_set(err, STATUS_BAD_INPUT, "%s: the path is not UTF-8", path);
    }
    char *head = memory_format("# %s\n", line);
    size_t length = strlen(head);
    char *bytes = memory_alloc(length + size + 1, 1);
    memcpy(bytes, head, length);
    memcpy(bytes + length, text, size);
    if (!holds(file, bytes, length + size))
        status = file_write_all(file, bytes, length + size, err);
    free(bytes);
    free(head);
    free(line);
    free(file);
    return status;
}

int sweep_copy_read(const char *file, json_t **request, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, file, err);
    *request = NULL;
    if (status)
        return status;
    const char *bytes = (const char *)map.data, *newline = memchr(bytes, '\n', map.size);
    json_t *from = newline && bytes[0] == '#' ? json_loadb(bytes + 1, (size_t)(newline - bytes) - 1, 0, NULL) : NULL;
    const char *path = json_string_value(json_object_get(from, "path"));
    const char *directory = json_string_value(json_object_get(from, "directory"));
    if (path && directory)
        *request = json_pack("{s:s%, s:s, s:s}", "text", newline + 1, map.size - (size_t)(newline + 1 - bytes), "path",
                             path, "directory", directory);
    if (!*request)
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: want a first line '# {\"path\":..,\"directory\":..}' and a sweep in UTF-8", file);
    json_decref(from);
    file_map_close(&map);
    return status;
}
