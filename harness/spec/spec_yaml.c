#include "harness/spec/spec_yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/memory.h"
#include "core/base/spelling.h"
#include "harness/spec/spec.h"

enum { FAULTS_KEPT = 1000 };

/* --------------------------------------------------------------------------------------------- faults */

static void add_fault(struct yaml_reader *r, int line, int column, const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    if (r->fault_count == FAULTS_KEPT) {
        r->faults_left_out++;
        r->exhausted = true; /* nobody reads more: stop walking */
        return;
    }
    r->faults = memory_resize(r->faults, (size_t)r->fault_count + 1, sizeof *r->faults);
    r->faults[r->fault_count] = (struct yaml_fault){line, column, r->fault_count, memory_string(text)};
    r->fault_count++;
}

void yaml_fault_at(struct yaml_reader *r, const yaml_node_t *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_fault(r, (int)at->start_mark.line + 1, (int)at->start_mark.column + 1, format, args);
    va_end(args);
}

void yaml_fault_place(struct yaml_reader *r, int line, int column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_fault(r, line, column, format, args);
    va_end(args);
}

static int compare_faults(const void *left, const void *right)
{
    const struct yaml_fault *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* An alias is walked once for each use: the same fault at the same place is told once. */
static void drop_repeats(struct yaml_reader *r)
{
    int kept = 0;
    for (int i = 0; i < r->fault_count; i++) {
        const struct yaml_fault *f = &r->faults[i];
        bool repeat = false;
        for (int j = kept - 1; j >= 0 && r->faults[j].line == f->line && r->faults[j].column == f->column; j--)
            repeat |= strcmp(r->faults[j].text, f->text) == 0;
        if (repeat)
            free(f->text);
        else
            r->faults[kept++] = *f;
    }
    r->fault_count = kept;
}

int yaml_reader_report(struct yaml_reader *r, FILE *report, struct error *err)
{
    if (r->fault_count == 0)
        return STATUS_OK;
    qsort(r->faults, (size_t)r->fault_count, sizeof *r->faults, compare_faults);
    drop_repeats(r);
    int count = r->fault_count + r->faults_left_out;
    size_t used = 0;
    char text[sizeof err->text] = "";
    for (int i = 0; i < r->fault_count; i++) {
        const struct yaml_fault *f = &r->faults[i];
        if (report) {
            fprintf(report, "%s:%d:%d: %s\n", r->path, f->line, f->column, f->text);
            continue;
        }
        char *line = memory_format("%s%s:%d:%d: %s", i ? "\n" : "", r->path, f->line, f->column, f->text);
        size_t length = strlen(line);
        bool fits = used + length + 64 < sizeof text;
        if (fits)
            memcpy(text + used, line, length + 1);
        else
            snprintf(text + used, sizeof text - used, "\nand %d more errors", count - i);
        used += fits ? length : 0;
        free(line);
        if (!fits)
            break;
    }
    if (report && r->faults_left_out)
        fprintf(report, "%s: and more\n", r->path);
    if (report)
        return error_set(err, STATUS_BAD_INPUT, "%s: %d error%s", r->path, count, count == 1 ? "" : "s");
    return error_set(err, STATUS_BAD_INPUT, "%s", text);
}

/* --------------------------------------------------------------------------------------------- loading */

/* Up to one byte more than a sweep may have, so that too many show. On the heap. */
static int read_stream(FILE *in, const char *path, char **text, size_t *size, struct error *err)
{
    *text = memory_alloc(SPEC_FILE_MOST + 2, 1);
    *size = fread(*text, 1, SPEC_FILE_MOST + 1, in);
    if (!ferror(in) && *size <= SPEC_FILE_MOST)
        return STATUS_OK;
    free(*text);
    *text = NULL;
    if (ferror(in))
        return error_set(err, STATUS_BAD_INPUT, "%s: cannot read", path);
    return error_set(err, STATUS_BAD_INPUT, "%s: want at most %d bytes, got more", path, SPEC_FILE_MOST);
}

/* Whoever checks a sweep, prints and queues it reads it as often. */
static int read_standard_input(char **text, size_t *size, struct error *err)
{
    static char *kept;
    static size_t kept_size;
    int status = kept ? STATUS_OK : read_stream(stdin, "standard input", &kept, &kept_size, err);
    if (status)
        return status;
    *text = memory_alloc(kept_size + 1, 1);
    memcpy(*text, kept, kept_size);
    *size = kept_size;
    return STATUS_OK;
}

int yaml_read_file(const char *path, char **text, size_t *size, struct error *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return read_standard_input(text, size, err);
    FILE *in = fopen(path, "re");
    if (!in || fstat(fileno(in), &st) != 0 || S_ISDIR(st.st_mode)) {
        int number = in && errno == 0 ? EISDIR : in && S_ISDIR(st.st_mode) ? EISDIR : errno;
        if (in)
            fclose(in);
        return error_errno(err, STATUS_BAD_INPUT, number, "%s", path);
    }
    int status = read_stream(in, path, text, size, err);
    fclose(in);
    return status;
}

/* Line and column of a byte, for faults libyaml places by offset alone. */
static void place_of(const char *text, size_t size, size_t offset, int *line, int *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < offset && i < size; i++) {
        ++*column;
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

static void syntax_fault(struct yaml_reader *r, const yaml_parser_t *parser, const char *text, size_t size)
{
    int line = (int)parser->problem_mark.line + 1, column = (int)parser->problem_mark.column + 1;
    if (parser->error == YAML_READER_ERROR)
        place_of(text, size, parser->problem_offset, &line, &column);
    yaml_fault_place(r, line, column, "%s%s%s", parser->problem ? parser->problem : "not YAML",
                     parser->context ? " " : "", parser->context ? parser->context : "");
}

bool yaml_reader_load(struct yaml_reader *r, const char *path, const char *text, size_t size)
{
    yaml_parser_t parser;
    yaml_document_t second;
    *r = (struct yaml_reader){.path = path};
    if (size > SPEC_FILE_MOST) {
        yaml_fault_place(r, 1, 1, "want at most %d bytes, got %zu", SPEC_FILE_MOST, size);
        return false;
    }
    if (!yaml_parser_initialize(&parser)) {
        yaml_fault_place(r, 1, 1, "out of memory");
        return false;
    }
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark, which libyaml takes for a document */
        text += 3;
        size -= 3;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    r->loaded = yaml_parser_load(&parser, &r->document);
    if (!r->loaded)
        syntax_fault(r, &parser, text, size);
    if (r->loaded && yaml_document_get_root_node(&r->document)) {
        if (!yaml_parser_load(&parser, &second)) {
            syntax_fault(r, &parser, text, size);
        } else {
            const yaml_node_t *root = yaml_document_get_root_node(&second);
            if (root)
                yaml_fault_at(r, root, "a second document; want one");
            yaml_document_delete(&second);
        }
    }
    yaml_parser_delete(&parser);
    return r->loaded;
}

void yaml_reader_fini(struct yaml_reader *r)
{
    if (r->loaded)
        yaml_document_delete(&r->document);
    for (int i = 0; i < r->fault_count; i++)
        free(r->faults[i].text);
    free(r->faults);
    *r = (struct yaml_reader){0};
}

const yaml_node_t *yaml_root(struct yaml_reader *r)
{
    return yaml_document_get_root_node(&r->document);
}

int yaml_items(const yaml_node_t *sequence)
{
    return (int)(sequence->data.sequence.items.top - sequence->data.sequence.items.start);
}

const yaml_node_t *yaml_item(struct yaml_reader *r, const yaml_node_t *sequence, int i)
{
    r->visited++;
    return yaml_document_get_node(&r->document, sequence->data.sequence.items.start[i]);
}

/* --------------------------------------------------------------------------------------------- walking */

/* Deep nesting, and aliases of aliases, end here. */
static bool within_limits(struct yaml_reader *r, const yaml_node_t *node, int depth)
{
    if (depth > SPEC_DEPTH_MOST) {
        yaml_fault_at(r, node, "nested more than %d deep", SPEC_DEPTH_MOST);
        return false;
    }
    if (++r->visited > SPEC_NODES_MOST) {
        if (!r->exhausted)
            yaml_fault_at(r, node, "more than %d values, aliases counted each time", SPEC_NODES_MOST);
        r->exhausted = true;
        return false;
    }
    return true;
}

static bool has_own_tag(const yaml_node_t *node)
{
    const char *tag = (const char *)node->tag;
    return tag && strcmp(tag, YAML_DEFAULT_SCALAR_TAG) != 0 && strcmp(tag, YAML_DEFAULT_MAPPING_TAG) != 0 &&
           strcmp(tag, YAML_DEFAULT_SEQUENCE_TAG) != 0;
}

const char *yaml_scalar(struct yaml_reader *r, const yaml_node_t *node, const char *key)
{
    r->visited++;
    if (node->type != YAML_SCALAR_NODE) {
        yaml_fault_at(r, node, "%s: want one value, got a %s", key,
                      node->type == YAML_MAPPING_NODE ? "mapping" : "list");
        return NULL;
    }
    const char *text = (const char *)node->data.scalar.value;
    if (has_own_tag(node)) {
        yaml_fault_at(r, node, "%s: tags have no meaning here, got %s", key, (const char *)node->tag);
        return NULL;
    }
    if (strlen(text) != node->data.scalar.length) {
        yaml_fault_at(r, node, "%s: a NUL character inside", key);
        return NULL;
    }
    if (!*text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        yaml_fault_at(r, node, "%s: no value (write \"\" for an empty one)", key);
        return NULL;
    }
    return text;
}

static int find_entry(const struct yaml_map *map, const char *key)
{
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, key) == 0)
            return i;
    return -1;
}

static void add_entry(struct yaml_reader *r, struct yaml_map *map, const struct yaml_entry *entry)
{
    if (map->count == SPEC_KEYS_MOST) {
        if (!r->exhausted)
            yaml_fault_at(r, entry->key_node, "more than %d keys in one mapping", SPEC_KEYS_MOST);
        r->exhausted = true;
        return;
    }
    if ((map->count & (map->count - 1)) == 0)
        map->entries = memory_resize(map->entries, map->count ? 2 * (size_t)map->count : 1, sizeof *map->entries);
    map->entries[map->count++] = *entry;
}

static bool is_merge(const yaml_node_t *key)
{
    return key->type == YAML_SCALAR_NODE && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)key->data.scalar.value, "<<") == 0;
}

static void merge_map(struct yaml_reader *r, const yaml_node_t *from, int depth, struct yaml_map *map)
{
    struct yaml_map other;
    yaml_flatten(r, from, "<<: want a mapping or a list of mappings", depth, &other);
    for (int i = 0; i < other.count; i++)
        if (find_entry(map, other.entries[i].key) < 0)
            add_entry(r, map, &other.entries[i]);
    free(other.entries);
}

static void merge_value(struct yaml_reader *r, const yaml_node_t *value, int depth, struct yaml_map *map)
{
    if (value->type != YAML_SEQUENCE_NODE) {
        merge_map(r, value, depth + 1, map);
        return;
    }
    for (int i = 0; i < yaml_items(value) && !r->exhausted; i++)
        merge_map(r, yaml_item(r, value, i), depth + 2, map);
}

/* Doubled keys are found by sorting: a mapping may have tens of thousands. */
static int compare_entries(const void *left, const void *right)
{
    const struct yaml_entry *a = left, *b = right;
    int order = strcmp(a->key, b->key);
    if (order)
        return order;
    return a->key_node->start_mark.index < b->key_node->start_mark.index ? -1 : 1;
}

static void report_doubles(struct yaml_reader *r, const struct yaml_map *map)
{
    if (map->count < 2)
        return;
    struct yaml_entry *sorted = memory_alloc((size_t)map->count, sizeof *sorted);
    memcpy(sorted, map->entries, (size_t)map->count * sizeof *sorted);
    qsort(sorted, (size_t)map->count, sizeof *sorted, compare_entries);
    for (int i = 1; i < map->count; i++)
        if (strcmp(sorted[i].key, sorted[i - 1].key) == 0)
            yaml_fault_at(r, sorted[i].key_node, "%s: given twice, first in line %d", sorted[i].key,
                          (int)sorted[i - 1].key_node->start_mark.line + 1);
    free(sorted);
}

void yaml_flatten(struct yaml_reader *r, const yaml_node_t *node, const char *what, int depth, struct yaml_map *map)
{
    *map = (struct yaml_map){0};
    if (!within_limits(r, node, depth))
        return;
    if (node->type != YAML_MAPPING_NODE) {
        yaml_fault_at(r, node, "%s, got %s", what, node->type == YAML_SEQUENCE_NODE ? "a list" : "a single value");
        return;
    }
    if (has_own_tag(node))
        yaml_fault_at(r, node, "tags have no meaning here, got %s", (const char *)node->tag);
    const yaml_node_pair_t *pairs = node->data.mapping.pairs.start;
    int count = (int)(node->data.mapping.pairs.top - pairs);
    int merges = 0;
    for (int i = 0; i < count && !r->exhausted; i++) {
        const yaml_node_t *key = yaml_document_get_node(&r->document, pairs[i].key);
        const yaml_node_t *value = yaml_document_get_node(&r->document, pairs[i].value);
        if (!within_limits(r, key, depth))
            break;
        if (is_merge(key)) {
            if (merges++)
                yaml_fault_at(r, key, "<<: given twice; merge a list of mappings instead");
            continue;
        }
        const char *text = yaml_scalar(r, key, "a key");
        if (text)
            add_entry(r, map, &(struct yaml_entry){text, key, value});
    }
    report_doubles(r, map);
    for (int i = 0; i < count && !r->exhausted; i++) {
        const yaml_node_t *key = yaml_document_get_node(&r->document, pairs[i].key);
        if (is_merge(key))
            merge_value(r, yaml_document_get_node(&r->document, pairs[i].value), depth, map);
    }
}

const struct config_key *yaml_key(struct yaml_reader *r, const struct yaml_entry *entry)
{
    const struct config_key *key = config_key_find(entry->key);
    if (!key) {
        const char *near = config_key_nearest(entry->key);
        yaml_fault_at(r, entry->key_node, near ? "unknown key '%s' (did you mean %s?)" : "unknown key '%s'", entry->key,
                      near);
    }
    return key;
}

bool yaml_set(struct yaml_reader *r, struct config *cfg, const struct config_key *key, const char *text,
              const yaml_node_t *at)
{
    struct error err = {0};
    if (config_set(cfg, key->name, text, &err) == STATUS_OK)
        return true;
    yaml_fault_at(r, at, "%s", err.text);
    return false;
}

void yaml_unknown_key(struct yaml_reader *r, const struct yaml_entry *entry, const char *section,
                      const char *const *words)
{
    const char *near = NULL;
    int best = SPELLING_FAR;
    for (int i = 0; words[i]; i++)
        if (spelling_distance(entry->key, words[i]) < best) {
            best = spelling_distance(entry->key, words[i]);
            near = words[i];
        }
    if (config_key_find(entry->key))
        yaml_fault_at(r, entry->key_node, "unknown key '%s' in %s (keys of a run go under base, variants or grid)",
                      entry->key, section);
    else
        yaml_fault_at(r, entry->key_node, near ? "unknown key '%s' in %s (did you mean %s?)" : "unknown key '%s' in %s",
                      entry->key, section, near);
}
