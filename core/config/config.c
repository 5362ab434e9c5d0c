#include "core/config/config.h"

#include <math.h>
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

void config_init(struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    memset(cfg, 0, sizeof *cfg);
    for (int i = 0; i < count; i++)
        config_value_default(&keys[i], config_value_in(cfg, &keys[i]));
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
    int status = config_value_assign(key, config_value_in(cfg, key), value, err);
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

int64_t config_attn(const struct config *cfg)
{
    return cfg->d_attn ? cfg->d_attn : cfg->d_model;
}

int64_t config_head(const struct config *cfg)
{
    return config_attn(cfg) / cfg->heads;
}

int64_t config_classes(const struct config *cfg)
{
    return cfg->classes > 1 && cfg->classes < cfg->vocab ? cfg->classes : cfg->vocab;
}

int64_t config_seed_weights(const struct config *cfg)
{
    return cfg->seed_weights < 0 ? cfg->seed : cfg->seed_weights;
}

int64_t config_seed_data(const struct config *cfg)
{
    return cfg->seed_data < 0 ? cfg->seed : cfg->seed_data;
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
            config_value_assign(key, config_value_in(cfg, key), preset->set[i].value, NULL);
    }
}

/* Narrow models start from larger weights. docs/init.md has the probe; what it did not reach, from 256 on and below 64,
 * is GPT-2's. */
static double init_std_of(int64_t d_model)
{
    return d_model >= 64 && d_model < 256 ? 6.4 / (double)d_model : 0.02;
}

static void derive(struct config *cfg)
{
    if (cfg->init_std < 0)
        cfg->init_std = init_std_of(cfg->d_model);
    if (cfg->seed_weights == cfg->seed) /* one way to write one run */
        cfg->seed_weights = -1;
    if (cfg->seed_data == cfg->seed)
        cfg->seed_data = -1;
    if (cfg->head_dim == 0)
        cfg->head_dim = 32;
    if (cfg->d_attn == cfg->d_model)
        cfg->d_attn = 0;
    if (cfg->classes == cfg->vocab)
        cfg->classes = 1;
    const int64_t A = config_attn(cfg);
    if (cfg->heads == 0)
        cfg->heads = A >= cfg->head_dim && A % cfg->head_dim == 0 ? A / cfg->head_dim : 1;
    if (cfg->d_ff == 0)
        cfg->d_ff = cfg->mlp == MLP_SWIGLU ? (8 * cfg->d_model / 3 + 31) / 32 * 32 : 4 * cfg->d_model;
    config_fakeln_derive(cfg);
}

double config_percent(const char *text)
{
    char *end = NULL;
    double part = text[strspn(text, "0123456789.")] == '%' ? strtod(text, &end) : -1;
    return end && end != text && strcmp(end, "%") == 0 ? part : -1;
}

/* Every fault is a line. */
#define FAULT(...) error_add(f, STATUS_BAD_INPUT, __VA_ARGS__)

/* Sites one after another: the last one's gate must still fall, or end its warmup, within the run. */
static void check_order(const struct config *cfg, struct error *f)
{
    const int64_t later = 2 * cfg->layers - (cfg->sites == SITES_ALL ? 0 : 1);
    const int64_t begin = config_steps(cfg->gate_shape == GATE_CONSTANT ? cfg->gate_warmup : cfg->gate_end, cfg->steps);
    const int64_t last = begin + later * config_steps(cfg->gate_gap, cfg->steps);
    if (cfg->sites != SITES_NONE && cfg->method == METHOD_GATE && cfg->gate_order != ORDER_TOGETHER &&
        last > cfg->steps)
        FAULT("gate.gap: the last site is done at step %lld, want at most train.steps %lld", (long long)last,
              (long long)cfg->steps);
}

static void check(const struct config *cfg, struct error *f)
{
    const int64_t A = config_attn(cfg);
    if (A % cfg->heads)
        FAULT("model.heads: %lld heads do not divide model.%s %lld", (long long)cfg->heads,
              cfg->d_attn ? "d_attn" : "d_model", (long long)A);
    else if (cfg->pos == POS_ROPE && config_head(cfg) % 2)
        FAULT("model.pos: rope wants an even head width, got %lld / %lld = %lld", (long long)A, (long long)cfg->heads,
              (long long)config_head(cfg));
    if (cfg->pos == POS_ROPE && cfg->rope_scaling == ROPE_LLAMA3 && cfg->rope_high <= cfg->rope_low)
        FAULT("model.rope_high: want more than model.rope_low %g, got %g", cfg->rope_low, cfg->rope_high);
    if (cfg->classes > cfg->vocab)
        FAULT("train.vocab: want at most model.vocab %lld, got %lld", (long long)cfg->vocab, (long long)cfg->classes);
    int64_t warm = config_steps(cfg->gate_warmup, cfg->steps), end = config_steps(cfg->gate_end, cfg->steps);
    bool tapers = cfg->sites != SITES_NONE, anchors = cfg->aux_lambda > 0 && cfg->aux_target.word;
    if (((tapers && cfg->method == METHOD_GATE) || anchors) && warm < 1)
        FAULT("gate.warmup: calibration wants at least one step, got %lld of %lld", (long long)warm,
              (long long)cfg->steps);
    if (tapers && cfg->method == METHOD_GATE && cfg->gate_shape != GATE_CONSTANT && end <= warm)
        FAULT("gate.end: want more than gate.warmup (step %lld), got step %lld", (long long)warm, (long long)end);
    if (cfg->init_from[0] && cfg->init_run[0])
        FAULT("init.run: want this or init.from, got both");
    check_order(cfg, f);
    config_fakeln_check(cfg, f);
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
char *config_get(const struct config *cfg, const struct config_key *key, char *to)
{
    return config_value_text(key, config_value_of(cfg, key), to);
}

static const char *type_text(const struct config_key *key)
{
    static const char *const names[] = {"integer", "number",     "true|false",    "word",
                                        "text",    "steps or %", "number or word"};
    return names[key->type];
}

static void print_key(const struct config_key *key, FILE *out)
{
    fprintf(out, "%-20s%c%c %-14s default %s", key->name, key->effect & CONFIG_RESULT ? ' ' : '*',
            key->effect & CONFIG_SHAPE ? '#' : ' ', type_text(key), key->fallback[0] ? key->fallback : "(empty)");
    if (key->type == CONFIG_INT || key->type == CONFIG_REAL || key->type == CONFIG_TARGET)
        fprintf(out, ", " CONFIG_BOUNDS, CONFIG_BOUNDS_OF(key));
    if (key->type == CONFIG_WORD)
        for (int w = 0; key->words[w]; w++)
            fprintf(out, "%s%s", w ? "|" : ", one of ", key->words[w]);
    fprintf(out, "\n    %s\n", key->help);
    if (key->counts)
        fprintf(out, "    counts %s\n", key->counts->words);
}

void config_print_help(FILE *out)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    fprintf(out,
            "Keys of a run's configuration, in YAML as 'key: value', on the command line as --set key=value.\n"
            "A * marks the keys that are not in a run's name: they do not change its result, or (model.size and\n"
            "model.head_dim) only by the keys that they set.\n"
            "A key that counts only with another is in the name only then; else it is as good as at its default.\n"
            "A # marks those that make its shape: runs of equal shape may share a worker (run: {pack: N} of a spec).\n"
            "Lengths are steps (500) or a part of the run (5%%).\n\n");
    for (int i = 0; i < count; i++)
        print_key(&keys[i], out);
}

int config_print_key_help(const char *name, FILE *out)
{
    int count, found = 0;
    const struct config_key *keys = config_keys(&count);
    size_t length = strlen(name);
    for (int i = 0; i < count; i++) {
        const char *after = keys[i].name + length;
        if (length == 0 || strncmp(keys[i].name, name, length) != 0 ||
            (*after && *after != '.' && name[length - 1] != '.'))
            continue;
        print_key(&keys[i], out);
        found++;
    }
    return found;
}
