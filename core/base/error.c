#include "core/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format_text(char *to, size_t size, const char *format, va_list args)
{
    if (vsnprintf(to, size, format, args) < 0)
        snprintf(to, size, "(message could not be formatted)");
}

int error_set(struct error *err, int status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

/* What the machine had none of is no fault of the work. */
static int blame(int status, int errno_value)
{
    if (status != STATUS_FAILED)
        return status;
    switch (errno_value) {
    case ENOMEM:
        return STATUS_MEMORY;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EROFS:
        return STATUS_DISK;
    default:
        return status;
    }
}

int error_errno(struct error *err, int status, int errno_value, const char *format, ...)
{
    status = blame(status, errno_value);
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        if (errno_value) /* "Success" is no reason */
            snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errno_value));
    }
    return status;
}

int error_add(struct error *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    size_t used = strlen(err->text);
    if (err->status == STATUS_OK)
        err->status = status;
    if (used > 0 && used + 1 < sizeof err->text)
        err->text[used++] = '\n';
    va_list args;
    va_start(args, format);
    format_text(err->text + used, sizeof err->text - used, format, args);
    va_end(args);
    return err->status;
}

int error_wrap(struct error *err, const char *format, ...)
{
    if (!err)
        return STATUS_FAILED;
    char context[sizeof err->text];
    va_list args;
    va_start(args, format);
    format_text(context, sizeof context - 2, format, args);
    va_end(args);
    memcpy(context + strlen(context), ": ", 3);
    /* Too long for the buffer: keep the innermost part whole, since it names the cause. */
    size_t tail = strlen(err->text), head = strlen(context), room = sizeof err->text - 1;
    if (head + tail > room)
        head = room > tail ? room - tail : 0;
    memmove(err->text + head, err->text, tail + 1);
    memcpy(err->text, context, head);
    if (err->status == STATUS_OK)
        err->status = STATUS_FAILED;
    return err->status;
}

int error_exit_code(int status)
{
    return status <= STATUS_OK && status >= STATUS_PAUSED ? -status : -STATUS_FAILED;
}
