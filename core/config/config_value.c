/* One key's value: strictly from text, and back to text. Where a value stands is the caller's: a field of a struct
 * config, or a value by itself (union config_value). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/config/config_internal.h"

static bool can_be_auto(const struct config_key *key)
{
    return (key->type == CONFIG_INT || key->type == CONFIG_REAL) && strcmp(key->fallback, "auto") == 0;
}

/* auto stands in a field as a number that the key's bounds leave out. */
static double stored_auto(const struct config_key *key)
{
    return key->low - 1;
}

bool config_value_auto(const struct config_key *key, const void *from)
{
    if (!can_be_auto(key))
        return false;
    double x = key->type == CONFIG_INT ? (double)*(const int64_t *)from : *(const double *)from;
    return x == stored_auto(key);
}

/* Decimal integers only: no sign but '-', no leading zeros ("010" is somebody's octal), no exponents. */
static bool parse_integer(const char *text, long long *out)
{
    const char *digits = text + (*text == '-');
    if (!*digits || (digits[0] == '0' && digits[1]) || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

/* Decimal numbers: 1, 0.5, 1e-4. No hexadecimal, no inf or nan, no leading zeros before another digit. */
static bool parse_real(const char *text, double *out)
{
    const char *digits = text + (*text == '-');
    if (text[strspn(text, "0123456789+-.eE")] || (*digits != '.' && (*digits < '0' || *digits > '9')))
        return false;
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
        return false;
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static int reject(const struct config_key *key, const char *wanted, const char *value, struct error *err)
{
    return error_set(err, STATUS_BAD_INPUT, "%s: want %s, got '%s'", key->name, wanted, value);
}

static int reject_bounds(const struct config_key *key, const char *value, struct error *err)
{
    return error_set(err, STATUS_BAD_INPUT, "%s: want " CONFIG_BOUNDS ", got %s", key->name, CONFIG_BOUNDS_OF(key),
                     value);
}

static int assign_word(const struct config_key *key, int *to, const char *value, struct error *err)
{
    char wanted[256] = "";
    for (int i = 0; key->words[i]; i++) {
        if (strcmp(value, key->words[i]) == 0) {
            *to = i;
            return STATUS_OK;
        }
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof wanted - used, "%s%s",
                 i == 0              ? ""
                 : key->words[i + 1] ? ", "
                                     : " or ",
                 key->words[i]);
    }
    return reject(key, wanted, value, err);
}

static int assign_length(const struct config_key *key, struct config_length *to, const char *value, struct error *err)
{
    size_t n = strlen(value);
    struct config_length got = {0};
    if (n > 1 && n < 40 && value[n - 1] == '%') {
        char number[40];
        memcpy(number, value, n - 1);
        number[n - 1] = '\0';
        if (!parse_real(number, &got.value) || got.value < 0 || got.value > 100)
            return reject(key, "0% to 100%, or a number of steps", value, err);
        got.fraction = true;
    } else {
        long long steps;
        if (!parse_integer(value, &steps))
            return reject(key, "a number of steps (500) or a part of the run (5%)", value, err);
        got.value = (double)steps;
        if (got.value < key->low || got.value > key->high)
            return reject_bounds(key, value, err);
    }
    *to = got;
    return STATUS_OK;
}

static int assign_integer(const struct config_key *key, int64_t *to, const char *value, struct error *err)
{
    long long n;
    if (can_be_auto(key) && strcmp(value, "auto") == 0) {
        *to = (int64_t)stored_auto(key);
        return STATUS_OK;
    }
    if (!parse_integer(value, &n))
        return reject(key, can_be_auto(key) ? "an integer or auto" : "an integer", value, err);
    if ((double)n < key->low || (double)n > key->high)
        return reject_bounds(key, value, err);
    *to = n;
    return STATUS_OK;
}

static int assign_real(const struct config_key *key, double *to, const char *value, struct error *err)
{
    double x;
    if (can_be_auto(key) && strcmp(value, "auto") == 0) {
        *to = stored_auto(key);
        return STATUS_OK;
    }
    if (!parse_real(value, &x))
        return reject(key, can_be_auto(key) ? "a number or auto" : "a number", value, err);
    if (x < key->low || x > key->high)
        return reject_bounds(key, value, err);
    *to = x;
    return STATUS_OK;
}

static int assign_text(const struct config_key *key, char *to, const char *value, struct error *err)
{
    size_t room = strcmp(key->name, "model.size") == 0 ? sizeof((struct config *)0)->model_size : CONFIG_TEXT;
    if (strlen(value) >= room)
        return error_set(err, STATUS_BAD_INPUT, "%s: want at most %zu bytes, got %zu", key->name, room - 1,
                         strlen(value));
    if (room != CONFIG_TEXT && !config_preset_find(value))
        return reject(key, "one of " CONFIG_PRESET_NAMES, value, err);
    memcpy(to, value, strlen(value) + 1);
    return STATUS_OK;
}

int config_value_assign(const struct config_key *key, void *to, const char *value, struct error *err)
{
    switch (key->type) {
    case CONFIG_INT:
        return assign_integer(key, to, value, err);
    case CONFIG_REAL:
        return assign_real(key, to, value, err);
    case CONFIG_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return reject(key, "true or false", value, err);
        *(bool *)to = value[0] == 't';
        return STATUS_OK;
    case CONFIG_WORD:
        return assign_word(key, to, value, err);
    case CONFIG_STRING:
        return assign_text(key, to, value, err);
    case CONFIG_LENGTH:
        return assign_length(key, to, value, err);
    case CONFIG_TARGET: {
        struct config_target target = {.word = strcmp(value, key->words[0]) == 0};
        if (!target.word && !parse_real(value, &target.value))
            return error_set(err, STATUS_BAD_INPUT, "%s: want %s or a number, got '%s'", key->name, key->words[0],
                             value);
        if (!target.word && (target.value < key->low || target.value > key->high))
            return reject_bounds(key, value, err);
        *(struct config_target *)to = target;
        return STATUS_OK;
    }
    }
    return error_set(err, STATUS_FAILED, "%s: unknown type in the key table", key->name);
}
/* The shortest text that reads back as the same double: 40, not 4e+01. More digits only help one with an exponent. */
static void print_real(char *to, size_t room, double x)
{
    char text[64];
    size_t shortest = sizeof text;
    bool plain = false;
    for (int digits = 1; digits <= 17 && !plain; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x && strlen(text) < shortest) {
            shortest = strlen(text);
            plain = !strchr(text, 'e');
            snprintf(to, room, "%s", text);
        }
    }
}

char *config_value_text(const struct config_key *key, const void *from, char *to)
{
    if (config_value_auto(key, from)) {
        snprintf(to, CONFIG_TEXT, "auto");
        return to;
    }
    switch (key->type) {
    case CONFIG_INT:
        snprintf(to, CONFIG_TEXT, "%lld", (long long)*(const int64_t *)from);
        break;
    case CONFIG_REAL:
        print_real(to, CONFIG_TEXT, *(const double *)from);
        break;
    case CONFIG_BOOL:
        snprintf(to, CONFIG_TEXT, "%s", *(const bool *)from ? "true" : "false");
        break;
    case CONFIG_WORD:
        snprintf(to, CONFIG_TEXT, "%s", key->words[*(const int *)from]);
        break;
    case CONFIG_STRING:
        snprintf(to, CONFIG_TEXT, "%s", (const char *)from);
        break;
    case CONFIG_LENGTH: {
        const struct config_length *length = from;
        print_real(to, CONFIG_TEXT - 1, length->value);
        if (length->fraction)
            strncat(to, "%", 2);
        else
            snprintf(to, CONFIG_TEXT, "%.0f", length->value);
        break;
    }
    case CONFIG_TARGET: {
        const struct config_target *target = from;
        if (target->word)
            snprintf(to, CONFIG_TEXT, "%s", key->words[0]);
        else
            print_real(to, CONFIG_TEXT, target->value);
        break;
    }
    }
    return to;
}

void config_value_default(const struct config_key *key, void *to)
{
    struct error err = {0};
    if (config_value_assign(key, to, key->fallback, &err)) {
        fprintf(stderr, "taper: default of %s\n", err.text); /* a fault of the table, caught by its test */
        abort();
    }
}
