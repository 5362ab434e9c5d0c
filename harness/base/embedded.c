#include "harness/base/embedded.h"

#include <string.h>

/* make writes a ROW of each file there is: its number and its path in the source tree, from which make runs. */
/* The assembler reads the file; the pair of labels gives its size, and a NUL is put behind. */
#define ROW(number, path)                                                                                              \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".hidden embedded_" #number "\n.global embedded_" #number "\n"                                             \
            ".hidden embedded_" #number "_end\n.global embedded_" #number "_end\n"                                     \
            "embedded_" #number ":\n.incbin \"" path "\"\n"                                                            \
            "embedded_" #number "_end:\n.byte 0\n"                                                                     \
            ".popsection\n");                                                                                          \
    extern const char embedded_##number[], embedded_##number##_end[];
#include <embedded_files.inc>
#undef ROW

#define ROW(number, path) {path, embedded_##number, embedded_##number##_end},

static const struct {
    const char *name, *begin, *end;
} rows[] = {
#include <embedded_files.inc>
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const struct embedded *embedded_at(int i)
{
    static _Thread_local struct embedded found[ROWS];
    if (i < 0 || i >= ROWS)
        return NULL;
    found[i] = (struct embedded){rows[i].name, rows[i].begin, (size_t)(rows[i].end - rows[i].begin)};
    return &found[i];
}

const struct embedded *embedded_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return embedded_at(i);
    return NULL;
}
