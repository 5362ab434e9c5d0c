#include "harness/verbs/commands.h"

#include <string.h>

#include "core/base/spelling.h"

/* In the order of `taper help`. */
static const struct command *const table[] = {
    &cmd_bench,  &cmd_best,    &cmd_cancel, &cmd_compare, &cmd_completion, &cmd_daemon, &cmd_data,
    &cmd_debug,  &cmd_devices, &cmd_eval,   &cmd_export,  &cmd_fold,       &cmd_forget, &cmd_generate,
    &cmd_help,   &cmd_import,  &cmd_log,    &cmd_pause,   &cmd_plot,       &cmd_query,  &cmd_rebuild,
    &cmd_report, &cmd_resume,  &cmd_retry,  &cmd_run,     &cmd_runs,       &cmd_serve,  &cmd_show,
    &cmd_status, &cmd_submit,  &cmd_table,  &cmd_train,   &cmd_version,    &cmd_wait,   &cmd_worker,
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
