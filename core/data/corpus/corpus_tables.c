/* Reading the source tables of a grammar: lists of records, synonyms and the names of rules. */
#include <stdlib.h>
#include <string.h>

#include "core/data/corpus/corpus_grammar_internal.h"
#include "core/base/memory.h"

static void *make_room(void *items, size_t *room, size_t want, size_t size)
{
    if (want <= *room)
        return items;
    *room = want > 2 * *room ? want : 2 * *room;
    return memory_resize(items, *room, size);
}

size_t grammar_add_spans(struct corpus_grammar *g, const struct grammar_span *spans, size_t count)
{
    g->spans = make_room(g->spans, &g->span_room, g->span_count + count, sizeof *spans);
    memcpy(g->spans + g->span_count, spans, count * sizeof *spans);
    g->span_count += count;
    return g->span_count - count;
}

struct grammar_span grammar_add_nodes(struct corpus_grammar *g, const struct grammar_node *nodes, size_t count)
{
    struct grammar_span span = {(uint32_t)g->node_count, (uint32_t)(g->node_count + count)};
    if (count == 0)
        return span;
    g->nodes = make_room(g->nodes, &g->node_room, g->node_count + count, sizeof *nodes);
    memcpy(g->nodes + g->node_count, nodes, count * sizeof *nodes);
    g->node_count += count;
    return span;
}

static int copy_name(char out[GRAMMAR_NAME], const char *name, size_t length, struct error *err)
{
    if (length == 0 || length >= GRAMMAR_NAME)
        return error_set(err, STATUS_BAD_INPUT, "grammar: want a name of 1 to %d letters, found '%.*s'",
                         GRAMMAR_NAME - 1, (int)(length < 40 ? length : 40), name);
    memcpy(out, name, length);
    out[length] = '\0';
    return STATUS_OK;
}

/* The ending of "=+ending". */
static int read_ending(struct grammar_list *list, const char *text, size_t length, struct error *err)
{
    char *ending = list->endings[list->width - 1];
    if (length >= 3 && length < 2 + GRAMMAR_ENDING && text[1] == '+') {
        memcpy(ending, text + 2, length - 2);
        char *formed = grammar_inflect("word", 4, ending);
        free(formed);
        if (formed && list->width > 1)
            return STATUS_OK;
    }
    return error_set(err, STATUS_BAD_INPUT,
                     "grammar: list '%s': want an ending such as =+ed on a field but the first, found "
                     "'%.*s'",
                     list->name, (int)(length < 20 ? length : 20), text);
}

/* "@name field field=+ending ..." */
static int read_list_header(struct corpus_grammar *g, const char *line, struct error *err)
{
    if (g->list_count == GRAMMAR_LISTS)
        return error_set(err, STATUS_BAD_INPUT, "grammar: more than %d lists at '%s'", GRAMMAR_LISTS, line);
    struct grammar_list *list = &g->lists[g->list_count++];
    size_t length = strcspn(++line, " ");
    int status = copy_name(list->name, line, length, err);
    list->first = g->field_count;
    for (line += length; !status && *line == ' '; line += length) {
        length = strcspn(++line, " ");
        size_t name = strcspn(line, " =");
        if (list->width == GRAMMAR_WIDTH)
            return error_set(err, STATUS_BAD_INPUT, "grammar: list '%s': more than %d fields", list->name,
                             GRAMMAR_WIDTH);
        status = copy_name(list->field_names[list->width++], line, name, err);
        if (!status && name < length)
            status = read_ending(list, line + name, length - name, err);
    }
    if (!status && list->width == 0)
        status = error_set(err, STATUS_BAD_INPUT, "grammar: list '%s': no fields", list->name);
    return status;
}

static void add_field(struct corpus_grammar *g, const char *text, size_t length)
{
    g->fields = make_room(g->fields, &g->field_room, g->field_count + 1, sizeof *g->fields);
    g->fields[g->field_count++] = (struct grammar_field){text, length};
}

/* Append the fields of a line; their number. */
static int read_fields(struct corpus_grammar *g, const char *line)
{
    for (int width = 1;; width++) {
        size_t length = strcspn(line, "|");
        add_field(g, line, length);
        if (!line[length])
            return width;
        line += length + 1;
    }
}

/* Form the next field from the first one of the record. */
static void add_formed(struct corpus_grammar *g, const struct grammar_field *word, const char *ending)
{
    char *formed = grammar_inflect(word->text, word->length, ending);
    g->formed = make_room(g->formed, &g->formed_room, g->formed_count + 1, sizeof *g->formed);
    g->formed[g->formed_count++] = formed;
    add_field(g, formed, strlen(formed));
}

static int read_record(struct corpus_grammar *g, const char *line, struct error *err)
{
    struct grammar_list *list = &g->lists[g->list_count - 1];
    size_t first = g->field_count;
    int width = read_fields(g, line);
    if (++list->records > GRAMMAR_RECORDS)
        return error_set(err, STATUS_BAD_INPUT, "grammar: list '%s': want at most %d records", list->name,
                         GRAMMAR_RECORDS);
    for (; width < list->width && g->fields[first].length && list->endings[width][0]; width++) {
        const struct grammar_field word = g->fields[first]; /* adding a field may move them */
        add_formed(g, &word, list->endings[width]);
    }
    if (width != list->width)
        return error_set(err, STATUS_BAD_INPUT, "grammar: list '%s': want %d fields, found %d in '%s'", list->name,
                         list->width, width, line);
    return STATUS_OK;
}

/* "~phrase|another|another" */
static int read_synonyms(struct corpus_grammar *g, const char *line, struct error *err)
{
    g->synonyms = make_room(g->synonyms, &g->synonym_room, g->synonym_count + 1, sizeof *g->synonyms);
    struct grammar_synonyms *row = &g->synonyms[g->synonym_count++];
    row->first = g->field_count;
    row->count = read_fields(g, line + 1);
    if (row->count < 2 || g->fields[row->first].length == 0)
        return error_set(err, STATUS_BAD_INPUT, "grammar: synonyms '%s': want at least two", line);
    return STATUS_OK;
}

int grammar_read_tables(struct corpus_grammar *g, const char *const *const *tables, struct error *err)
{
    for (; *tables; tables++) {
        struct grammar_rule *rule = NULL;
        bool in_list = false;
        for (const char *const *line = *tables; *line; line++) {
            int status = STATUS_OK;
            if (**line == '~') {
                status = read_synonyms(g, *line, err);
            } else if (**line == '@') {
                status = read_list_header(g, *line, err);
                in_list = true;
            } else if (**line == '=') {
                g->rules = make_room(g->rules, &g->rule_room, g->rule_count + 1, sizeof *g->rules);
                rule = &g->rules[g->rule_count++];
                memset(rule, 0, sizeof *rule);
                status = copy_name(rule->name, *line + 1, strlen(*line + 1), err);
                rule->source = line + 1;
                in_list = false;
            } else if (in_list) {
                status = read_record(g, *line, err);
            } else if (rule) {
                rule->count++;
            } else {
                status = error_set(err, STATUS_BAD_INPUT, "grammar: '%.40s' is under no list or rule", *line);
            }
            if (status)
                return status;
        }
    }
    return STATUS_OK;
}

void corpus_grammar_destroy(struct corpus_grammar *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->formed_count; i++)
        free(g->formed[i]);
    free(g->formed);
    free(g->fields);
    free(g->rules);
    free(g->synonyms);
    free(g->nodes);
    free(g->spans);
    free(g);
}
