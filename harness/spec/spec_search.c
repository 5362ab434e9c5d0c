/* The section `search` of a sweep: keys whose values are drawn, not listed.
 *
 * Sample i of a key is a function of the search's seed, the key's name and i alone (with `sobol` of the key's place
 * among them too): the same on every machine, the same for every variant and point of the grid, and still the same
 * when `runs` is raised. A value is drawn through the inverse of its distribution and rounded to what is printed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "harness/spec/sobol.h"
#include "harness/spec/spec_internal.h"

enum kind { UNIFORM, LOG, INTEGER, NORMAL, CHOICE, KINDS };
/* The kinds first. */
static const char *const kind_words[] = {"uniform", "log", "integer", "normal", "choice", "when", NULL};

struct drawn {
    const struct config_key *key;
    enum kind kind;
    double at[4]; /* low and high; normal: mean, standard deviation, low, high */
    bool percent, whole;
    const yaml_node_t *node;
    char **choices;
    int choice_count;
};

struct search {
    int64_t runs, seed;
    bool sobol;
};

/* ------------------------------------------------------------------------------------------- distributions */

static double normal_below(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

/* The x that a part u of a standard normal lies below. */
static double normal_inverse(double u)
{
    double low = -9, high = 9;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (normal_below(middle) < u)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double normal_at(const struct drawn *d, double u)
{
    const double below = normal_below((d->at[2] - d->at[0]) / d->at[1]);
    const double above = normal_below((d->at[3] - d->at[0]) / d->at[1]);
    return fmin(fmax(d->at[0] + d->at[1] * normal_inverse(below + (above - below) * u), d->at[2]), d->at[3]);
}

/* The value below which a part u of the distribution lies, as text. Whole numbers: each has an equal part, of `log` a
 * part as long as from half below it to half above. */
static char *value_at(const struct drawn *d, double u)
{
    const double a = d->at[0], b = d->at[1], half = d->whole ? 0.5 : 0;
    double x = 0;
    switch (d->kind) {
    case CHOICE: {
        const int i = (int)(u * d->choice_count);
        return memory_string(d->choices[i < d->choice_count ? i : d->choice_count - 1]);
    }
    case INTEGER:
        x = fmin(a + floor(u * (b - a + 1)), b);
        break;
    case UNIFORM:
        x = a + u * (b - a);
        break;
    case LOG:
        x = fmin(fmax((a - half) * pow((b + half) / (a - half), u), a), b);
        break;
    case NORMAL:
    case KINDS:
        x = normal_at(d, u);
        break;
    }
    return memory_format(d->whole ? "%.0f%s" : "%.4g%s", x, d->percent ? "%" : "");
}

/* ------------------------------------------------------------------------------------------- reading */

static bool read_bound(struct spec_parse *p, struct drawn *d, const yaml_node_t *item, int i)
{
    struct config scratch = p->spec->base;
    const char *text = yaml_scalar(&p->reader, item, d->key->name);
    if (!text)
        return false;
    char *end;
    const double value = strtod(text, &end);
    const bool percent = d->key->type == CONFIG_LENGTH && *end == '%';
    if (end == text || end[percent] || !isfinite(value) || text[strspn(text, "0123456789.eE+-%")]) {
        yaml_fault_at(&p->reader, item, "%s: want a number%s, got '%s'", d->key->name,
                      d->key->type == CONFIG_LENGTH ? " or a percentage" : "", text);
        return false;
    }
    if (i > 0 && percent != d->percent) {
        yaml_fault_at(&p->reader, item, "%s: want percentages or steps, not both", d->key->name);
        return false;
    }
    d->percent = percent;
    d->at[i] = value;
    /* A deviation is a length; the others are values that the key must be able to take. */
    return (d->kind == NORMAL && i == 1) || yaml_set(&p->reader, &scratch, d->key, text, item);
}

static bool read_numbers(struct spec_parse *p, struct drawn *d, const yaml_node_t *list)
{
    const int items = list->type == YAML_SEQUENCE_NODE ? yaml_items(list) : 0;
    const char *name = d->key->name;
    if (items != 2 && !(d->kind == NORMAL && items == 4)) {
        yaml_fault_at(&p->reader, list, "%s: want %s", name,
                      d->kind == NORMAL ? "normal: [mean, deviation] or [mean, deviation, low, high]"
                                        : "the ends of a range, [low, high]");
        return false;
    }
    for (int i = 0; i < items; i++)
        if (!read_bound(p, d, yaml_item(&p->reader, list, i), i))
            return false;
    const double *at = d->at;
    if (d->kind == NORMAL && items == 2) {
        d->at[2] = -HUGE_VAL;
        d->at[3] = HUGE_VAL;
    }
    const double low = d->kind == NORMAL ? at[2] : at[0], high = d->kind == NORMAL ? at[3] : at[1];
    if (!(low < high))
        yaml_fault_at(&p->reader, list, "%s: an empty range: want low below high", name);
    else if (d->kind == LOG && !(low > 0))
        yaml_fault_at(&p->reader, list, "%s: log: want a range above 0, got one from %g", name, low);
    else if (d->kind == NORMAL && !(at[1] > 0))
        yaml_fault_at(&p->reader, list, "%s: normal: want a deviation above 0, got %g", name, at[1]);
    else
        return true;
    return false;
}

static bool read_choices(struct spec_parse *p, struct drawn *d, const yaml_node_t *list)
{
    const int items = list->type == YAML_SEQUENCE_NODE ? yaml_items(list) : 0;
    struct config scratch = p->spec->base;
    if (items < 1 || items > SPEC_KEYS_MOST) {
        yaml_fault_at(&p->reader, list, "%s: choice: want a list of 1 to %d values", d->key->name, SPEC_KEYS_MOST);
        return false;
    }
    d->choices = memory_alloc((size_t)items, sizeof *d->choices);
    for (int i = 0; i < items; i++) {
        char *value = spec_read_value(p, &scratch, d->key, yaml_item(&p->reader, list, i));
        if (value)
            d->choices[d->choice_count++] = value;
    }
    return d->choice_count == items;
}

/* {taper.sites: [internal, all]}: the key is drawn where each key has one of its values. */
static void read_when(struct spec_parse *p, struct spec_axis *axis, const yaml_node_t *node)
{
    struct yaml_map map;
    struct config scratch = p->spec->base;
    yaml_flatten(&p->reader, node, "when: want a mapping of keys to values", 5, &map);
    axis->conditions = memory_alloc((size_t)map.count, sizeof *axis->conditions);
    for (int i = 0; i < map.count; i++) {
        const yaml_node_t *value = map.entries[i].value;
        const bool single = value->type != YAML_SEQUENCE_NODE;
        struct spec_condition c = {.key = yaml_key(&p->reader, &map.entries[i])};
        const int items = single ? 1 : yaml_items(value);
        c.values = c.key ? memory_alloc((size_t)items, sizeof *c.values) : NULL;
        for (int k = 0; c.key && k < items; k++) {
            char *text = spec_read_value(p, &scratch, c.key, single ? value : yaml_item(&p->reader, value, k));
            if (text)
                c.values[c.count++] = text;
        }
        if (c.key)
            axis->conditions[axis->condition_count++] = c;
    }
    free(map.entries);
}

static bool fits(struct spec_parse *p, struct drawn *d, const yaml_node_t *node)
{
    const enum config_type type = d->key->type;
    const char *name = d->key->name;
    const bool whole = type == CONFIG_INT;
    if (d->kind == CHOICE)
        return true;
    if (type != CONFIG_INT && type != CONFIG_REAL && type != CONFIG_LENGTH && type != CONFIG_TARGET)
        yaml_fault_at(&p->reader, node, "%s: is no number; want choice: [...]", name);
    else if (d->kind == UNIFORM && whole)
        yaml_fault_at(&p->reader, node, "%s: is a whole number; want integer: [low, high]", name);
    else if (d->kind == INTEGER && !whole && type != CONFIG_LENGTH)
        yaml_fault_at(&p->reader, node, "%s: is not a whole number; want uniform: [low, high]", name);
    else
        return true;
    return false;
}

/* {log: [1e-4, 3e-2], when: {...}} */
static bool read_drawn(struct spec_parse *p, const struct yaml_entry *entry, struct drawn *d, struct spec_axis *axis)
{
    struct yaml_map map;
    bool good = true;
    int given = 0;
    yaml_flatten(&p->reader, entry->value, "want {uniform: [low, high]}, or log, integer, normal, choice", 4, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        int k = 0;
        while (k < KINDS && strcmp(kind_words[k], e->key) != 0)
            k++;
        if (strcmp(e->key, "when") == 0) {
            read_when(p, axis, e->value);
        } else if (k == KINDS) {
            yaml_unknown_key(&p->reader, e, entry->key, kind_words);
            good = false;
            given = 1;
        } else if (given++ == 0) {
            d->kind = (enum kind)k;
            d->node = e->value;
            good = fits(p, d, e->value) && (k == CHOICE ? read_choices : read_numbers)(p, d, e->value);
        }
    }
    if (given != 1 && entry->value->type == YAML_MAPPING_NODE)
        yaml_fault_at(&p->reader, entry->value, "%s: want one of uniform, log, integer, normal, choice", entry->key);
    d->whole = d->kind == INTEGER || d->key->type == CONFIG_INT || (d->key->type == CONFIG_LENGTH && !d->percent);
    free(map.entries);
    return good && given == 1;
}

/* ------------------------------------------------------------------------------------------- drawing */

static double draw_uniform(const struct search *s, const struct drawn *d, int place, int64_t i)
{
    const struct rng_stream stream = {
        .seed = (uint64_t)s->seed, .use = RNG_SEARCH, .second = XXH64(d->key->name, strlen(d->key->name), 0)};
    if (!s->sobol)
        return rng_uniform(&stream, (uint64_t)i);
    uint32_t scramble[4];
    rng_block(&stream, 0, scramble);
    return sobol_value(place, (uint32_t)i, scramble[0]);
}

static void draw(struct spec_parse *p, const struct search *s, const struct drawn *d, struct spec_axis *axis, int place)
{
    struct config scratch = p->spec->base;
    axis->values = memory_alloc((size_t)s->runs, sizeof *axis->values);
    for (int64_t i = 0; i < s->runs; i++) {
        struct error err;
        char *value = value_at(d, draw_uniform(s, d, place, i));
        if (config_set(&scratch, d->key->name, value, &err)) {
            yaml_fault_at(&p->reader, d->node, "sample %lld: %s%s", (long long)i, err.text,
                          d->kind == NORMAL ? " (bounds: normal: [mean, deviation, low, high])" : "");
            free(value);
            return;
        }
        axis->values[axis->count++] = value;
    }
}

static void read_sample(struct spec_parse *p, const struct search *s, const yaml_node_t *node)
{
    struct yaml_map map;
    struct spec *spec = p->spec;
    yaml_flatten(&p->reader, node, "sample: want a mapping of configuration keys to distributions", 3, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "sample: empty; want the keys that are drawn");
    if (s->sobol && map.count > SOBOL_DIMENSIONS)
        yaml_fault_at(&p->reader, node, "sample: sobol draws at most %d keys, got %d", SOBOL_DIMENSIONS, map.count);
    spec->axes = memory_resize(spec->axes, (size_t)(spec->axis_count + map.count), sizeof *spec->axes);
    for (int i = 0; i < map.count && !p->reader.exhausted; i++) {
        struct spec_axis axis = {.key = yaml_key(&p->reader, &map.entries[i]), .sampled = true};
        struct drawn d = {.key = axis.key};
        bool twice = false;
        for (int a = 0; axis.key && a < spec->axis_count; a++)
            twice |= spec->axes[a].key == axis.key;
        if (twice)
            yaml_fault_at(&p->reader, map.entries[i].key_node, "%s: is in the grid too", axis.key->name);
        if (!axis.key || twice)
            continue;
        if (read_drawn(p, &map.entries[i], &d, &axis) && (!s->sobol || i < SOBOL_DIMENSIONS))
            draw(p, s, &d, &axis, i);
        for (int k = 0; k < d.choice_count; k++)
            free(d.choices[k]);
        free(d.choices);
        spec->axes[spec->axis_count++] = axis;
    }
    free(map.entries);
}

void spec_read_search(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"sample", "runs", "seed", "sobol", "stop", NULL};
    struct search s = {0};
    const yaml_node_t *sample = NULL;
    struct yaml_map map;
    yaml_flatten(&p->reader, node, "search: want a mapping of sample, runs, seed, sobol, stop", 2, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        if (strcmp(e->key, "sample") == 0)
            sample = e->value;
        else if (strcmp(e->key, "runs") == 0)
            spec_read_integer(p, "runs", e->value, 1, SPEC_RUNS_MOST, &s.runs);
        else if (strcmp(e->key, "seed") == 0)
            spec_read_integer(p, "seed", e->value, 0, INT64_MAX, &s.seed);
        else if (strcmp(e->key, "sobol") == 0)
            spec_read_bool(p, "sobol", e->value, &s.sobol);
        else if (strcmp(e->key, "stop") == 0)
            spec_read_stop(p, e->value);
        else
            yaml_unknown_key(&p->reader, e, "search", words);
    }
    free(map.entries);
    if (node->type == YAML_MAPPING_NODE && !sample)
        yaml_fault_at(&p->reader, node, "search: want sample: {KEY: {log: [low, high]}, ...}");
    if (node->type == YAML_MAPPING_NODE && s.runs == 0 && p->reader.fault_count == 0)
        yaml_fault_at(&p->reader, node, "search: want runs: N, the samples that every variant gets");
    s.runs = s.runs > 0 ? s.runs : 1; /* so that the rest is checked too */
    p->spec->samples = s.runs;
    if (sample)
        read_sample(p, &s, sample);
}

bool spec_drawn_here(const struct spec_axis *axis, const struct config *cfg)
{
    for (int i = 0; i < axis->condition_count; i++) {
        const struct spec_condition *c = &axis->conditions[i];
        struct config wanted = *cfg;
        bool found = false;
        for (int k = 0; k < c->count && !found; k++)
            found = config_set(&wanted, c->key->name, c->values[k], NULL) == 0 && spec_same_value(c->key, cfg, &wanted);
        if (!found)
            return false;
    }
    return true;
}
