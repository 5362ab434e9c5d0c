/* The command line: one cmd_*.c a verb, each exporting one row; harness/verbs/commands.h the table of rows. */
#ifndef TAPER_HARNESS_BASE_COMMAND_H
#define TAPER_HARNESS_BASE_COMMAND_H

#include "core/base/error.h"

struct command {
    const char *name;  /* the verb */
    const char *args;  /* usage after the verb: "SPEC [--dry-run]" */
    const char *brief; /* one line for `taper help` */
    const char *help;  /* the rest of `taper help VERB`: options, a line each, then notes; "" for none */
    /* argv[0] is the verb. Returns a status (error.h); on failure err holds the text, which main prints once. */
    int (*exec)(int argc, char **argv, struct error *err);
};

/* A usage error that points to `taper help VERB`. Returns STATUS_BAD_INPUT. */
int command_usage(const struct command *command, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
