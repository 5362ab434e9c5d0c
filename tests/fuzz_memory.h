/* Bytes of a fuzzer as files that only this process sees, in a folder of names (/proc/self/fd) or as one path. */
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

#endif
