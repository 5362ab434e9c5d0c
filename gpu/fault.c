#include "gpu/fault.h"

#include <stdio.h>

void fault_keep(struct fault *f, const char *format, va_list args)
{
    if (f->text[0])
        return;
    int used = f->op ? snprintf(f->text, sizeof f->text, "%s: ", f->op) : 0;
    vsnprintf(f->text + used, sizeof f->text - (size_t)used, format, args);
}

int fault_take(struct fault *f, struct error *err)
{
    if (!f->text[0])
        return STATUS_OK;
    error_set(err, STATUS_FAILED, "cuda: %s", f->text);
    f->text[0] = 0;
    return STATUS_FAILED;
}
