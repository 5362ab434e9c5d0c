#include <stdio.h>

#include "core/base/version.h"
#include "harness/verbs/commands.h"

static int version_exec(int argc, char **argv, struct error *err)
{
    (void)argv;
    if (argc > 1)
        return command_usage(&cmd_version, err, "takes no arguments");
    printf("taper %s\n", version_full());
    return STATUS_OK;
}

const struct command cmd_version = {
    .name = "version",
    .operands = "",
    .brief = "print the version and the git revision",
    .exec = version_exec,
};
