#include "harness/queue/gpu_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { NOBODY = -1, SEVERAL = -2 };

static int find_index(const struct nvml_device *devices, int count, long index)
{
    for (int i = 0; i < count; i++)
        if (devices[i].index == index)
            return i;
    return NOBODY;
}

/* By its id or the start of one. The parts of one GPU have its id in common: that means the first of them. */
static int find_id(const struct nvml_device *devices, int count, const char *word)
{
    size_t length = strlen(word);
    int found = NOBODY;
    if (strncmp(word, "GPU-", 4) != 0 && strncmp(word, "MIG-", 4) != 0)
        return NOBODY;
    for (int i = 0; i < count; i++) {
        bool own = strncmp(devices[i].id, word, length) == 0, part = strncmp(devices[i].whole, word, length) == 0;
        if (own && devices[i].id[length] == '\0')
            return i;
        if (!own && !part)
            continue;
        if (found == NOBODY)
            found = i;
        else if (own || devices[i].index != devices[found].index)
            return SEVERAL;
    }
    return found;
}

/* The next word of a list, without the space around it; NULL at the end. `at` moves on; the word is cut from it. */
static char *next_word(char **at)
{
    char *word = *at, *end;
    if (!word)
        return NULL;
    end = word + strcspn(word, ",");
    *at = *end ? end + 1 : NULL;
    *end = '\0';
    word += strspn(word, " \t");
    for (end = word + strlen(word); end > word && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return word;
}

void gpu_choice_visible(const char *list, const struct nvml_device *devices, int count, bool *chosen)
{
    for (int i = 0; i < count; i++)
        chosen[i] = !list;
    if (!list)
        return;
    char *copy = memory_string(list), *at = copy;
    for (char *word; (word = next_word(&at));) {
        /* A number counts as far as it is one: "1x" is 1. */
        int found = isdigit((unsigned char)word[0]) ? find_index(devices, count, strtol(word, NULL, 10))
                                                    : find_id(devices, count, word);
        if (found < 0)
            break;
        if (chosen[found]) {
            memset(chosen, 0, (size_t)count * sizeof *chosen);
            break;
        }
        chosen[found] = true;
    }
    free(copy);
}

/* "3" or "0-3"; false when the word is neither. */
static bool read_range(const char *word, long *first, long *last)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return false;
    *first = *last = strtol(word, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = strtol(end + 1, &end, 10);
    return *end == '\0' && *first <= *last;
}

static int choose(const char *word, int found, const struct nvml_device *devices, int count, const bool *visible,
                  bool *chosen, struct error *err)
{
    if (found == SEVERAL)
        return error_set(err, STATUS_BAD_INPUT, "--slots gpu: '%s' is the start of several GPUs' ids", word);
    if (found < 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "--slots gpu: no GPU '%s' among the %d here; `taper devices` lists them", word, count);
    if (!visible[found])
        return error_set(err, STATUS_BAD_INPUT,
                         "--slots gpu: '%s' (%s) is not among those that CUDA_VISIBLE_DEVICES leaves to this process",
                         word, devices[found].id);
    chosen[found] = true;
    return STATUS_OK;
}

int gpu_choice_listed(const char *list, const struct nvml_device *devices, int count, const bool *visible, bool *chosen,
                      struct error *err)
{
    char *copy = memory_string(list), *at = copy;
    int status = STATUS_OK;
    memset(chosen, 0, (size_t)count * sizeof *chosen);
    for (char *word; !status && (word = next_word(&at));) {
        long first, last;
        if (!read_range(word, &first, &last)) {
            status = choose(word, find_id(devices, count, word), devices, count, visible, chosen, err);
            continue;
        }
        for (long i = first; i <= last && !status; i++) {
            char number[24];
            snprintf(number, sizeof number, "%ld", i);
            status = choose(number, find_index(devices, count, i), devices, count, visible, chosen, err);
        }
    }
    free(copy);
    return status;
}
