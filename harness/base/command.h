/* The command line: one cmd_*.c a verb, each exporting one row; harness/verbs/commands.h the table of rows. */
#ifndef TAPER_HARNESS_BASE_COMMAND_H
#define TAPER_HARNESS_BASE_COMMAND_H

#include <stdio.h>

#include "core/base/error.h"

/* An option of a verb, as people see it: usage, help, completion and the manual's lists are made from these rows. */
struct option_row {
    const char *name;  /* long name without the dashes; NULL ends the table */
    char letter;       /* short name, 0 for none */
    const char *value; /* what stands for its value: "DIR", or the words it is one of, "cpu|cuda"; "[ADDR]": may be left
                          out, and is "" then, where the line ends or an option follows; NULL: it takes none */
    const char *help;  /* without line breaks */
};

struct command {
    const char *name;                 /* the verb */
    const char *operands;             /* "SPEC", "ID|all"; "" for none */
    const char *brief;                /* one line for `taper help` */
    const char *about;                /* lines between the usage and the options; NULL: none */
    const struct option_row *options; /* NULL: none */
    const char *notes;                /* lines after the options; NULL: none */
    void (*list)(FILE *out);          /* lines after about that the program makes from a table of its own; NULL: none */
    /* argv[0] is the verb. Returns a status (error.h); on failure err holds the text, which main prints once. */
    int (*exec)(int argc, char **argv, struct error *err);
};

/* "usage: taper VERB OPERANDS [--option VALUE]...", broken into lines; on the heap. */
char *command_usage_text(const struct command *command);

/* All of `taper help VERB`. */
void command_print_help(const struct command *command, FILE *out);

/* A usage error that points to `taper help VERB`. Returns STATUS_BAD_INPUT. */
int command_usage(const struct command *command, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
