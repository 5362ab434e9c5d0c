#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "harness/verbs/commands.h"

/* roff: a leading dot or quote, backslashes and dashes mean something there. */
static void man_text(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '\\')
            fputs("\\e", stdout);
        else if (*at == '-')
            fputs("\\-", stdout);
        else if (at == text && (*at == '.' || *at == '\''))
            printf("\\&%c", *at);
        else
            putchar(*at);
}

/* The manual's lists of options, which stand in docs/taper.1 (make man puts them there). */
static void print_manual(void)
{
    puts(".SH OPTIONS");
    for (int i = 0; command_at(i); i++) {
        const struct command *c = command_at(i);
        if (!c->options)
            continue;
        printf(".SS %s\n", c->name);
        for (const struct option_row *r = c->options; r->name; r++) {
            printf(".TP\n.BR ");
            if (r->letter)
                printf("\\-%c \", \" ", r->letter);
            printf("\\-\\-");
            man_text(r->name);
            if (r->value) {
                printf(" \" \\fI");
                man_text(r->value);
                printf("\\fR\"");
            }
            putchar('\n');
            man_text(r->help);
            putchar('\n');
        }
    }
}

static int help_exec(int argc, char **argv, struct error *err)
{
    bool of_key = argc == 3 && strcmp(argv[1], "config") == 0;
    if (argc > 2 && !of_key)
        return command_usage(&cmd_help, err, "wants one command");
    if (argc == 1) {
        printf("taper: train transformers whose normalization is tapered away, in sweeps, and tabulate the results\n\n"
               "usage: taper [--home DIR] COMMAND ...\n\n");
        for (int i = 0; command_at(i); i++)
            printf("  %-12s %s\n", command_at(i)->name, command_at(i)->brief);
        printf("\n'taper help COMMAND' says more; 'taper help config' lists every configuration key\n"
               "--home DIR may stand before the command; exit statuses are in taper(1)\n");
        return STATUS_OK;
    }
    if (of_key) {
        const char *near = config_key_nearest(argv[2]);
        return config_print_key_help(argv[2], stdout) > 0
                   ? STATUS_OK
                   : error_set(err, STATUS_BAD_INPUT, "help config: no key '%s'%s%s%s", argv[2],
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (strcmp(argv[1], "config") == 0) {
        config_print_help(stdout);
        return STATUS_OK;
    }
    if (strcmp(argv[1], "--man") == 0) {
        print_manual();
        return STATUS_OK;
    }
    const struct command *command = command_find(argv[1]);
    if (!command)
        return command_usage(&cmd_help, err, "no command '%s'", argv[1]);
    command_print_help(command, stdout);
    return STATUS_OK;
}

const struct command cmd_help = {
    .name = "help",
    .operands = "[COMMAND|config [KEY]]",
    .brief = "list the commands, or explain one",
    .exec = help_exec,
};
