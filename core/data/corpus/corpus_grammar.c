#include "core/data/corpus/corpus_grammar.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>

#include "core/data/corpus/corpus_grammar_internal.h"
#include "core/base/memory.h"

/* Short names: the hero (child), the friend (child2), a third child (child3) and the grown-up. */
static const struct alias {
    const char *name, *list;
    int instance;
    const char *field;
} aliases[] = {
    {"N", "child", 0, "name"},           {"he", "child", 0, "he"},
    {"him", "child", 0, "him"},          {"his", "child", 0, "his"},
    {"himself", "child", 0, "himself"},  {"boy", "child", 0, "boy"},
    {"F", "child", 1, "name"},           {"fhe", "child", 1, "he"},
    {"fhim", "child", 1, "him"},         {"fhis", "child", 1, "his"},
    {"fhimself", "child", 1, "himself"}, {"fboy", "child", 1, "boy"},
    {"T", "child", 2, "name"},           {"the3", "child", 2, "he"},
    {"tboy", "child", 2, "boy"},         {"mom", "grown", 0, "noun"},
    {"Mom", "grown", 0, "call"},         {"mhe", "grown", 0, "he"},
    {"mhim", "grown", 0, "him"},         {"mhis", "grown", 0, "his"},
};

struct parser {
    struct corpus_grammar *g;
    const char *rule, *at;
    struct error *err;
};

static int fail(struct parser *p, const char *what, const char *name, size_t length)
{
    return error_set(p->err, STATUS_BAD_INPUT, "grammar: rule '%s': %s '%.*s' before '%.30s'", p->rule, what,
                     (int)length, name, p->at);
}

static struct grammar_list *find_list(struct corpus_grammar *g, const char *name, size_t length)
{
    for (size_t i = 0; i < g->list_count; i++)
        if (strlen(g->lists[i].name) == length && !memcmp(g->lists[i].name, name, length))
            return &g->lists[i];
    return NULL;
}

static int find_field(const struct grammar_list *list, const char *name, size_t length)
{
    for (int i = 0; i < list->width; i++)
        if (strlen(list->field_names[i]) == length && !memcmp(list->field_names[i], name, length))
            return i;
    return -1;
}

/* Resolve a short name or LIST[DIGIT][.FIELD] into the node. False when there is no such thing. */
static bool resolve_slot(struct corpus_grammar *g, const char *name, size_t length, struct grammar_node *node)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strlen(aliases[i].name) == length && !memcmp(aliases[i].name, name, length)) {
            struct grammar_list *list = find_list(g, aliases[i].list, strlen(aliases[i].list));
            int field = list ? find_field(list, aliases[i].field, strlen(aliases[i].field)) : -1;
            node->at = list ? (uint32_t)(list - g->lists) : 0;
            node->instance = (uint8_t)aliases[i].instance;
            node->count = (uint16_t)field;
            return field >= 0;
        }
    const char *dot = memchr(name, '.', length);
    size_t base = dot ? (size_t)(dot - name) : length;
    node->instance = 0;
    if (base > 1 && name[base - 1] == '*') {
        node->instance = GRAMMAR_FRESH;
        base--;
    } else if (base > 1 && name[base - 1] >= '2' && name[base - 1] <= '4') {
        node->instance = (uint8_t)(name[--base] - '1');
    }
    struct grammar_list *list = find_list(g, name, base);
    int field = !list ? -1 : dot ? find_field(list, dot + 1, (size_t)(name + length - dot - 1)) : 0;
    if (field < 0 || list->records < GRAMMAR_INSTANCES) /* else the instances could not differ */
        return false;
    node->at = (uint32_t)(list - g->lists);
    node->count = (uint16_t)field;
    return true;
}

static int parse_slot(struct parser *p, struct grammar_node *node)
{
    const char *name = ++p->at;
    size_t length = strcspn(name, "}");
    char lower[GRAMMAR_NAME];
    if (!name[length] || length == 0 || length >= sizeof lower)
        return fail(p, "a slot is not closed:", name, length > 20 ? 20 : length);
    memset(node, 0, sizeof *node);
    node->kind = NODE_SLOT;
    p->at += length + 1;
    if (resolve_slot(p->g, name, length, node))
        return STATUS_OK;
    memcpy(lower, name, length);
    lower[0] = (char)tolower((unsigned char)lower[0]);
    node->capital = lower[0] != name[0];
    if (node->capital && resolve_slot(p->g, lower, length, node))
        return STATUS_OK;
    return fail(p, "no list or field", name, length);
}

static int parse_rule_name(struct parser *p, struct grammar_node *node)
{
    const char *name = ++p->at;
    size_t length = strcspn(name, ">");
    if (!name[length])
        return fail(p, "a rule name is not closed:", name, length > 20 ? 20 : length);
    p->at += length + 1;
    memset(node, 0, sizeof *node);
    node->kind = NODE_RULE;
    for (size_t i = 0; i < p->g->rule_count; i++)
        if (strlen(p->g->rules[i].name) == length && !memcmp(p->g->rules[i].name, name, length)) {
            node->at = (uint32_t)i;
            return STATUS_OK;
        }
    return fail(p, "no rule", name, length);
}

/* The number of a key, made at its first use; -1 when there are too many or its number of alternatives differs. */
static int key_number(struct corpus_grammar *g, const char *name, size_t length, int count)
{
    for (int i = 0; i < g->key_count; i++)
        if (strlen(g->keys[i].name) == length && !memcmp(g->keys[i].name, name, length))
            return g->keys[i].count == count ? i : -1;
    if (g->key_count == GRAMMAR_KEYS || length >= GRAMMAR_NAME)
        return -1;
    memcpy(g->keys[g->key_count].name, name, length);
    g->keys[g->key_count].count = count;
    return g->key_count++;
}

static int parse_sequence(struct parser *p, bool nested, struct grammar_span *span);

static int parse_choice(struct parser *p, struct grammar_node *node)
{
    struct grammar_span spans[GRAMMAR_WAYS];
    int count = 0, key = -1;
    const char *name = ++p->at;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    bool keyed = length > 0 && name[length] == ':';
    if (keyed)
        p->at += length + 1;
    for (;;) {
        if (count == GRAMMAR_WAYS)
            return fail(p, "too many alternatives in", name, 10);
        if (parse_sequence(p, true, &spans[count++]))
            return p->err ? p->err->status : STATUS_BAD_INPUT;
        if (*p->at == ']')
            break;
        if (*p->at != '|')
            return fail(p, "a choice is not closed:", name, strnlen(name, 20));
        p->at++;
    }
    p->at++;
    if (keyed && (key = key_number(p->g, name, length, count)) < 0)
        return fail(p, "another number of alternatives (or too many keys) for key", name, length);
    memset(node, 0, sizeof *node);
    node->kind = keyed ? NODE_KEYED : NODE_CHOICE;
    node->instance = (uint8_t)(keyed ? key : 0);
    node->count = (uint16_t)count;
    node->at = (uint32_t)grammar_add_spans(p->g, spans, (size_t)count);
    return STATUS_OK;
}

/* Whether the text at p->at, inside the literal that began at `begin`, starts with a phrase that has synonyms: whole
 * words, with or without a capital. The longest one wins. */
static bool parse_synonym(struct parser *p, const char *begin, struct grammar_node *node)
{
    size_t longest = 0;
    for (size_t i = 0; i < p->g->synonym_count; i++) {
        const struct grammar_synonyms *row = &p->g->synonyms[i];
        const struct grammar_field *phrase = &p->g->fields[row->first];
        char first = phrase->text[0];
        bool capital = islower((unsigned char)first) && *p->at == toupper((unsigned char)first);
        if (phrase->length <= longest || (*p->at != first && !capital) ||
            strncmp(p->at + 1, phrase->text + 1, phrase->length - 1))
            continue;
        if (isalpha((unsigned char)first) && p->at > begin && isalpha((unsigned char)p->at[-1]))
            continue;
        if (isalpha((unsigned char)phrase->text[phrase->length - 1]) && isalpha((unsigned char)p->at[phrase->length]))
            continue;
        *node = (struct grammar_node){
            .kind = NODE_SYNONYM, .capital = capital, .count = (uint16_t)row->count, .at = (uint32_t)row->first};
        longest = phrase->length;
    }
    p->at += longest;
    return longest > 0;
}

/* Text up to the next bracket or the next phrase that has synonyms; that phrase when it comes first. */
static void parse_literal(struct parser *p, const char *begin, struct grammar_node *node)
{
    if (parse_synonym(p, begin, node))
        return;
    *node = (struct grammar_node){.kind = NODE_LITERAL, .text = p->at++};
    struct grammar_node ignored;
    for (;; p->at++) {
        const char *here = p->at;
        bool found = *here && !strchr("{}<>[]|\n", *here) && parse_synonym(p, begin, &ignored);
        p->at = here;
        if (found || !*here || strchr("{}<>[]|\n", *here))
            break;
    }
    node->at = (uint32_t)(p->at - node->text);
}

/* Parse up to the end, or inside a choice up to its '|' or ']', which is left. */
static int parse_sequence(struct parser *p, bool nested, struct grammar_span *span)
{
    struct grammar_node nodes[GRAMMAR_NODES];
    const char *begin = p->at;
    size_t count = 0;
    while (*p->at && !(nested && (*p->at == '|' || *p->at == ']'))) {
        struct grammar_node *node = &nodes[count];
        int status = STATUS_OK;
        if (++count == GRAMMAR_NODES)
            return fail(p, "too long:", p->rule, strlen(p->rule));
        if (*p->at == '{')
            status = parse_slot(p, node);
        else if (*p->at == '<')
            status = parse_rule_name(p, node);
        else if (*p->at == '[')
            status = parse_choice(p, node);
        else if (strchr("]|}>", *p->at))
            status = fail(p, "stray", p->at, 1);
        else if (*p->at == '\n')
            *node = (struct grammar_node){.kind = NODE_BREAK, .text = p->at++};
        else
            parse_literal(p, begin, node);
        if (status)
            return status;
    }
    *span = grammar_add_nodes(p->g, nodes, count);
    return STATUS_OK;
}

static int parse_rules(struct corpus_grammar *g, struct error *err)
{
    for (size_t i = 0; i < g->rule_count; i++) {
        struct grammar_rule *rule = &g->rules[i];
        struct grammar_span *spans = memory_alloc(rule->count, sizeof *spans);
        int status = STATUS_OK;
        if (!rule->count)
            status = error_set(err, STATUS_BAD_INPUT, "grammar: rule '%s': empty", rule->name);
        for (size_t k = 0; !status && k < rule->count; k++) {
            struct parser p = {g, rule->name, rule->source[k], err};
            status = parse_sequence(&p, false, &spans[k]);
        }
        if (!status)
            rule->first = (uint32_t)grammar_add_spans(g, spans, rule->count);
        free(spans);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* Bytes of the longest expansion of each kind; each fragment may turn an "a" before it into "an". */
static int longest_span(struct corpus_grammar *g, struct grammar_span span, size_t *longest, struct error *err);

static int longest_ways(struct corpus_grammar *g, uint32_t first, size_t count, size_t *longest, struct error *err)
{
    *longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        int status = longest_span(g, g->spans[first + i], &length, err);
        if (status)
            return status;
        *longest = length > *longest ? length : *longest;
    }
    return STATUS_OK;
}

static int longest_rule(struct corpus_grammar *g, struct grammar_rule *rule, size_t *longest, struct error *err)
{
    if (rule->open)
        return error_set(err, STATUS_BAD_INPUT, "grammar: rule '%s': recursive", rule->name);
    if (!rule->longest) {
        rule->open = true;
        int status = longest_ways(g, rule->first, rule->count, &rule->longest, err);
        rule->open = false;
        if (status)
            return status;
    }
    *longest = rule->longest;
    return STATUS_OK;
}

static size_t longest_field(const struct corpus_grammar *g, const struct grammar_node *node)
{
    const struct grammar_list *list = &g->lists[node->at];
    size_t longest = 0;
    for (int r = 0; r < list->records; r++) {
        size_t length = g->fields[list->first + (size_t)r * (size_t)list->width + node->count].length;
        longest = length > longest ? length : longest;
    }
    return longest + 1;
}

static size_t longest_synonym(const struct corpus_grammar *g, const struct grammar_node *node)
{
    size_t longest = 0;
    for (size_t i = node->at; i < node->at + (size_t)node->count; i++)
        longest = g->fields[i].length > longest ? g->fields[i].length : longest;
    return longest + 1;
}

static int longest_span(struct corpus_grammar *g, struct grammar_span span, size_t *longest, struct error *err)
{
    *longest = 0;
    for (uint32_t i = span.begin; i < span.end; i++) {
        const struct grammar_node *node = &g->nodes[i];
        size_t length = 2;
        int status = STATUS_OK;
        if (node->kind == NODE_LITERAL)
            length = node->at + 1;
        else if (node->kind == NODE_SLOT)
            length = longest_field(g, node);
        else if (node->kind == NODE_SYNONYM)
            length = longest_synonym(g, node);
        else if (node->kind == NODE_RULE)
            status = longest_rule(g, &g->rules[node->at], &length, err);
        else if (node->kind != NODE_BREAK)
            status = longest_ways(g, node->at, node->count, &length, err);
        if (status)
            return status;
        *longest += length;
    }
    return STATUS_OK;
}

struct corpus_grammar *corpus_grammar_create(const char *const *const *tables, struct error *err)
{
    struct corpus_grammar *g = memory_alloc(1, sizeof *g);
    int status = grammar_read_tables(g, tables, err);
    if (!status)
        status = parse_rules(g, err);
    for (size_t i = 0; !status && i < g->rule_count; i++) { /* all, so that no recursion hides in an unused one */
        size_t longest;
        status = longest_rule(g, &g->rules[i], &longest, err);
        if (!strcmp(g->rules[i].name, "story"))
            g->start = &g->rules[i];
    }
    if (!status && !g->start)
        status = error_set(err, STATUS_BAD_INPUT, "grammar: no rule 'story'");
    if (status) {
        corpus_grammar_destroy(g);
        return NULL;
    }
    return g;
}

size_t corpus_grammar_longest(const struct corpus_grammar *grammar)
{
    return grammar->start->longest;
}
