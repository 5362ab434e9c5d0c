/* Bytes of a fuzzer as files that only this process sees, as one path (/proc/self/fd) or under names in a folder. */
#ifndef TAPER_TESTS_FUZZ_MEMORY_H
#define TAPER_TESTS_FUZZ_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory, opened under `path`; close it with close(). Aborts when there is none to be had. */
static inline int fuzz_memory_file(const uint8_t *bytes, size_t size, char path[64])
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

enum { FUZZ_NAMES = 4 };

/* The one folder of a target: links to files in memory. */
static struct {
    char path[32];
    const char *names[FUZZ_NAMES];
    int fds[FUZZ_NAMES], count;
} fuzz_folder;

static inline void fuzz_folder_remove(void)
{
    char link[128];
    for (int i = 0; i < fuzz_folder.count; i++) {
        snprintf(link, sizeof link, "%s/%s", fuzz_folder.path, fuzz_folder.names[i]);
        unlink(link);
    }
    rmdir(fuzz_folder.path);
}

/* Give the folder's file of this name (a constant) these bytes. */
static inline void fuzz_folder_fill(const char *name, const void *bytes, size_t size)
{
    char link[128], path[64];
    int i = 0;
    if (!fuzz_folder.path[0]) {
        snprintf(fuzz_folder.path, sizeof fuzz_folder.path, "/tmp/taper-fuzz-XXXXXX");
        if (!mkdtemp(fuzz_folder.path) || atexit(fuzz_folder_remove) != 0)
            abort();
    }
    while (i < fuzz_folder.count && fuzz_folder.names[i] != name)
        i++;
    if (i == FUZZ_NAMES)
        abort();
    if (i == fuzz_folder.count) {
        fuzz_folder.names[i] = name;
        fuzz_folder.fds[i] = fuzz_memory_file(NULL, 0, path);
        snprintf(link, sizeof link, "%s/%s", fuzz_folder.path, name);
        if (symlink(path, link) != 0)
            abort();
        fuzz_folder.count++;
    }
    if (ftruncate(fuzz_folder.fds[i], 0) != 0 || pwrite(fuzz_folder.fds[i], bytes, size, 0) != (ssize_t)size)
        abort();
}

#endif
