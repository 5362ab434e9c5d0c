#include "harness/queue/slurm_tuning.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/options.h"

enum { SECONDS_MOST = 86400 };

static int read_one(struct slurm_tuning *t, const char *word, struct error *err)
{
    const struct {
        const char *name;
        double *to;
    } known[] = {{"poll", &t->poll},       {"quiet", &t->quiet},   {"pace", &t->pace},
                 {"timeout", &t->timeout}, {"settle", &t->settle}, {"lost", &t->lost}};
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (word[length] && strlen(known[i].name) == length && strncmp(known[i].name, word, length) == 0) {
            char *what = memory_format("TAPER_SLURM: %s", known[i].name);
            int status = options_real(what, word + length + 1, 0.01, SECONDS_MOST, known[i].to, err);
            free(what);
            return status;
        }
    return error_set(err, STATUS_BAD_INPUT,
                     "TAPER_SLURM: want poll, quiet, pace, timeout, settle or lost as NAME=SECONDS, got '%.60s'", word);
}

int slurm_tuning_read(struct slurm_tuning *t, const char *text, struct error *err)
{
    int status = STATUS_OK;
    *t = (struct slurm_tuning){.poll = 5, .quiet = 60, .pace = 1, .timeout = 60, .settle = 10, .lost = 90};
    char *copy = memory_string(text ? text : ""), *rest = copy, *word;
    while (!status && (word = strsep(&rest, ",")))
        if (*word || rest)
            status = read_one(t, word, err);
    free(copy);
    if (t->quiet < t->poll)
        t->quiet = t->poll;
    return status;
}
