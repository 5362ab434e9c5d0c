#include "core/base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/error.h"

static void *checked(void *p)
{
    if (!p)
        memory_exhausted("the program's own bookkeeping");
    return p;
}

void memory_exhausted(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("taper: out of memory: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(error_exit_code(STATUS_MEMORY));
}

void *memory_alloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *memory_resize(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        checked(NULL);
    size_t bytes = count * size;
    return checked(realloc(old, bytes ? bytes : 1));
}

void *memory_large(size_t bytes)
{
    enum { LINE = 64, HUGE_PAGE = 2 << 20 };
    const size_t unit = bytes < HUGE_PAGE ? LINE : HUGE_PAGE;
    if (bytes > SIZE_MAX - unit)
        return NULL;
    const size_t whole = (bytes + unit - 1) / unit * unit;
    void *block = aligned_alloc(unit, whole ? whole : unit);
    if (block && unit == HUGE_PAGE)
        madvise(block, whole, MADV_HUGEPAGE); /* advice: without it the same, more slowly */
    return block;
}

char *memory_string(const char *text)
{
    return checked(strdup(text));
}

char *memory_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text);
}
