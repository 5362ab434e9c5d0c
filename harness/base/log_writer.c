#include "harness/base/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"

static int open_file(struct log_writer *w, int create)
{
    struct stat st;
    w->fd = open(w->path, O_WRONLY | create | O_APPEND | O_CLOEXEC, 0666);
    w->size = w->fd >= 0 && fstat(w->fd, &st) == 0 ? st.st_size : 0;
    return w->fd < 0 ? -1 : 0;
}

int log_writer_open(struct log_writer *w, const char *path, struct error *err)
{
    *w = (struct log_writer){.path = memory_string(path), .most = LOG_BYTES, .fd = -1};
    if (open_file(w, 0) != 0 && errno != ENOENT) {
        int status = error_errno(err, STATUS_FAILED, errno, "%s: cannot open", path);
        free(w->path);
        w->path = NULL;
        return status;
    }
    return STATUS_OK;
}

static void rotate(struct log_writer *w)
{
    char *older = memory_format("%s.1", w->path);
    if (rename(w->path, older) == 0) {
        close(w->fd);
        open_file(w, O_CREAT);
    } else if (ftruncate(w->fd, 0) == 0) {
        w->size = 0; /* no second file to be had: the bound matters more than the old lines */
    }
    free(older);
}

static bool write_whole(struct log_writer *w, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(w->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
        w->size += n;
    }
    return true;
}

static void flush_out(struct log_writer *w)
{
    if (!w->pending)
        return;
    if (w->fd < 0)
        open_file(w, O_CREAT);
    if (w->size + (off_t)w->pending > w->most)
        rotate(w);
    char note[96];
    bool fine = w->fd >= 0;
    if (fine && w->lost) {
        int n = snprintf(note, sizeof note, "[%" PRIu64 " bytes of log could not be written here]\n", w->lost);
        fine = write_whole(w, note, (size_t)n);
    }
    fine = fine && write_whole(w, w->out, w->pending);
    w->lost = fine ? 0 : w->lost + w->pending;
    w->pending = 0;
}

static void put(struct log_writer *w, const char *bytes, size_t size)
{
    if (w->pending + size > sizeof w->out)
        flush_out(w);
    memcpy(w->out + w->pending, bytes, size);
    w->pending += size;
}

static void end_line(struct log_writer *w)
{
    if (w->used)
        snprintf(w->last, sizeof w->last, "%.*s", (int)w->used, w->line);
    put(w, w->line, w->used);
    put(w, "\n", 1);
    w->used = 0;
    w->carriage = false;
}

void log_writer_feed(struct log_writer *w, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (c == '\n') {
            end_line(w);
            continue;
        }
        if (c == '\r') {
            w->carriage = true;
            continue;
        }
        if (w->carriage) {
            w->carriage = false;
            w->used = 0;
        }
        if (w->used == sizeof w->line) {
            put(w, w->line, w->used);
            w->used = 0;
        }
        w->line[w->used++] = c;
    }
    flush_out(w);
}

void log_writer_print(struct log_writer *w, const char *format, ...)
{
    char text[2400], stamp[32];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(text, sizeof text, "%s.%03ldZ ", stamp, now.tv_nsec / 1000000);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    log_writer_feed(w, text, strlen(text));
    log_writer_feed(w, "\n", 1);
}

void log_writer_close(struct log_writer *w)
{
    if (!w->path)
        return;
    if (w->used)
        end_line(w);
    flush_out(w);
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    w->path = NULL;
    w->fd = -1;
}
