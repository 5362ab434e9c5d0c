#include "harness/base/pager.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/terminal.h"

/* NULL: none is wanted. */
static const char *pager_command(void)
{
    const char *given = getenv("PAGER");
    if (!given)
        return "less -FRSX";
    return given[0] && strcmp(given, "cat") != 0 ? given : NULL;
}

static bool too_long(const char *text, size_t size)
{
    int rows = terminal_of(STDOUT_FILENO).rows, lines = 0;
    for (size_t i = 0; i < size && rows > 0 && lines < rows; i++)
        lines += text[i] == '\n';
    return rows > 0 && lines >= rows;
}

/* False: the shell did not find it, and nothing was shown. One that is left early is fine. */
static bool page(const char *command, const char *text, size_t size)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *to = popen(command, "we");
    int code = -1;
    if (to) {
        fwrite(text, 1, size, to);
        code = pclose(to);
    }
    signal(SIGPIPE, before);
    return to && code >> 8 != 127;
}

int pager_print(const char *text, size_t size, struct error *err)
{
    const char *command = pager_command();
    fflush(stdout);
    if (command && too_long(text, size) && page(command, text, size))
        return STATUS_OK;
    if (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0)
        return error_set(err, STATUS_FAILED, "cannot write to standard output");
    return STATUS_OK;
}
