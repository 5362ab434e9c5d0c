/* Files written whole or not at all, and files mapped to read. */
#ifndef TAPER_CORE_BASE_FILE_H
#define TAPER_CORE_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"

/* A file being replaced: written beside its path, then fsynced and renamed over it. Until file_commit returns
 * STATUS_OK the old file is as it was; on any failure, or on file_abandon, the temporary one is removed. A path that
 * is no file (/dev/null, a pipe) is written to as it stands; a directory is STATUS_BAD_INPUT. */
struct file_writer {
    FILE *stream;           /* write here with stdio; errors are found at commit */
    char *path, *temporary; /* temporary: NULL when the path is written to directly */
    char *keep;             /* on the heap, set after file_create: the name under which the file that is replaced stays.
                               NULL: it does not */
};

int file_create(struct file_writer *w, const char *path, struct error *err);
int file_commit(struct file_writer *w, struct error *err); /* releases w, whatever the outcome */
void file_abandon(struct file_writer *w);                  /* releases w; fine after a failed create */

/* Write a whole small file that way. */
int file_write_all(const char *path, const void *bytes, size_t size, struct error *err);

/* The same for what is made again when it is missing or broken: beside and renamed, so nobody sees half of it, but
 * without waiting for the disk; after a power cut it may be the old file, or empty. */
int file_replace(const char *path, const void *bytes, size_t size, struct error *err);

/* Wait until a file that is there, and its name, are on the disk; what is not there, or cannot be synced, is passed
 * over. */
void file_sync(const char *path);

/* Remove what killed writers of directory/name left beside it. Only for who knows that nobody is writing it now. */
void file_remove_leftovers(const char *directory, const char *name);

/* A read-only map. An empty file has size 0 and data "" (not NULL). */
struct file_map {
    const unsigned char *data;
    size_t size;
};

/* STATUS_BAD_INPUT when there is no such file, it is no regular one (looked at once it is open; opening never waits) or
 * it cannot be read; the text names the path. */
int file_map_open(struct file_map *m, const char *path, struct error *err);
void file_map_close(struct file_map *m); /* fine on a zeroed one */

/* Make a directory and its parents; fine when it is there. STATUS_BAD_INPUT when the path is empty, or is there and no
 * directory. */
int file_make_directories(const char *path, struct error *err);

/* "a/b" from "a" and "b", on the heap; the caller frees it. Dies only when memory is out. */
char *file_join(const char *directory, const char *name);

#endif
