/* taper-supervisor: `taper worker` and nothing else. The process around a worker does not need what taper is linked
 * with (a database, a tokenizer, sockets), and one is started for each attempt: this one, linked statically, is there
 * before taper's libraries would be mapped, and what goes wrong with memory hardly ever meets it. It is told by whom it
 * was started; another revision's words may mean something else, so then it becomes that program. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/version.h"
#include "harness/worker/worker_words.h"

static const struct command command = {.name = "worker", .operands = "RUNDIR...", .options = worker_options};

/* The value of an option among those before the directories; NULL: not there. */
static char *value_of(char **argv, const char *name)
{
    for (int i = 1; argv[i] && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker_words w;
    struct error err = {0};
    const char *program = argc > 1 ? value_of(argv, "--program") : NULL;
    const char *revision = program ? value_of(argv, "--revision") : NULL;
    if (!program) {
        fprintf(stderr, "taper-supervisor: started by taper, in the place of 'taper worker'\n");
        return 2;
    }
    if (!revision || strcmp(revision, version_full()) != 0) {
        execv(program, argv);
        perror(program);
        return 1;
    }
    if (worker_words_read(&w, &command, argc - 1, argv + 1, &err) == STATUS_OK)
        worker_supervise(&w, &err);
    fprintf(stderr, "taper: %s\n", err.text);
    return error_exit_code(err.status);
}
