#include "harness/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/spelling.h"
#include "harness/commands.h"

/* In the order of `taper help`. */
static const struct command *const table[] = {
    &cmd_bench,  &cmd_cancel, &cmd_completion, &cmd_daemon, &cmd_data,   &cmd_debug, &cmd_devices, &cmd_eval,
    &cmd_export, &cmd_fold,   &cmd_generate,   &cmd_help,   &cmd_import, &cmd_log,   &cmd_pause,   &cmd_plot,
    &cmd_query,  &cmd_report, &cmd_resume,     &cmd_retry,  &cmd_run,    &cmd_show,  &cmd_status,  &cmd_submit,
    &cmd_table,  &cmd_train,  &cmd_version,    &cmd_wait,   &cmd_worker,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

const struct command *command_nearest(const char *name)
{
    const struct command *near = NULL;
    int best = SPELLING_FAR - 1; /* verbs are short */
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int distance = spelling_distance(name, table[i]->name);
        if (distance < best && distance < (int)strlen(table[i]->name)) {
            best = distance;
            near = table[i];
        }
    }
    return near;
}

const struct command *command_at(int i)
{
    return i >= 0 && (size_t)i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

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
