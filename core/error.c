#include "core/error.h"

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

int error_errno(struct error *err, int status, int errno_value, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errno_value));
    }
    return status;
}

int error_wrap(struct error *err, const char *format, ...)
{
    if (!err)
        return STATUS_FAILED;
    char context[sizeof err->text];
    va_list args;
    va_start(args, format);
    format_text(context, sizeof context, format, args);
    va_end(args);
    /* Too long for the buffer: keep the innermost part whole, since it names the cause. */
    size_t room = sizeof err->text - 1, tail = strlen(err->text);
    size_t head = strlen(context);
    if (head + 2 + tail > room)
        head = tail + 2 < room ? room - tail - 2 : 0;
    if (head) {
        memmove(err->text + head + 2, err->text, tail + 1);
        memcpy(err->text, context, head);
        memcpy(err->text + head, ": ", 2);
    }
    if (err->status == STATUS_OK)
        err->status = STATUS_FAILED;
    return err->status;
}

int error_exit_code(int status)
{
    switch (status) {
    case STATUS_OK:
        return 0;
    case STATUS_BAD_INPUT:
        return 2;
    case STATUS_STOPPED:
        return 3;
    default:
        return 1;
    }
}
