#include "core/config/config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "core/config/config_internal.h"
#include "core/base/spelling.h"

const struct config_key *config_key_find(const char *name)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const char *config_key_nearest(const char *name)
{
    int count, best = SPELLING_FAR;
    const struct config_key *keys = config_keys(&count);
    const char *found = NULL;
    for (int i = 0; i < count; i++) {
        const char *leaf = strrchr(keys[i].name, '.');
        int d = spelling_distance(name, keys[i].name);
        if (leaf && strcmp(leaf + 1, name) == 0)
            d = 1; /* the section was left out */
        if (d < best) {
            best = d;
            found = keys[i].name;
        }
    }
    return found;
}

/* The bounds of a key as text; an integer's with all of its digits. */
#define BOUNDS         "%.*g to %.*g"
#define BOUNDS_OF(key) bound_digits(key), (key)->low, bound_digits(key), (key)->high

static int bound_digits(const struct config_key *key)
{
    return key->type == CONFIG_INT ? 17 : 10;
}

static void *field_of(struct config *cfg, const struct config_key *key)
{
    return (char *)cfg + key->offset;
}

static const void *field_in(const struct config *cfg, const struct config_key *key)
{
    return (const char *)cfg + key->offset;
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
    return error_set(err, STATUS_BAD_INPUT, "%s: want " BOUNDS ", got %s", key->name, BOUNDS_OF(key), value);
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
    bool can_be_auto = strcmp(key->fallback, "auto") == 0;
    if (can_be_auto && strcmp(value, "auto") == 0) {
        *to = 0;
        return STATUS_OK;
    }
    if (!parse_integer(value, &n))
        return reject(key, can_be_auto ? "an integer or auto" : "an integer", value, err);
    if ((double)n < key->low || (double)n > key->high)
        return reject_bounds(key, value, err);
    *to = n;
    return STATUS_OK;
}

static int assign_real(const struct config_key *key, double *to, const char *value, struct error *err)
{
    double x;
    if (!parse_real(value, &x))
        return reject(key, "a number", value, err);
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

int config_assign(struct config *cfg, const struct config_key *key, const char *value, struct error *err)
{
    void *to = field_of(cfg, key);
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

void config_init(struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    struct error err = {0};
    memset(cfg, 0, sizeof *cfg);
    for (int i = 0; i < count; i++)
        if (config_assign(cfg, &keys[i], keys[i].fallback, &err)) {
            fprintf(stderr, "taper: default of %s\n", err.text); /* a fault of the table, caught by its test */
            abort();
        }
}

int config_set(struct config *cfg, const char *name, const char *value, struct error *err)
{
    int count;
    const struct config_key *keys = config_keys(&count), *key = config_key_find(name);
    if (!key) {
        const char *near = config_key_nearest(name);
        return error_set(err, STATUS_BAD_INPUT, near ? "unknown key '%s' (did you mean %s?)" : "unknown key '%s'", name,
                         near);
    }
    int status = config_assign(cfg, key, value, err);
    if (!status) {
        cfg->given[key - keys] = true;
        cfg->finished = false;
    }
    return status;
}

int config_set_pair(struct config *cfg, const char *pair, struct error *err)
{
    const char *equals = strchr(pair, '=');
    char name[128];
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof name)
        return error_set(err, STATUS_BAD_INPUT, "want KEY=VALUE, got '%s'", pair);
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = '\0';
    return config_set(cfg, name, equals + 1, err);
}

int64_t config_steps(struct config_length length, int64_t steps)
{
    return (int64_t)llround(length.fraction ? length.value / 100 * (double)steps : length.value);
}

/* ------------------------------------------------------------------------------------------ finishing */

static void apply_preset(struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    const struct config_preset *preset = config_preset_find(cfg->model_size);
    for (int i = 0; preset->set[i].key; i++) {
        const struct config_key *key = config_key_find(preset->set[i].key);
        if (!cfg->given[key - keys])
            config_assign(cfg, key, preset->set[i].value, NULL);
    }
}

static void derive(struct config *cfg)
{
    if (cfg->head_dim == 0)
        cfg->head_dim = 32;
    if (cfg->heads == 0)
        cfg->heads =
            cfg->d_model >= cfg->head_dim && cfg->d_model % cfg->head_dim == 0 ? cfg->d_model / cfg->head_dim : 1;
    if (cfg->d_ff == 0)
        cfg->d_ff = cfg->mlp == MLP_SWIGLU ? (8 * cfg->d_model / 3 + 31) / 32 * 32 : 4 * cfg->d_model;
}

double config_percent(const char *text)
{
    char *end = NULL;
    double part = text[strspn(text, "0123456789.")] == '%' ? strtod(text, &end) : -1;
    return end && end != text && strcmp(end, "%") == 0 ? part : -1;
}

/* Every fault is a line. */
#define FAULT(...) error_add(f, STATUS_BAD_INPUT, __VA_ARGS__)

static void check(const struct config *cfg, struct error *f)
{
    if (cfg->d_model % cfg->heads)
        FAULT("model.heads: %lld heads do not divide model.d_model %lld", (long long)cfg->heads,
              (long long)cfg->d_model);
    else if (cfg->pos == POS_ROPE && cfg->d_model / cfg->heads % 2)
        FAULT("model.pos: rope wants an even head width, got %lld / %lld = %lld", (long long)cfg->d_model,
              (long long)cfg->heads, (long long)(cfg->d_model / cfg->heads));
    int64_t warm = config_steps(cfg->gate_warmup, cfg->steps), end = config_steps(cfg->gate_end, cfg->steps);
    bool tapers = cfg->sites != SITES_NONE, anchors = cfg->aux_lambda > 0 && cfg->aux_target.word;
    if ((tapers || anchors) && warm < 1)
        FAULT("gate.warmup: calibration wants at least one step, got %lld of %lld", (long long)warm,
              (long long)cfg->steps);
    if (tapers && cfg->gate_shape != GATE_CONSTANT && end <= warm)
        FAULT("gate.end: want more than gate.warmup (step %lld), got step %lld", (long long)warm, (long long)end);
    double valid = config_percent(cfg->valid);
    if (valid == 0 || valid >= 100)
        FAULT("data.valid: want more than 0%% and less than 100%%, got %s", cfg->valid);
    if (cfg->device == DEVICE_CPU && cfg->precision == PRECISION_BF16)
        FAULT("precision: bf16 wants device cuda; the CPU computes in fp32");
    int64_t tokens = cfg->batch * cfg->context;
    if (tokens > INT32_MAX / 4)
        FAULT("train.batch: %lld windows of %lld tokens are too many for one micro-batch; use train.accumulate",
              (long long)cfg->batch, (long long)cfg->context);
}

int config_finish(struct config *cfg, struct error *err)
{
    struct error faults = {0};
    apply_preset(cfg);
    derive(cfg);
    check(cfg, &faults);
    if (faults.status)
        return error_set(err, faults.status, "%s", faults.text);
    cfg->finished = true;
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- text out */

/* The shortest text that reads back as the same double: 40, not 4e+01. */
static void print_real(char *to, size_t room, double x)
{
    char text[64];
    size_t shortest = sizeof text;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x && strlen(text) < shortest) {
            shortest = strlen(text);
            snprintf(to, room, "%s", text);
        }
    }
}

char *config_get(const struct config *cfg, const struct config_key *key, char *to)
{
    const void *from = field_in(cfg, key);
    switch (key->type) {
    case CONFIG_INT:
        if (*(const int64_t *)from == 0 && strcmp(key->fallback, "auto") == 0)
            snprintf(to, CONFIG_TEXT, "auto");
        else
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

static const char *type_text(const struct config_key *key)
{
    static const char *const names[] = {"integer", "number",     "true|false",    "word",
                                        "text",    "steps or %", "number or word"};
    return names[key->type];
}

void config_print_help(FILE *out)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    fprintf(out,
            "Keys of a run's configuration, in YAML as 'key: value', on the command line as --set key=value.\n"
            "A * marks the keys that are not in a run's name: they do not change its result, or (model.size and\n"
            "model.head_dim) only by the keys that they set.\n"
            "A # marks those that make its shape: runs of equal shape may share a worker (run: {pack: N} of a spec).\n"
            "Lengths are steps (500) or a part of the run (5%%).\n\n");
    for (int i = 0; i < count; i++) {
        const struct config_key *key = &keys[i];
        fprintf(out, "%-20s%c%c %-14s default %s", key->name, key->effect & CONFIG_RESULT ? ' ' : '*',
                key->effect & CONFIG_SHAPE ? '#' : ' ', type_text(key), key->fallback[0] ? key->fallback : "(empty)");
        if (key->type == CONFIG_INT || key->type == CONFIG_REAL || key->type == CONFIG_TARGET)
            fprintf(out, ", " BOUNDS, BOUNDS_OF(key));
        if (key->type == CONFIG_WORD)
            for (int w = 0; key->words[w]; w++)
                fprintf(out, "%s%s", w ? "|" : ", one of ", key->words[w]);
        fprintf(out, "\n    %s\n", key->help);
    }
}
