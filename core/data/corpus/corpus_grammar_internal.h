/* The compiled form of a grammar, shared by what reads the tables, what parses rules and what expands them. */
#ifndef TAPER_CORE_DATA_CORPUS_CORPUS_GRAMMAR_INTERNAL_H
#define TAPER_CORE_DATA_CORPUS_CORPUS_GRAMMAR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/data/corpus/corpus_grammar.h"

enum {
    GRAMMAR_NAME = 24,  /* bytes of a list, field or key name, with its NUL */
    GRAMMAR_WIDTH = 8,  /* fields of a record */
    GRAMMAR_ENDING = 4, /* bytes of an ending, with its NUL */
    GRAMMAR_LISTS = 96,
    GRAMMAR_RECORDS = 4096, /* of a list */
    GRAMMAR_INSTANCES = 4,  /* {toy} {toy2} {toy3} {toy4} */
    GRAMMAR_FRESH = 0xff,   /* {toy*} */
    GRAMMAR_KEYS = 254,
    GRAMMAR_WAYS = 64,   /* alternatives in brackets */
    GRAMMAR_NODES = 256, /* parts of one sequence */
};

enum grammar_kind { NODE_LITERAL, NODE_BREAK, NODE_SLOT, NODE_RULE, NODE_CHOICE, NODE_KEYED, NODE_SYNONYM };

struct grammar_node {
    uint8_t kind, capital;
    uint8_t instance; /* slot: which record of the list; keyed: the key */
    uint16_t count;   /* slot: field; choice and synonym: alternatives */
    uint32_t at;      /* literal: length; slot: list; rule: rule; choice: first span; synonym: first field */
    const char *text; /* literal */
};

struct grammar_span { /* nodes begin .. end-1 */
    uint32_t begin, end;
};

struct grammar_field {
    const char *text;
    size_t length;
};

struct grammar_list {
    char name[GRAMMAR_NAME], field_names[GRAMMAR_WIDTH][GRAMMAR_NAME];
    char endings[GRAMMAR_WIDTH][GRAMMAR_ENDING]; /* how a field is formed that a record leaves out; or empty */
    int width, records;
    size_t first; /* in fields: records * width of them */
};

struct grammar_rule {
    char name[GRAMMAR_NAME];
    const char *const *source;
    size_t count;
    uint32_t first; /* span */
    size_t longest; /* bytes; 0 until known */
    bool open;      /* being measured */
};

struct grammar_synonyms {
    size_t first; /* in fields: what is looked for, which is also one of the alternatives */
    int count;
};

struct grammar_key {
    char name[GRAMMAR_NAME];
    int count;
};

struct corpus_grammar {
    struct grammar_list lists[GRAMMAR_LISTS];
    struct grammar_key keys[GRAMMAR_KEYS];
    struct grammar_field *fields;
    struct grammar_rule *rules;
    struct grammar_synonyms *synonyms;
    struct grammar_node *nodes;
    struct grammar_span *spans;
    char **formed; /* the inflected fields */
    size_t formed_count, formed_room;
    size_t list_count, field_count, field_room, rule_count, rule_room;
    size_t synonym_count, synonym_room, node_count, node_room, span_count, span_room;
    int key_count;
    const struct grammar_rule *start;
};

/* Fill lists and the names and sources of rules. */
int grammar_read_tables(struct corpus_grammar *g, const char *const *const *tables, struct error *err);

/* A word with an ending of regular English (s ed ing er est ly), to be freed; NULL for another ending. Of several words
 * ("music box") the last one takes it. */
char *grammar_inflect(const char *word, size_t length, const char *ending);

/* Append; the number of the first span, or the span of the nodes. */
size_t grammar_add_spans(struct corpus_grammar *g, const struct grammar_span *spans, size_t count);
struct grammar_span grammar_add_nodes(struct corpus_grammar *g, const struct grammar_node *nodes, size_t count);

#endif
