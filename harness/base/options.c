#include "harness/base/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *find_row(const struct command *command, const char *name, size_t length, char letter)
{
    for (const struct option_row *r = command->options; r && r->name; r++)
        if (name ? strlen(r->name) == length && memcmp(r->name, name, length) == 0 : r->letter && r->letter == letter)
            return r;
    return NULL;
}

/* Where the call wants it; a verb of several calls (taper data) has rows that this one does not take. */
static const struct option_spec *find_spec(const struct option_spec *specs, const struct option_row *row)
{
    for (const struct option_spec *s = specs; row && s->name; s++)
        if (strcmp(s->name, row->name) == 0)
            return s;
    return NULL;
}

/* Each option that the call takes has its row: a fault of the program, found by the first test that uses the verb. */
static int check_rows(const struct command *command, const struct option_spec *specs, struct error *err)
{
    for (const struct option_spec *s = specs; s->name; s++) {
        const struct option_row *row = find_row(command, s->name, strlen(s->name), 0);
        if (!row || !row->value != !(s->value || s->each))
            return error_set(err, STATUS_FAILED, "%s: option '--%s' does not agree with its row", command->name,
                             s->name);
    }
    return STATUS_OK;
}

static int take(const struct option_spec *spec, const char *value, struct error *err)
{
    if (spec->flag)
        *spec->flag = true;
    if (spec->value)
        *spec->value = value;
    if (spec->each)
        return spec->each(spec->arg, value, err);
    return STATUS_OK;
}

int options_parse(const struct command *command, const struct option_spec *specs, int argc, char **argv, int *operands,
                  struct error *err)
{
    int kept = 0, i = 1;
    if (check_rows(command, specs, err))
        return STATUS_FAILED;
    for (; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            i++;
            break;
        }
        /* No option has a blank in its name: SQL that begins with a comment is an operand. */
        if (word[0] != '-' || word[1] == '\0' || strncmp(word, "-- ", 3) == 0) {
            argv[1 + kept++] = word;
            continue;
        }
        bool is_long = word[1] == '-';
        const char *equals = is_long ? strchr(word, '=') : NULL;
        size_t length = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
        const struct option_row *row = is_long           ? find_row(command, word + 2, length, 0)
                                       : word[2] == '\0' ? find_row(command, NULL, 0, word[1])
                                                         : NULL;
        const struct option_spec *spec = find_spec(specs, row);
        if (!spec)
            return command_usage(command, err, "unknown option '%s'", word);
        bool wants_value = spec->value || spec->each;
        if (!wants_value && equals)
            return command_usage(command, err, "option '--%s' takes no value", spec->name);
        const char *value = equals ? equals + 1 : NULL;
        if (wants_value && !value && row->value[0] == '[' && (i + 1 >= argc || argv[i + 1][0] == '-'))
            value = "";
        if (wants_value && !value) {
            if (i + 1 >= argc)
                return command_usage(command, err, "option '--%s' wants a value", spec->name);
            value = argv[++i];
        }
        int status = take(spec, value, err);
        if (status)
            return status;
    }
    for (; i < argc; i++)
        argv[1 + kept++] = argv[i];
    *operands = kept;
    return STATUS_OK;
}

int options_integer(const char *what, const char *text, long long low, long long high, long long *out,
                    struct error *err)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || value < low || value > high ||
        (*text != '-' && (*text < '0' || *text > '9')))
        return error_set(err, STATUS_BAD_INPUT, "%s: want an integer from %lld to %lld, got '%s'", what, low, high,
                         text);
    *out = value;
    return STATUS_OK;
}

int options_real(const char *what, const char *text, double low, double high, double *out, struct error *err)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high)
        return error_set(err, STATUS_BAD_INPUT, "%s: want a number from %g to %g, got '%s'", what, low, high, text);
    *out = value;
    return STATUS_OK;
}

int options_size(const char *what, const char *text, unsigned long long *out, struct error *err)
{
    static const struct {
        const char *suffix;
        unsigned long long factor;
    } units[] = {{"", 1},           {"k", 1000},        {"K", 1000},        {"M", 1000000},
                 {"G", 1000000000}, {"Ki", 1ull << 10}, {"Mi", 1ull << 20}, {"Gi", 1ull << 30}};
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && errno != ERANGE)
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strcmp(end, units[i].suffix) == 0 && value <= (1ull << 62) / units[i].factor) {
                *out = value * units[i].factor;
                return STATUS_OK;
            }
    return error_set(err, STATUS_BAD_INPUT, "%s: want a size such as 500k, 10M or 2Gi, got '%s'", what, text);
}
