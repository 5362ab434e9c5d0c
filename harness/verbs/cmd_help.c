#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "harness/verbs/commands.h"

static int help_exec(int argc, char **argv, struct error *err)
{
    if (argc > 2)
        return command_usage(&cmd_help, err, "wants one command");
    if (argc == 1) {
        printf("taper: train transformers whose normalization is tapered away, in sweeps, and tabulate the results\n\n"
               "usage: taper COMMAND ...\n\n");
        for (int i = 0; command_at(i); i++)
            printf("  %-12s %s\n", command_at(i)->name, command_at(i)->brief);
        printf("\n'taper help COMMAND' says more; 'taper help config' lists every configuration key\n");
        return STATUS_OK;
    }
    if (strcmp(argv[1], "config") == 0) {
        config_print_help(stdout);
        return STATUS_OK;
    }
    const struct command *command = command_find(argv[1]);
    if (!command)
        return command_usage(&cmd_help, err, "no command '%s'", argv[1]);
    printf("usage: taper %s%s%s\n\n%s\n", command->name, command->args[0] ? " " : "", command->args, command->brief);
    if (command->help[0])
        printf("\n%s", command->help);
    return STATUS_OK;
}

const struct command cmd_help = {"help", "[COMMAND|config]", "list the commands, or explain one", "", help_exec};
