#include "core/train/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"

/* Where the last whole line ends. */
static int whole_size(int fd, off_t size, off_t *out)
{
    char buffer[4096];
    while (size > 0) {
        size_t take = (size_t)size < sizeof buffer ? (size_t)size : sizeof buffer;
        if (pread(fd, buffer, take, size - (off_t)take) != (ssize_t)take)
            return -1;
        char *newline = memrchr(buffer, '\n', take);
        if (newline) {
            *out = size - (off_t)take + (newline - buffer) + 1;
            return 0;
        }
        size -= (off_t)take;
    }
    *out = 0;
    return 0;
}

int journal_open(struct journal *j, const char *path, int attempt, struct error *err)
{
    *j = (struct journal){.fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666), .attempt = attempt};
    struct stat st;
    off_t whole = 0;
    if (j->fd < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot open", path);
    if (fstat(j->fd, &st) != 0 || whole_size(j->fd, st.st_size, &whole) != 0 ||
        (whole < st.st_size && ftruncate(j->fd, whole) != 0)) {
        int status = error_errno(err, STATUS_FAILED, errno, "%s: cannot cut off a torn line", path);
        close(j->fd);
        j->fd = -1;
        return status;
    }
    j->path = memory_string(path);
    return STATUS_OK;
}

int journal_next_attempt(struct journal *j, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, j->path, err);
    if (status)
        return status;
    j->attempt = 1;
    if (map.size > 1) {
        const char *text = (const char *)map.data, *newline = memrchr(text, '\n', map.size - 1);
        const char *last = newline ? newline + 1 : text;
        json_t *line = json_loadb(last, (size_t)(text + map.size - last), 0, NULL);
        j->attempt = (int)json_integer_value(json_object_get(line, "attempt")) + 1;
        json_decref(line);
    }
    file_map_close(&map);
    return STATUS_OK;
}

int journal_append(struct journal *j, const char *table, json_t *object, struct error *err)
{
    json_t *line = json_object();
    json_object_set_new(line, "table", json_string(table));
    json_object_set_new(line, "attempt", json_integer(j->attempt));
    json_object_update(line, object);
    json_decref(object);
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    if (!text)
        return error_set(err, STATUS_FAILED, "%s: a line cannot be written as JSON", j->path);
    size_t length = strlen(text);
    text[length++] = '\n'; /* over the terminator: the length counts from here on */
    int status = STATUS_OK;
    off_t before = lseek(j->fd, 0, SEEK_END);
    ssize_t wrote;
    do
        wrote = write(j->fd, text, length);
    while (wrote < 0 && errno == EINTR);
    if (wrote != (ssize_t)length) {
        status = error_errno(err, STATUS_FAILED, wrote < 0 ? errno : ENOSPC, "%s: cannot append", j->path);
        if (wrote > 0 && ftruncate(j->fd, before) != 0) /* leave no torn line; the next open would cut it too */
            error_wrap(err, "torn line left");
    }
    free(text);
    return status;
}

int journal_sync(struct journal *j, struct error *err)
{
    if (fdatasync(j->fd) != 0 && errno != EINVAL)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot sync", j->path);
    return STATUS_OK;
}

int64_t journal_last_step_of(const char *text, size_t size)
{
    const char *end = size ? memrchr(text, '\n', size) : NULL; /* of the last whole line */
    while (end) {
        const char *before = end > text ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
        const char *line = before ? before + 1 : text;
        json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);
        const char *table = json_string_value(json_object_get(object, "table"));
        const bool found = table && strcmp(table, "step") == 0;
        const int64_t step = json_integer_value(json_object_get(object, "step"));
        json_decref(object);
        if (found)
            return step;
        end = before;
    }
    return 0;
}

int journal_last_step(const char *path, int64_t *step, struct error *err)
{
    struct file_map map;
    *step = 0;
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    *step = journal_last_step_of((const char *)map.data, map.size);
    file_map_close(&map);
    return STATUS_OK;
}

int journal_close(struct journal *j, struct error *err)
{
    int status = STATUS_OK;
    if (!j->path)
        return status;
    if (fsync(j->fd) != 0 && errno != EINVAL)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot sync", j->path);
    close(j->fd);
    free(j->path);
    *j = (struct journal){.fd = -1};
    return status;
}

json_t *journal_number(double x)
{
    if (isnan(x))
        return json_string("NaN");
    if (isinf(x))
        return json_string(x > 0 ? "Infinity" : "-Infinity");
    return json_real(x);
}

int journal_number_read(const json_t *value, double *x)
{
    if (json_is_number(value)) {
        *x = json_number_value(value);
        return 1;
    }
    const char *text = json_string_value(value);
    if (!text)
        return 0;
    if (strcmp(text, "NaN") == 0)
        *x = NAN;
    else if (strcmp(text, "Infinity") == 0)
        *x = INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
        *x = -INFINITY;
    else
        return 0;
    return 1;
}
