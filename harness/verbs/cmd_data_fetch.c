/* taper data fetch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/fetch.h"
#include "harness/verbs/cmd_data.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

enum { MOST_SUMS = 8 };

struct sums {
    const char *given[MOST_SUMS]; /* "SPLIT=HEX" */
    int count;
};

static int add_sum(void *arg, const char *value, struct error *err)
{
    struct sums *sums = arg;
    if (!strchr(value, '=') || sums->count == MOST_SUMS)
        return error_set(err, STATUS_BAD_INPUT, "--sha256: want SPLIT=HEX, once a file, got '%s'", value);
    sums->given[sums->count++] = value;
    return STATUS_OK;
}

static bool names_split(const char *sum, const char *split)
{
    size_t length = strlen(split);
    return strncmp(sum, split, length) == 0 && sum[length] == '=';
}

static int check_splits(const struct fetch_set *set, const struct sums *sums, const char *split, struct error *err)
{
    bool found = !split;
    for (int i = 0; i < set->count; i++)
        found |= split && strcmp(split, set->files[i].split) == 0;
    if (!found)
        return error_set(err, STATUS_BAD_INPUT, "--split: %s has %s, got '%s'", set->name,
                         set->count > 1 ? "train and valid" : set->files[0].split, split);
    for (int k = 0; k < sums->count; k++) {
        found = false;
        for (int i = 0; i < set->count; i++)
            found |= names_split(sums->given[k], set->files[i].split);
        if (!found)
            return error_set(err, STATUS_BAD_INPUT, "--sha256: %s has %s, got '%s'", set->name,
                             set->count > 1 ? "train and valid" : set->files[0].split, sums->given[k]);
    }
    return STATUS_OK;
}

static int fetch_files(const struct fetch_set *set, const struct sums *sums, const char *split, const char *base,
                       struct error *err)
{
    int status = STATUS_OK;
    for (int i = 0; i < set->count && !status; i++) {
        const struct fetch_file *file = &set->files[i];
        if (split && strcmp(split, file->split) != 0)
            continue;
        const char *sum = NULL;
        for (int k = 0; k < sums->count; k++)
            if (names_split(sums->given[k], file->split))
                sum = sums->given[k] + strlen(file->split) + 1;
        char *path;
        struct progress progress = data_progress();
        status = fetch_get(set, file, base, sum, &path, &progress, err);
        data_progress_end(&progress);
        if (!status)
            puts(path);
        free(path);
    }
    return status;
}

int data_fetch(int argc, char **argv, struct error *err)
{
    const char *split = NULL, *base = NULL;
    struct sums sums = {0};
    const struct option_spec specs[] = {{.name = "split", .value = &split},
                                        {.name = "url", .value = &base},
                                        {.name = "sha256", .each = add_sum, .arg = &sums},
                                        {0}};
    int operands;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 1)
        return command_usage(&cmd_data, err, "fetch wants the name of a public text: " FETCH_NAMES);
    const struct fetch_set *set = fetch_find(argv[1]);
    if (!set)
        return command_usage(&cmd_data, err, "no public text '%s'; there are " FETCH_NAMES, argv[1]);
    status = check_splits(set, &sums, split, err);
    return status ? status : fetch_files(set, &sums, split, base, err);
}
