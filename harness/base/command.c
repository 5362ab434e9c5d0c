#include "harness/base/command.h"

#include <stdarg.h>
#include <stdio.h>

int command_usage(const struct command *command, struct error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, STATUS_BAD_INPUT, "%s: %s\nusage: taper %s%s%s\n'taper help %s' says more", command->name,
                     text, command->name, command->args[0] ? " " : "", command->args, command->name);
}
