/* Options of a verb: what people see of them is a row of the command's table (command.h), where they go is a struct
 * option_spec of the call. Used by every cmd_*.c. */
#ifndef TAPER_HARNESS_BASE_OPTIONS_H
#define TAPER_HARNESS_BASE_OPTIONS_H

#include <stdbool.h>

#include "harness/base/command.h"

struct option_spec {
    const char *name;   /* of a row of the command; NULL ends the table */
    bool *flag;         /* an option without value sets this */
    const char **value; /* an option with a value puts it here (points into argv); the last one wins ... */
    int (*each)(void *arg, const char *value, struct error *err); /* ... or is called for every occurrence */
    void *arg;
};

/* Rows that many verbs have. */
#define OPTION_HOME                                                                                                    \
    {                                                                                                                  \
        "home", 0, "DIR", "the home (default: TAPER_HOME, else ./results/home, else ~/.local/share/taper)"             \
    }
#define OPTION_HOME_READER                                                                                             \
    {                                                                                                                  \
        "home", 0, "DIR|FILE",                                                                                         \
            "the home, or a database file to read (default: TAPER_HOME, else ./results/home, else "                    \
            "~/.local/share/taper)"                                                                                    \
    }
#define OPTION_THREADS                                                                                                 \
    {                                                                                                                  \
        "threads", 0, "N", "CPU threads (all that the process may use)"                                                \
    }
#define OPTION_THREADS_DECODING                                                                                        \
    {                                                                                                                  \
        "threads", 0, "N", "CPU threads (all that the process may use; decoding takes fewer where the model is small)" \
    }

/* Parse argv[1..], in any order, `--name VALUE` and `--name=VALUE`, `--` ending the options. What is not an
 * option is moved to the front of argv (argv[1..*operands]). Returns STATUS_OK or STATUS_BAD_INPUT. */
int options_parse(const struct command *command, const struct option_spec *specs, int argc, char **argv, int *operands,
                  struct error *err);

/* Strict whole-string numbers within bounds; `what` names the option or operand in the error. */
int options_integer(const char *what, const char *text, long long low, long long high, long long *out,
                    struct error *err);
int options_real(const char *what, const char *text, double low, double high, double *out, struct error *err);

/* A size in bytes with an optional suffix k, M, G (powers of 1000) or Ki, Mi, Gi (of 1024). */
int options_size(const char *what, const char *text, unsigned long long *out, struct error *err);

#endif
