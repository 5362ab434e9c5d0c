/* The sections of a sweep that hold configuration keys: base, variants, grid, exclude. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/fetch.h"
#include "harness/spec/spec_internal.h"

bool spec_same_value(const struct config_key *key, const struct config *a, const struct config *b)
{
    const void *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;
    switch (key->type) {
    case CONFIG_INT:
        return *(const int64_t *)x == *(const int64_t *)y;
    case CONFIG_REAL:
        return *(const double *)x == *(const double *)y;
    case CONFIG_BOOL:
        return *(const bool *)x == *(const bool *)y;
    case CONFIG_WORD:
        return *(const int *)x == *(const int *)y;
    case CONFIG_STRING:
        return strcmp(x, y) == 0;
    case CONFIG_LENGTH: {
        const struct config_length *s = x, *t = y;
        return s->value == t->value && s->fraction == t->fraction;
    }
    case CONFIG_TARGET: {
        const struct config_target *s = x, *t = y;
        return s->word == t->word && (s->word || s->value == t->value);
    }
    }
    return false;
}

/* Values of data keys that are words, not paths. */
static bool is_data_word(const struct config_key *key, const char *text)
{
    size_t length = strlen(text);
    if (strcmp(key->name, "data.corpus") == 0)
        return strcmp(text, "stories") == 0 || fetch_find(text);
    if (strcmp(key->name, "data.tokenizer") == 0)
        return strcmp(text, "auto") == 0;
    if (strcmp(key->name, "data.valid") == 0) /* auto, or a part: 5% */
        return strcmp(text, "auto") == 0 ||
               (length > 1 && text[length - 1] == '%' && strspn(text, "0123456789.") == length - 1);
    return strcmp(key->name, "init.from") != 0;
}

char *spec_read_value(struct spec_parse *p, struct config *scratch, const struct config_key *key,
                      const yaml_node_t *node)
{
    const bool needed = strcmp(key->name, "init.run") == 0;
    const char *text = needed ? spec_read_needed(p, node) : yaml_scalar(&p->reader, node, key->name);
    if (!text)
        return NULL;
    char *value =
        is_data_word(key, text) || text[0] == '/' || !*text ? memory_string(text) : file_join(p->directory, text);
    if (yaml_set(&p->reader, scratch, key, value, node))
        return value;
    free(value);
    return NULL;
}

void spec_read_base(struct spec_parse *p, const yaml_node_t *node)
{
    struct yaml_map map;
    yaml_flatten(&p->reader, node, "base: want a mapping of configuration keys", 2, &map);
    for (int i = 0; i < map.count; i++) {
        const struct config_key *key = yaml_key(&p->reader, &map.entries[i]);
        if (key)
            free(spec_read_value(p, &p->spec->base, key, map.entries[i].value));
    }
    free(map.entries);
}

/* --------------------------------------------------------------------------------------------- variants */

static bool good_variant_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= SPEC_NAME)
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < ' ' || *c == 0x7f)
            return false;
    return name[0] != ' ' && name[length - 1] != ' ';
}

static void read_variant(struct spec_parse *p, const struct yaml_entry *entry)
{
    struct yaml_map map;
    struct spec *spec = p->spec;
    struct spec_variant v = {.line = (int)entry->key_node->start_mark.line + 1,
                             .column = (int)entry->key_node->start_mark.column + 1};
    char what[SPEC_NAME + 64];
    if (!good_variant_name(entry->key)) {
        yaml_fault_at(&p->reader, entry->key_node, "a variant's name: want 1 to %d bytes of plain text, got '%.80s'",
                      SPEC_NAME - 1, entry->key);
        return;
    }
    snprintf(v.name, sizeof v.name, "%s", entry->key);
    snprintf(what, sizeof what, "variant %s: want a mapping of configuration keys", v.name);
    yaml_flatten(&p->reader, entry->value, what, 3, &map);
    v.pairs = memory_alloc((size_t)map.count, sizeof *v.pairs);
    struct config scratch = spec->base;
    for (int i = 0; i < map.count; i++) {
        const struct config_key *key = yaml_key(&p->reader, &map.entries[i]);
        char *value = key ? spec_read_value(p, &scratch, key, map.entries[i].value) : NULL;
        if (value)
            v.pairs[v.count++] = (struct spec_pair){key, value};
    }
    free(map.entries);
    spec->variants = memory_resize(spec->variants, (size_t)spec->variant_count + 1, sizeof *spec->variants);
    spec->variants[spec->variant_count++] = v;
}

void spec_read_variants(struct spec_parse *p, const yaml_node_t *node)
{
    struct yaml_map map;
    yaml_flatten(&p->reader, node, "variants: want a mapping of names to configuration keys", 2, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "variants: want at least one (leave the section out for a single one)");
    for (int i = 0; i < map.count && !p->reader.exhausted; i++)
        read_variant(p, &map.entries[i]);
    p->variants_given = true;
    free(map.entries);
}

/* --------------------------------------------------------------------------------------------- grid */

bool spec_read_integer(struct spec_parse *p, const char *name, const yaml_node_t *node, int64_t low, int64_t high,
                       int64_t *out)
{
    const char *text = yaml_scalar(&p->reader, node, name);
    if (!text)
        return false;
    const char *digits = text + (*text == '-');
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    bool strict = *digits && !digits[strspn(digits, "0123456789")] && !(digits[0] == '0' && digits[1]);
    if (!strict || errno || value < low || value > high) {
        yaml_fault_at(&p->reader, node, "%s: want an integer from %lld to %lld, got '%s'", name, (long long)low,
                      (long long)high, text);
        return false;
    }
    *out = value;
    return true;
}

static void add_value(struct spec_axis *axis, char *value)
{
    if ((axis->count & (axis->count - 1)) == 0)
        axis->values = memory_resize(axis->values, axis->count ? 2 * (size_t)axis->count : 1, sizeof *axis->values);
    axis->values[axis->count++] = value;
}

static bool too_many(struct spec_parse *p, const struct spec_axis *axis, const yaml_node_t *node)
{
    if (axis->count < SPEC_RUNS_MOST)
        return false;
    yaml_fault_at(&p->reader, node, "%s: more than %d values", axis->key->name, SPEC_RUNS_MOST);
    return true;
}

/* a, a + step ... up to and with b. */
static void fill_range(struct spec_parse *p, struct spec_axis *axis, const yaml_node_t *list, const char *const *text)
{
    const struct config_key *key = axis->key;
    struct config scratch = p->spec->base;
    double a = strtod(text[0], NULL), b = strtod(text[1], NULL), step = text[2] ? strtod(text[2], NULL) : 1;
    bool whole = key->type == CONFIG_INT;
    if (!whole && !text[2]) {
        yaml_fault_at(&p->reader, list, "%s: a range of real numbers wants a step: [low, high, step]", key->name);
        return;
    }
    if (!(step > 0) || b < a || (whole && (step != floor(step) || fabs(b) > 9007199254740992.0))) {
        yaml_fault_at(&p->reader, list,
                      "%s: want a range [low, high] or [low, high, step] with low <= high and %s "
                      "step above 0",
                      key->name, whole ? "a whole" : "a");
        return;
    }
    /* Half a step's rounding must not lose the last value of 0.1, 0.2 ... 0.5. */
    for (int64_t i = 0; a + (double)i * step <= b + (whole ? 0 : 1e-9 * step); i++) {
        if (too_many(p, axis, list))
            return;
        double value = a + (double)i * step;
        char *as_text = whole ? memory_format("%lld", (long long)value) : memory_format("%.12g", value);
        if (!yaml_set(&p->reader, &scratch, key, as_text, list)) {
            free(as_text);
            return;
        }
        add_value(axis, as_text);
    }
}

static void read_range(struct spec_parse *p, struct spec_axis *axis, const struct yaml_entry *entry)
{
    struct yaml_map map;
    const char *name = axis->key->name, *text[3] = {NULL};
    yaml_flatten(&p->reader, entry->value, "want a list", 3, &map);
    const yaml_node_t *list = map.count == 1 && strcmp(map.entries[0].key, "range") == 0 ? map.entries[0].value : NULL;
    free(map.entries);
    if (!list || list->type != YAML_SEQUENCE_NODE || yaml_items(list) < 2 || yaml_items(list) > 3) {
        yaml_fault_at(&p->reader, list ? list : entry->value,
                      "%s: want a list of values or {range: [low, high]} or {range: [low, high, step]}", name);
        return;
    }
    if (axis->key->type != CONFIG_INT && axis->key->type != CONFIG_REAL) {
        yaml_fault_at(&p->reader, list, "%s: has no range; write a list", name);
        return;
    }
    bool good = true;
    for (int i = 0; i < yaml_items(list); i++) {
        const yaml_node_t *item = yaml_item(&p->reader, list, i);
        struct config scratch = p->spec->base;
        text[i] = yaml_scalar(&p->reader, item, name);
        bool number = text[i] && text[i][strspn(text[i], "0123456789.eE+-")] == '\0';
        if (text[i] && !number)
            yaml_fault_at(&p->reader, item, "%s: want a number, got '%s'", name, text[i]);
        good &= number && (i == 2 || yaml_set(&p->reader, &scratch, axis->key, text[i], item));
    }
    if (good)
        fill_range(p, axis, list, text);
}

struct place {
    char *canonical;
    const yaml_node_t *node;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->canonical, b->canonical);
    if (order)
        return order;
    return a->node->start_mark.index < b->node->start_mark.index ? -1 : 1;
}

static void read_list(struct spec_parse *p, struct spec_axis *axis, const struct yaml_entry *entry)
{
    int count = yaml_items(entry->value), known = 0;
    struct place *places = memory_alloc((size_t)count, sizeof *places);
    struct config scratch = p->spec->base;
    if (count == 0)
        yaml_fault_at(&p->reader, entry->value, "%s: an empty list", axis->key->name);
    for (int i = 0; i < count && !p->reader.exhausted; i++) {
        const yaml_node_t *item = yaml_item(&p->reader, entry->value, i);
        char canonical[CONFIG_TEXT], *value;
        if (too_many(p, axis, item))
            break;
        value = spec_read_value(p, &scratch, axis->key, item);
        if (!value)
            continue;
        places[known++] = (struct place){memory_string(config_get(&scratch, axis->key, canonical)), item};
        add_value(axis, value);
    }
    qsort(places, (size_t)known, sizeof *places, compare_places);
    for (int i = 1; i < known; i++)
        if (strcmp(places[i].canonical, places[i - 1].canonical) == 0)
            yaml_fault_at(&p->reader, places[i].node, "%s: %s is in the list twice", axis->key->name,
                          places[i].canonical);
    for (int i = 0; i < known; i++)
        free(places[i].canonical);
    free(places);
}

void spec_read_grid(struct spec_parse *p, const yaml_node_t *node)
{
    struct yaml_map map;
    struct spec *spec = p->spec;
    yaml_flatten(&p->reader, node, "grid: want a mapping of configuration keys to lists", 2, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "grid: empty (leave the section out for a single point)");
    spec->axes = memory_alloc((size_t)map.count, sizeof *spec->axes);
    for (int i = 0; i < map.count && !p->reader.exhausted; i++) {
        struct spec_axis axis = {.key = yaml_key(&p->reader, &map.entries[i])};
        const yaml_node_t *value = map.entries[i].value;
        if (!axis.key)
            continue;
        if (value->type == YAML_SEQUENCE_NODE)
            read_list(p, &axis, &map.entries[i]);
        else if (value->type == YAML_MAPPING_NODE)
            read_range(p, &axis, &map.entries[i]);
        else
            yaml_fault_at(&p->reader, value,
                          "%s: want a list of values or {range: [low, high]}; one value goes under "
                          "base",
                          axis.key->name);
        spec->axes[spec->axis_count++] = axis;
    }
    free(map.entries);
}

/* --------------------------------------------------------------------------------------------- exclude */

static int find_variant(struct spec_parse *p, const yaml_node_t *node)
{
    const char *name = yaml_scalar(&p->reader, node, "variant");
    if (!name)
        return -1;
    for (int i = 0; i < p->spec->variant_count; i++)
        if (strcmp(p->spec->variants[i].name, name) == 0)
            return i;
    yaml_fault_at(&p->reader, node, "variant: there is no variant '%s'", name);
    return -1;
}

static void read_exclusion(struct spec_parse *p, const yaml_node_t *node)
{
    struct yaml_map map;
    struct spec_exclusion x = {.line = (int)node->start_mark.line + 1,
                               .column = (int)node->start_mark.column + 1,
                               .values = p->spec->base,
                               .variant = -1};
    yaml_flatten(&p->reader, node, "exclude: want a mapping of keys to values", 3, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "exclude: an empty mapping would leave out every run");
    x.keys = memory_alloc((size_t)map.count, sizeof *x.keys);
    for (int i = 0; i < map.count; i++) {
        if (strcmp(map.entries[i].key, "variant") == 0) {
            x.variant = find_variant(p, map.entries[i].value);
            continue;
        }
        const struct config_key *key = yaml_key(&p->reader, &map.entries[i]);
        char *value = key ? spec_read_value(p, &x.values, key, map.entries[i].value) : NULL;
        if (value)
            x.keys[x.count++] = key;
        free(value);
    }
    free(map.entries);
    p->exclusions = memory_resize(p->exclusions, (size_t)p->exclusion_count + 1, sizeof *p->exclusions);
    p->exclusions[p->exclusion_count++] = x;
}

void spec_read_exclude(struct spec_parse *p, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE) {
        yaml_fault_at(&p->reader, node, "exclude: want a list of mappings");
        return;
    }
    if (yaml_items(node) > SPEC_KEYS_MOST) {
        yaml_fault_at(&p->reader, node, "exclude: more than %d entries", SPEC_KEYS_MOST);
        return;
    }
    for (int i = 0; i < yaml_items(node) && !p->reader.exhausted; i++)
        read_exclusion(p, yaml_item(&p->reader, node, i));
}
