/* The command line: one cmd_*.c a verb, each exporting one row; harness/command.c holds the table of rows. */
#ifndef TAPER_HARNESS_COMMAND_H
#define TAPER_HARNESS_COMMAND_H

#include "core/error.h"

struct command {
    const char *name;  /* the verb */
    const char *args;  /* usage after the verb: "SPEC [--dry-run]" */
    const char *brief; /* one line for `taper help` */
    const char *help;  /* the rest of `taper help VERB`: options, a line each, then notes; "" for none */
    /* argv[0] is the verb. Returns a status (error.h); on failure err holds the text, which main prints once. */
    int (*exec)(int argc, char **argv, struct error *err);
};

/* The row of a verb, NULL when there is none. */
const struct command *command_find(const char *name);

/* The verb that a misspelt one may mean, NULL when none is near. */
const struct command *command_nearest(const char *name);

/* The i-th row in the order of `taper help`, NULL past the last. */
const struct command *command_at(int i);

/* A usage error that points to `taper help VERB`. Returns STATUS_BAD_INPUT. */
int command_usage(const struct command *command, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
