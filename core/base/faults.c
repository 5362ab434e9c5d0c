#include "core/base/faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void faults_add(struct faults *f, const char *format, ...)
{
    enum { ROOM_FOR_COUNT = 40 };
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    f->count++;
    if (!f->err)
        return;
    f->err->status = STATUS_BAD_INPUT;
    size_t used = f->count == 1 ? 0 : strlen(f->err->text), room = sizeof f->err->text - ROOM_FOR_COUNT;
    if (f->hidden || used + strlen(line) + 2 > room)
        f->hidden++;
    else
        snprintf(f->err->text + used, room - used, "%s%s", used ? "\n" : "", line);
}

int faults_end(struct faults *f)
{
    if (f->err && f->hidden) {
        size_t used = strlen(f->err->text);
        snprintf(f->err->text + used, sizeof f->err->text - used, "\n... and %d more", f->hidden);
    }
    return f->count ? STATUS_BAD_INPUT : STATUS_OK;
}
