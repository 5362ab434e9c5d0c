/* A log file that cannot grow without end: lines in, at most LOG_BYTES in the file and as much in the one before it.
 *
 * A carriage return that is not followed by a newline starts its line again, so a progress bar leaves its last state
 * only. When the file is full it becomes NAME.1 (replacing the one before) and a new one begins. What cannot be
 * written (a full disk) is counted, and the count is logged once there is room. One thread. */
#ifndef TAPER_HARNESS_BASE_LOG_WRITER_H
#define TAPER_HARNESS_BASE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

enum { LOG_BYTES = 4 << 20, LOG_LINE = 16 << 10 };

struct log_writer {
    char *path;
    int fd;
    off_t size, most;    /* bytes in the file, and when it is full (LOG_BYTES) */
    char line[LOG_LINE]; /* the line being collected; a longer one is written in pieces */
    size_t used;
    bool carriage; /* the byte before was a carriage return */
    char out[LOG_LINE * 2];
    size_t pending;
    uint64_t lost;  /* bytes that could not be written since the last success */
    char last[160]; /* the last line that was not empty, cut */
};

/* Open for appending. One that is not there is made by the first line. */
int log_writer_open(struct log_writer *w, const char *path, struct error *err);

/* Take in bytes; whole lines are in the file when it returns. */
void log_writer_feed(struct log_writer *w, const char *bytes, size_t size);

/* One line, printf-style, with the time (UTC) before it. */
void log_writer_print(struct log_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write an unfinished line too, and close. Fine on a zeroed one. */
void log_writer_close(struct log_writer *w);

#endif
