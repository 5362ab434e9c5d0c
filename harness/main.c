/* taper: the entry point. Finds the verb's row, runs it, prints its error once, turns the status into an exit code. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "harness/verbs/commands.h"

static const struct command *resolve(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return &cmd_help;
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return &cmd_version;
    return command_find(word);
}

/* `taper VERB ... --help` is `taper help VERB`. */
static int wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return 1;
    return 0;
}

/* `taper --home DIR VERB ...` is `taper VERB --home DIR ...`. False: the home's name is missing. */
static bool verb_first(int argc, char **argv)
{
    static const char home[] = "--home";
    int before = 1; /* words in front of the verb */
    while (before < argc && strncmp(argv[before], home, sizeof home - 1) == 0)
        if (argv[before][sizeof home - 1] == '=')
            before++;
        else if (argv[before][sizeof home - 1] == '\0')
            before += 2;
        else
            break;
    if (before == 1)
        return true;
    if (before >= argc)
        return false;
    char *verb = argv[before];
    memmove(argv + 2, argv + 1, (size_t)(before - 1) * sizeof *argv);
    argv[1] = verb;
    return true;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_NAME, "taper"); /* a worker, started by way of /proc/self/exe, would be called exe */
    if (argc < 2 || !verb_first(argc, argv)) {
        fprintf(stderr, "usage: taper [--home DIR] COMMAND ...\n'taper help' lists the commands\n");
        return 2;
    }
    const struct command *command = resolve(argv[1]);
    if (!command) {
        const struct command *near = command_nearest(argv[1]);
        fprintf(stderr, "taper: unknown %s '%s'", argv[1][0] == '-' ? "option" : "command", argv[1]);
        if (near)
            fprintf(stderr, " (did you mean %s?)", near->name);
        fprintf(stderr, "\n'taper help' lists the commands\n");
        return 2;
    }
    struct error err = {0};
    int status;
    bool bare = command == &cmd_help && strcmp(argv[1], "help") != 0; /* taper --help */
    if (!bare && wants_help(argc - 1, argv + 1)) {
        char *args[] = {"help", (char *)command->name, NULL};
        status = cmd_help.exec(2, args, &err);
    } else {
        status = command->exec(argc - 1, argv + 1, &err);
    }
    if (fflush(stdout) != 0 && status == STATUS_OK)
        status = error_set(&err, STATUS_FAILED, "cannot write to standard output");
    if (status != STATUS_OK && err.text[0])
        fprintf(stderr, "taper: %s\n", err.text);
    return error_exit_code(status);
}
