#include <stdio.h>

#include <jansson.h>

#include "core/base/version.h"
#include "harness/base/libraries.h"
#include "harness/base/options.h"
#include "harness/verbs/commands.h"

static int version_exec(int argc, char **argv, struct error *err)
{
    bool json = false;
    int operands;
    const struct option_spec specs[] = {{.name = "json", .flag = &json}, {0}};
    int status = options_parse(&cmd_version, specs, argc, argv, &operands, err);
    if (!status && operands)
        status = command_usage(&cmd_version, err, "takes no operand, got '%s'", argv[1]);
    if (status)
        return status;
    if (!json) {
        printf("taper %s (%s)\n", version_string(), version_revision());
        return STATUS_OK;
    }
    json_t *all = json_pack("{s:s, s:s, s:o}", "version", version_string(), "revision", version_revision(), "libraries",
                            libraries_json());
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
    return STATUS_OK;
}

static const struct option_row version_options[] = {
    {"json", 0, NULL, "as JSON, with the libraries it runs with"},
    {0},
};

const struct command cmd_version = {
    .name = "version",
    .operands = "",
    .brief = "print the version and the git revision",
    .options = version_options,
    .exec = version_exec,
};
