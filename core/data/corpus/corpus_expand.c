/* Expanding a compiled grammar: draws the choices, keeps what the story has fixed, mends spaces, capitals and a/an. */
#include <string.h>

#include "core/data/corpus/corpus_grammar_internal.h"

enum { UNSET = 0xff, UNSET_RECORD = 0xffff };

struct expansion {
    const struct corpus_grammar *g;
    const struct rng_stream *stream;
    uint32_t words[4], drawn; /* words drawn so far */
    double ways;
    char *out, *at;
    uint8_t keys[GRAMMAR_KEYS];
    uint16_t records[GRAMMAR_LISTS][GRAMMAR_INSTANCES];
};

static uint32_t draw(struct expansion *x, uint32_t count)
{
    if (x->drawn % 4 == 0)
        rng_block(x->stream, x->drawn / 4, x->words);
    uint32_t word = x->words[x->drawn++ % 4];
    x->ways *= count;
    return (uint32_t)((uint64_t)word * count >> 32);
}

/* The k-th last character written; a newline before the first. */
static char last(const struct expansion *x, ptrdiff_t k)
{
    return x->at - x->out >= k ? x->at[-k] : '\n';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool starts_with(const char *text, size_t length, const char *start)
{
    size_t n = strlen(start);
    return length >= n && !memcmp(text, start, n);
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Whether a word takes "an": by its sound, for the words that the lists may hold. */
static bool wants_an(const char *text, size_t length)
{
    static const char *const silent[] = {"hour", "hones", "honor", "heir"};
    static const char *const glides[] = {"one", "once", "use", "usu", "uni", "uk", "eu", "ewe"};
    for (size_t i = 0; text[0] == 'h' && i < sizeof silent / sizeof silent[0]; i++)
        if (starts_with(text, length, silent[i]))
            return true;
    for (size_t i = 0; i < sizeof glides / sizeof glides[0]; i++)
        if (starts_with(text, length, glides[i]))
            return false;
    return is_one_of(text[0], "aeiou");
}

static bool is_sentence_start(const struct expansion *x)
{
    char p = last(x, 1), q = last(x, 2);
    if (p == '\n')
        return true;
    if (p == '"')
        return (q == ' ' && last(x, 3) != ',') || q == '\n'; /* speech may go on: he said, "and now ..." */
    return p == ' ' && (q == '.' || q == '!' || q == '?' || (q == '"' && last(x, 3) == '.'));
}

static void write_text(struct expansion *x, const char *text, size_t length, bool capital)
{
    char before = last(x, 1);
    if (length && text[0] == ' ' && (before == ' ' || before == '\n'))
        text++, length--;
    if (!length)
        return;
    if (before == ' ' && strchr(".,!?", text[0])) {
        x->at--;
    } else if (text[0] >= 'a' && text[0] <= 'z') {
        if (before == ' ' && (last(x, 2) == 'a' || last(x, 2) == 'A') && !is_letter(last(x, 3)) &&
            wants_an(text, length)) {
            x->at[-1] = 'n';
            *x->at++ = ' ';
        } else if (before == ' ' && last(x, 2) == 'n' && (last(x, 3) == 'a' || last(x, 3) == 'A') &&
                   !is_letter(last(x, 4)) && !wants_an(text, length)) {
            *(--x->at - 1) = ' ';
        }
        capital = capital || is_sentence_start(x);
    }
    memcpy(x->at, text, length);
    if (capital && *x->at >= 'a' && *x->at <= 'z')
        *x->at = (char)(*x->at - 'a' + 'A');
    x->at += length;
}

static void write_break(struct expansion *x)
{
    while (x->at > x->out && (x->at[-1] == ' ' || x->at[-1] == '\n'))
        x->at--;
    if (x->at > x->out) {
        *x->at++ = '\n';
        *x->at++ = '\n';
    }
}

/* The record of a list that this story uses, drawn at the first mention; the others of the list are taken. */
static uint32_t record_of(struct expansion *x, const struct grammar_node *node)
{
    uint16_t *records = x->records[node->at];
    if (node->instance == GRAMMAR_FRESH)
        return draw(x, (uint32_t)x->g->lists[node->at].records);
    if (records[node->instance] != UNSET_RECORD)
        return records[node->instance];
    const struct grammar_list *list = &x->g->lists[node->at];
    uint16_t record = (uint16_t)draw(x, (uint32_t)list->records);
    for (int i = 0; i < GRAMMAR_INSTANCES; i++)
        if (records[i] == record) { /* try the next one, against all of them again */
            record = (uint16_t)((record + 1) % list->records);
            i = -1;
        }
    return records[node->instance] = record;
}

static void expand_span(struct expansion *x, struct grammar_span span)
{
    const struct corpus_grammar *g = x->g;
    for (const struct grammar_node *node = g->nodes + span.begin; node < g->nodes + span.end; node++) {
        switch (node->kind) {
        case NODE_LITERAL:
            write_text(x, node->text, node->at, false);
            break;
        case NODE_BREAK:
            write_break(x);
            break;
        case NODE_SLOT: {
            const struct grammar_list *list = &g->lists[node->at];
            const struct grammar_field *f =
                &g->fields[list->first + (size_t)record_of(x, node) * (size_t)list->width + node->count];
            write_text(x, f->text, f->length, node->capital);
            break;
        }
        case NODE_SYNONYM: {
            const struct grammar_field *f = &g->fields[node->at + draw(x, node->count)];
            write_text(x, f->text, f->length, node->capital);
            break;
        }
        case NODE_RULE: {
            const struct grammar_rule *rule = &g->rules[node->at];
            expand_span(x, g->spans[rule->first + draw(x, (uint32_t)rule->count)]);
            break;
        }
        case NODE_CHOICE:
            expand_span(x, g->spans[node->at + draw(x, node->count)]);
            break;
        default: /* NODE_KEYED */
            if (x->keys[node->instance] == UNSET)
                x->keys[node->instance] = (uint8_t)draw(x, node->count);
            expand_span(x, g->spans[node->at + x->keys[node->instance]]);
            break;
        }
    }
}

size_t corpus_grammar_expand(const struct corpus_grammar *grammar, const struct rng_stream *stream, uint32_t attempt,
                             char *out, double *ways)
{
    struct expansion x = {.g = grammar, .stream = stream, .drawn = attempt << 16, .ways = 1, .out = out, .at = out};
    memset(x.keys, UNSET, sizeof x.keys);
    memset(x.records, UNSET, sizeof x.records);
    expand_span(&x, grammar->spans[grammar->start->first + draw(&x, (uint32_t)grammar->start->count)]);
    while (x.at > x.out && (x.at[-1] == ' ' || x.at[-1] == '\n'))
        x.at--;
    *ways = x.ways;
    return (size_t)(x.at - x.out);
}
