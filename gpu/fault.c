#include "gpu/fault.h"

#include <stdio.h>

void fault_keep(struct fault *f, int status, const char *format, va_list args)
{
    if (f->text[0])
        return;
    f->status = status;
    int used = f->op ? snprintf(f->text, sizeof f->text, "%s: ", f->op) : 0;
    vsnprintf(f->text + used, sizeof f->text - (size_t)used, format, args);
}

int fault_take(struct fault *f, struct error *err)
{
    if (!f->text[0])
        return STATUS_OK;
    error_set(err, f->status, "cuda: %s", f->text);
    f->text[0] = 0;
    return f->status;
}
