#include "harness/spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/spec/spec_internal.h"

static const char *const bench_names[BENCH_KINDS] = {"decode", "last-token"};

const char *spec_bench_name(enum spec_bench_kind kind)
{
    return bench_names[kind];
}

/* --------------------------------------------------------------------------------------------- run */

int spec_duration(const char *text, int64_t *us)
{
    static const char units[] = "dhms";
    static const int64_t seconds[] = {86400, 3600, 60, 1};
    int64_t total = 0;
    size_t last = 0;
    if (!*text)
        return -1;
    while (*text) {
        size_t digits = strspn(text, "0123456789");
        const char *unit = digits && digits < 10 && text[digits] ? strchr(units, text[digits]) : NULL;
        /* Each unit once, the bigger before the smaller. */
        if (!unit || (size_t)(unit - units) + 1 <= last)
            return -1;
        last = (size_t)(unit - units) + 1;
        total += strtoll(text, NULL, 10) * seconds[last - 1];
        text += digits + 1;
    }
    if (total <= 0 || total > 3650ll * 86400)
        return -1;
    *us = total * 1000000;
    return 0;
}

bool spec_read_bool(struct spec_parse *p, const char *name, const yaml_node_t *node, bool *out)
{
    const char *text = yaml_scalar(&p->reader, node, name);
    if (!text)
        return false;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        yaml_fault_at(&p->reader, node, "%s: want true or false, got '%s'", name, text);
        return false;
    }
    *out = text[0] == 't';
    return true;
}

void spec_read_run(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"slots", "pack", "retries", "timeout", "priority", "fail_fast", "slurm", NULL};
    struct spec_limits *limits = &p->spec->limits;
    struct yaml_map map;
    yaml_flatten(&p->reader, node, "run: want a mapping of slots, pack, retries, timeout, priority, fail_fast, slurm",
                 2, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        if (strcmp(e->key, "slots") == 0) {
            spec_read_integer(p, "slots", e->value, 1, 1024, &limits->slots);
        } else if (strcmp(e->key, "pack") == 0) {
            spec_read_integer(p, "pack", e->value, 1, SPEC_PACK_MOST, &limits->pack);
        } else if (strcmp(e->key, "retries") == 0) {
            spec_read_integer(p, "retries", e->value, 0, 1000, &limits->retries);
        } else if (strcmp(e->key, "priority") == 0) {
            spec_read_integer(p, "priority", e->value, -1000, 1000, &limits->priority);
        } else if (strcmp(e->key, "fail_fast") == 0) {
            spec_read_bool(p, "fail_fast", e->value, &limits->fail_fast);
        } else if (strcmp(e->key, "slurm") == 0) {
            spec_read_slurm(p, e->value);
        } else if (strcmp(e->key, "timeout") == 0) {
            const char *text = yaml_scalar(&p->reader, e->value, "timeout");
            if (text && strcmp(text, "none") != 0 && spec_duration(text, &limits->timeout_us))
                yaml_fault_at(&p->reader, e->value,
                              "timeout: want a length of time such as 12h, 30m, 90s or 1h30m, or "
                              "none, got '%s'",
                              text);
        } else {
            yaml_unknown_key(&p->reader, e, "run", words);
        }
    }
    free(map.entries);
}

/* --------------------------------------------------------------------------------------------- after */

/* A number or a list of numbers. */
static void read_numbers(struct spec_parse *p, const struct yaml_entry *e, int64_t *list, int *count)
{
    bool single = e->value->type == YAML_SCALAR_NODE;
    int items = single ? 1 : e->value->type == YAML_SEQUENCE_NODE ? yaml_items(e->value) : 0;
    if (items < 1 || items > SPEC_BENCH_MOST) {
        yaml_fault_at(&p->reader, e->value, "%s: want a number or a list of 1 to %d numbers", e->key, SPEC_BENCH_MOST);
        return;
    }
    for (int i = 0; i < items; i++) {
        const yaml_node_t *item = single ? e->value : yaml_item(&p->reader, e->value, i);
        int64_t value;
        if (!spec_read_integer(p, e->key, item, 1, 1048576, &value))
            continue;
        bool twice = false;
        for (int j = 0; j < *count; j++)
            twice |= list[j] == value;
        if (twice)
            yaml_fault_at(&p->reader, item, "%s: %lld is in the list twice", e->key, (long long)value);
        else
            list[(*count)++] = value;
    }
}

static void read_bench_kind(struct spec_parse *p, const struct yaml_entry *entry, struct spec_bench *bench)
{
    static const char *const words[] = {"batch", "context", NULL};
    struct yaml_map map;
    bool batch = false, context = false;
    yaml_flatten(&p->reader, entry->value, "want a mapping of batch and context", 4, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        if (strcmp(e->key, "batch") == 0 && !batch) {
            batch = true;
            read_numbers(p, e, bench->batch, &bench->batches);
        } else if (strcmp(e->key, "context") == 0 && !context) {
            context = true;
            read_numbers(p, e, bench->context, &bench->contexts);
        } else if (strcmp(e->key, "batch") != 0 && strcmp(e->key, "context") != 0) {
            yaml_unknown_key(&p->reader, e, entry->key, words);
        }
    }
    if (entry->value->type == YAML_MAPPING_NODE && (!batch || !context))
        yaml_fault_at(&p->reader, entry->value, "%s: want both batch and context", entry->key);
    free(map.entries);
}

static void read_bench(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"decode", "last-token", NULL};
    struct yaml_map map;
    bool seen[BENCH_KINDS] = {false};
    yaml_flatten(&p->reader, node, "bench: want a mapping of decode and last-token", 3, &map);
    if (node->type == YAML_MAPPING_NODE && map.count == 0)
        yaml_fault_at(&p->reader, node, "bench: want decode or last-token");
    for (int i = 0; i < map.count; i++) {
        int kind = 0;
        while (kind < BENCH_KINDS && strcmp(map.entries[i].key, bench_names[kind]) != 0)
            kind++;
        if (kind == BENCH_KINDS)
            yaml_unknown_key(&p->reader, &map.entries[i], "bench", words);
        else if (!seen[kind])
            read_bench_kind(p, &map.entries[i], &p->spec->after.bench[kind]);
        if (kind < BENCH_KINDS)
            seen[kind] = true;
    }
    free(map.entries);
}

void spec_read_after(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"fold", "bench", NULL};
    struct yaml_map map;
    bool bench = false;
    yaml_flatten(&p->reader, node, "after: want a mapping of fold and bench", 2, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        if (strcmp(e->key, "fold") == 0)
            spec_read_bool(p, "fold", e->value, &p->spec->after.fold);
        else if (strcmp(e->key, "bench") != 0)
            yaml_unknown_key(&p->reader, e, "after", words);
        else if (!bench)
            read_bench(p, e->value);
        bench |= strcmp(e->key, "bench") == 0;
    }
    free(map.entries);
}

static json_t *numbers_to_json(const int64_t *list, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(array, json_integer(list[i]));
    return array;
}

json_t *spec_after_to_json(const struct spec_after *after)
{
    json_t *object = json_object(), *bench = json_object();
    if (after->fold)
        json_object_set_new(object, "fold", json_true());
    for (int k = 0; k < BENCH_KINDS; k++) {
        const struct spec_bench *b = &after->bench[k];
        if (b->batches == 0)
            continue;
        json_t *kind = json_object();
        json_object_set_new(kind, "batch", numbers_to_json(b->batch, b->batches));
        json_object_set_new(kind, "context", numbers_to_json(b->context, b->contexts));
        json_object_set_new(bench, bench_names[k], kind);
    }
    if (json_object_size(bench) > 0)
        json_object_set(object, "bench", bench);
    json_decref(bench);
    return object;
}

static bool numbers_from_json(const json_t *array, int64_t *list, int *count)
{
    size_t size = json_array_size(array);
    if (size < 1 || size > SPEC_BENCH_MOST)
        return false;
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) || json_integer_value(item) < 1)
            return false;
        list[i] = json_integer_value(item);
    }
    *count = (int)size;
    return true;
}

int spec_after_from_json(struct spec_after *after, const json_t *object, const char *where, struct error *err)
{
    *after = (struct spec_after){.fold = json_is_true(json_object_get(object, "fold"))};
    if (!json_is_object(object))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a JSON object of what to do after", where);
    for (int k = 0; k < BENCH_KINDS; k++) {
        const json_t *kind = json_object_get(json_object_get(object, "bench"), bench_names[k]);
        struct spec_bench *b = &after->bench[k];
        if (kind && (!numbers_from_json(json_object_get(kind, "batch"), b->batch, &b->batches) ||
                     !numbers_from_json(json_object_get(kind, "context"), b->context, &b->contexts)))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: bench.%s: want lists of 1 to %d whole numbers, batch and "
                             "context",
                             where, bench_names[k], SPEC_BENCH_MOST);
    }
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- the file */

static void read_name(struct spec_parse *p, const yaml_node_t *node)
{
    const char *text = yaml_scalar(&p->reader, node, "sweep");
    if (!text)
        return;
    size_t length = strlen(text);
    if (length >= SPEC_NAME || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != length || length == 0 ||
        text[0] == '-')
        yaml_fault_at(&p->reader, node, "sweep: want a name of 1 to %d characters a-z, 0-9 and -, got '%.80s'",
                      SPEC_NAME - 1, text);
    else
        memcpy(p->spec->name, text, length + 1);
}

/* After the variants. What SWEEP/VARIANT names is looked up when there are results to compare. */
static void read_compare(struct spec_parse *p, const yaml_node_t *node)
{
    const char *text = yaml_scalar(&p->reader, node, "compare");
    bool known = text && strchr(text, '/') && strlen(text) < sizeof p->spec->compare;
    for (int i = 0; text && i < p->spec->variant_count; i++)
        known |= strcmp(p->spec->variants[i].name, text) == 0;
    if (text && !known)
        yaml_fault_at(&p->reader, node, "compare: want a variant of this sweep, or SWEEP/VARIANT, got '%.80s'", text);
    else if (text)
        snprintf(p->spec->compare, sizeof p->spec->compare, "%s", text);
}

static const yaml_node_t *section(const struct yaml_map *map, const char *name)
{
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, name) == 0)
            return map->entries[i].value;
    return NULL;
}

static void default_variant(struct spec_parse *p)
{
    p->spec->variants = memory_alloc(1, sizeof *p->spec->variants);
    p->spec->variant_count = 1;
    snprintf(p->spec->variants[0].name, SPEC_NAME, "default");
}

static void read_sections(struct spec_parse *p, const struct yaml_map *map)
{
    static const struct {
        const char *name;
        void (*read)(struct spec_parse *p, const yaml_node_t *node);
    } sections[] = {{"sweep", read_name},       {"base", spec_read_base},     {"variants", spec_read_variants},
                    {"grid", spec_read_grid},   {"search", spec_read_search}, {"exclude", spec_read_exclude},
                    {"after", spec_read_after}, {"run", spec_read_run},       {"compare", read_compare}};
    static const char *const words[] = {"sweep",   "about", "base", "variants", "grid", "search",
                                        "exclude", "after", "run",  "compare",  NULL};
    for (int i = 0; i < map->count; i++) {
        int w = 0;
        while (words[w] && strcmp(words[w], map->entries[i].key) != 0)
            w++;
        if (!words[w])
            yaml_unknown_key(&p->reader, &map->entries[i], "the sweep", words);
    }
    const yaml_node_t *about = section(map, "about"), *grid = section(map, "grid");
    grid = grid ? grid : section(map, "search");
    const char *text = about ? yaml_scalar(&p->reader, about, "about") : NULL;
    p->spec->about = memory_string(text ? text : "");
    p->grid_line = grid ? (int)grid->start_mark.line + 1 : 1;
    p->grid_column = grid ? (int)grid->start_mark.column + 1 : 1;
    /* In the order in which one needs the other. */
    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && !p->reader.exhausted; i++) {
        const yaml_node_t *node = section(map, sections[i].name);
        if (node)
            sections[i].read(p, node);
        else if (i == 0)
            yaml_fault_place(&p->reader, 1, 1, "sweep: missing; want the sweep's name");
        else if (i == 2)
            default_variant(p);
    }
}

static void parse_fini(struct spec_parse *p)
{
    for (int i = 0; i < p->exclusion_count; i++)
        free(p->exclusions[i].keys);
    free(p->exclusions);
    yaml_reader_fini(&p->reader);
}

int spec_parse(struct spec *spec, const char *text, size_t size, const char *path, const char *directory, FILE *report,
               struct error *err)
{
    *spec = (struct spec){.samples = 1, .limits = {.slots = 1, .pack = 1, .retries = 2}};
    struct spec_parse p = {.spec = spec, .directory = directory};
    config_init(&spec->base);
    spec->path = memory_string(path);
    spec->text = memory_alloc(size + 1, 1);
    memcpy(spec->text, text, size);
    if (yaml_reader_load(&p.reader, path, text, size) && p.reader.fault_count == 0) {
        const yaml_node_t *root = yaml_root(&p.reader);
        struct yaml_map map = {0};
        if (root)
            yaml_flatten(&p.reader, root, "want a mapping: sweep, base, variants, grid ...", 1, &map);
        else
            yaml_fault_place(&p.reader, 1, 1, "an empty file; want a sweep");
        if (root && root->type == YAML_MAPPING_NODE)
            read_sections(&p, &map);
        free(map.entries);
        if (p.reader.fault_count == 0)
            spec_expand(&p);
    }
    int status = yaml_reader_report(&p.reader, report, err);
    parse_fini(&p);
    if (status)
        spec_fini(spec);
    return status;
}

int spec_load(struct spec *spec, const char *path, FILE *report, struct error *err)
{
    char *text = NULL, *directory;
    size_t size = 0;
    *spec = (struct spec){0};
    int status = yaml_read_file(path, &text, &size, err);
    if (status)
        return status;
    directory = getcwd(NULL, 0);
    if (directory)
        status = spec_parse(spec, text, size, path, directory, report, err);
    else
        status = error_errno(err, STATUS_FAILED, errno, "the current directory");
    free(directory);
    free(text);
    return status;
}

void spec_fini(struct spec *spec)
{
    for (int a = 0; a < spec->axis_count; a++) {
        for (int i = 0; i < spec->axes[a].count; i++)
            free(spec->axes[a].values[i]);
        free(spec->axes[a].values);
        for (int i = 0; i < spec->axes[a].condition_count; i++) {
            struct spec_condition *c = &spec->axes[a].conditions[i];
            for (int k = 0; k < c->count; k++)
                free(c->values[k]);
            free(c->values);
        }
        free(spec->axes[a].conditions);
    }
    for (int v = 0; v < spec->variant_count; v++) {
        for (int i = 0; i < spec->variants[v].count; i++)
            free(spec->variants[v].pairs[i].value);
        free(spec->variants[v].pairs);
    }
    for (int i = 0; i < spec->initial_count; i++) {
        char *texts[] = {spec->initials[i].from, spec->initials[i].tokenizer, spec->initials[i].digest,
                         spec->initials[i].its_tokenizer, spec->initials[i].its_digest};
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            free(texts[t]);
    }
    free(spec->initials);
    free(spec->axes);
    free(spec->variants);
    free(spec->points);
    free(spec->slurm);
    free(spec->about);
    free(spec->path);
    free(spec->text);
    *spec = (struct spec){0};
}

void spec_text_compare(const char *text, char *to, size_t room)
{
    struct yaml_reader reader;
    struct yaml_map map = {0};
    *to = '\0';
    if (yaml_reader_load(&reader, "the sweep", text, strlen(text)) && reader.fault_count == 0) {
        const yaml_node_t *root = yaml_root(&reader);
        if (root)
            yaml_flatten(&reader, root, "want a mapping", 1, &map);
        const yaml_node_t *node = section(&map, "compare");
        const char *found = node ? yaml_scalar(&reader, node, "compare") : NULL;
        snprintf(to, room, "%s", found ? found : "");
    }
    free(map.entries);
    yaml_reader_fini(&reader);
}
