/* All words lie one after another in arrays indexed by position; a token is at the position of its first byte, and
 * links lead to its neighbours within the word. Each pair keeps its count and the positions where it began, in order;
 * a position may be out of date and is checked when its pair is merged. A heap holds the pairs by count; since the
 * count of a pair in it can only fall, an entry that is found out of date is put back lower. So a merge costs what it
 * touches. */
#include "core/data/bpe_train.h"

#include <stdlib.h>
#include <string.h>

#include "core/data/bpe_words.h"
#include "core/base/memory.h"

#define NOWHERE UINT32_MAX
#define DEAD    UINT32_MAX /* the symbol where a token was joined to the one before it */

enum { REPORT_EVERY = 256 };

struct pair {
    uint32_t left, right;
    int64_t count;
    uint32_t *places; /* [place_count], rising */
    uint32_t place_count, place_capacity;
};

struct entry {
    int64_t count; /* at least the pair's */
    uint32_t pair;
};

struct token {
    unsigned char *bytes;
    size_t length;
};

struct training {
    uint32_t *symbols, *next, *previous, *word_of; /* [positions] */
    int64_t *word_counts;
    uint32_t positions;
    struct pair *pairs;
    uint32_t pair_count, pair_capacity;
    uint32_t *table; /* pair index + 1 by hash of the pair, 0 for free */
    uint32_t table_mask;
    struct entry *heap;
    size_t heap_count, heap_capacity;
    struct token *tokens; /* by id: the bytes and the merges */
    struct tokenizer_merge *merges;
    uint32_t merge_count, merges_wanted;
};

/* ---- pairs ---- */

static uint32_t hash_pair(uint32_t left, uint32_t right)
{
    return (uint32_t)((((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u) >> 32);
}

static void grow_table(struct training *t)
{
    uint32_t size = t->table_mask ? 2 * (t->table_mask + 1) : 1 << 16;
    free(t->table);
    t->table = memory_alloc(size, sizeof *t->table);
    t->table_mask = size - 1;
    for (uint32_t p = 0; p < t->pair_count; p++) {
        uint32_t i = hash_pair(t->pairs[p].left, t->pairs[p].right) & t->table_mask;
        while (t->table[i])
            i = (i + 1) & t->table_mask;
        t->table[i] = p + 1;
    }
}

/* The index of a pair, made when it is new. */
static uint32_t find_pair(struct training *t, uint32_t left, uint32_t right)
{
    if (2 * (uint64_t)t->pair_count >= t->table_mask)
        grow_table(t);
    uint32_t i = hash_pair(left, right) & t->table_mask;
    for (; t->table[i]; i = (i + 1) & t->table_mask) {
        const struct pair *p = &t->pairs[t->table[i] - 1];
        if (p->left == left && p->right == right)
            return t->table[i] - 1;
    }
    if (t->pair_count == t->pair_capacity) {
        t->pair_capacity = t->pair_capacity ? 2 * t->pair_capacity : 4096;
        t->pairs = memory_resize(t->pairs, t->pair_capacity, sizeof *t->pairs);
    }
    t->pairs[t->pair_count] = (struct pair){.left = left, .right = right};
    t->table[i] = ++t->pair_count;
    return t->pair_count - 1;
}

/* The pair that begins at a position occurs `count` times more, and is found there. */
static void add_pair_at(struct training *t, uint32_t at, int64_t count)
{
    uint32_t index = find_pair(t, t->symbols[at], t->symbols[t->next[at]]); /* may move t->pairs */
    struct pair *p = &t->pairs[index];
    p->count += count;
    if (p->place_count == p->place_capacity) {
        p->place_capacity = p->place_capacity ? 2 * p->place_capacity : 2;
        p->places = memory_resize(p->places, p->place_capacity, sizeof *p->places);
    }
    p->places[p->place_count++] = at;
}

static void drop_pair(struct training *t, uint32_t left, uint32_t right, int64_t count)
{
    uint32_t index = find_pair(t, left, right);
    t->pairs[index].count -= count;
}

/* ---- the heap ---- */

static int compare_tokens(const struct token *a, const struct token *b)
{
    int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Whether a is to be merged before b: the higher count, then the greater pair of byte strings. */
static int before(const struct training *t, const struct entry *a, const struct entry *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    const struct pair *p = &t->pairs[a->pair], *q = &t->pairs[b->pair];
    int order = compare_tokens(&t->tokens[p->left], &t->tokens[q->left]);
    if (order == 0)
        order = compare_tokens(&t->tokens[p->right], &t->tokens[q->right]);
    return order > 0;
}

static void heap_push(struct training *t, uint32_t pair)
{
    struct entry e = {t->pairs[pair].count, pair};
    if (e.count < 2) /* never merged: its count cannot rise */
        return;
    if (t->heap_count == t->heap_capacity) {
        t->heap_capacity = t->heap_capacity ? 2 * t->heap_capacity : 4096;
        t->heap = memory_resize(t->heap, t->heap_capacity, sizeof *t->heap);
    }
    size_t i = t->heap_count++;
    for (; i > 0 && before(t, &e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = e;
}

static struct entry heap_pop(struct training *t)
{
    struct entry top = t->heap[0], last = t->heap[--t->heap_count];
    size_t i = 0, n = t->heap_count;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(t, &t->heap[child + 1], &t->heap[child]))
            child++;
        if (!before(t, &t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return top;
}

/* The pair to merge next, NOWHERE when none occurs twice. */
static uint32_t best_pair(struct training *t)
{
    while (t->heap_count) {
        struct entry e = heap_pop(t);
        if (t->pairs[e.pair].count == e.count)
            return e.pair;
        heap_push(t, e.pair);
    }
    return NOWHERE;
}

/* ---- merging ---- */

/* Join the tokens at `at` and after it, which are those of the pair being merged, into `id`. */
static void merge_at(struct training *t, uint32_t at, uint32_t left, uint32_t right, uint32_t id)
{
    uint32_t second = t->next[at], before_at = t->previous[at], after = t->next[second];
    int64_t count = t->word_counts[t->word_of[at]];
    if (before_at != NOWHERE)
        drop_pair(t, t->symbols[before_at], left, count);
    if (after != NOWHERE)
        drop_pair(t, right, t->symbols[after], count);
    t->symbols[at] = id;
    t->symbols[second] = DEAD;
    t->next[at] = after;
    if (after != NOWHERE)
        t->previous[after] = at;
    if (before_at != NOWHERE)
        add_pair_at(t, before_at, count);
    if (after != NOWHERE)
        add_pair_at(t, at, count);
}

static void name_token(struct training *t, uint32_t id, uint32_t left, uint32_t right)
{
    const struct token *a = &t->tokens[left], *b = &t->tokens[right];
    struct token *c = &t->tokens[id];
    c->length = a->length + b->length;
    c->bytes = memory_alloc(c->length, 1);
    memcpy(c->bytes, a->bytes, a->length);
    memcpy(c->bytes + a->length, b->bytes, b->length);
}

static void merge_pair(struct training *t, uint32_t index)
{
    /* The array of pairs grows while this one is merged: take what is needed out of it. */
    struct pair p = t->pairs[index];
    t->pairs[index].places = NULL;
    t->pairs[index].place_count = t->pairs[index].place_capacity = 0;
    uint32_t id = 256 + t->merge_count, first_new = t->pair_count;
    t->merges[t->merge_count++] = (struct tokenizer_merge){p.left, p.right, id};
    name_token(t, id, p.left, p.right);
    for (uint32_t i = 0; i < p.place_count; i++) {
        uint32_t at = p.places[i], second = t->symbols[at] == p.left ? t->next[at] : NOWHERE;
        if (second != NOWHERE && t->symbols[second] == p.right)
            merge_at(t, at, p.left, p.right, id);
    }
    free(p.places);
    t->pairs[index].count = 0;
    for (uint32_t i = first_new; i < t->pair_count; i++) /* every pair with the new token is new */
        heap_push(t, i);
}

/* ---- start and end ---- */

static void lay_word(struct training *t, const struct bpe_word *word, uint32_t index, const uint32_t *byte_id)
{
    t->word_counts[index] = (int64_t)word->count;
    uint32_t begin = t->positions;
    for (size_t i = 0; i < word->length; i++) {
        uint32_t at = t->positions++;
        t->symbols[at] = byte_id[word->bytes[i]];
        t->word_of[at] = index;
        t->previous[at] = i ? at - 1 : NOWHERE;
        t->next[at] = i + 1 < word->length ? at + 1 : NOWHERE;
    }
    for (uint32_t at = begin; at + 1 < t->positions; at++)
        add_pair_at(t, at, t->word_counts[index]);
}

static int lay_words(struct training *t, const struct bpe_words *words, struct error *err)
{
    size_t total = 0, count = 0;
    uint32_t byte_id[256];
    for (size_t i = 0; i < words->capacity; i++)
        total += words->words[i].bytes ? words->words[i].length : 0;
    if (total > INT32_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "the text's different words have %zu bytes; at most %d can be trained on", total, INT32_MAX);
    t->symbols = memory_alloc(total, sizeof *t->symbols);
    t->next = memory_alloc(total, sizeof *t->next);
    t->previous = memory_alloc(total, sizeof *t->previous);
    t->word_of = memory_alloc(total, sizeof *t->word_of);
    t->word_counts = memory_alloc(words->count, sizeof *t->word_counts);
    struct tokenizer *bytes = tokenizer_create(NULL, 0); /* GPT-2's numbering of the bytes */
    for (int byte = 0; byte < 256; byte++) {
        uint32_t id = byte_id[byte] = tokenizer_byte_id(bytes, (unsigned char)byte);
        t->tokens[id] = (struct token){memory_alloc(1, 1), 1};
        t->tokens[id].bytes[0] = (unsigned char)byte;
    }
    tokenizer_destroy(bytes);
    for (size_t i = 0; i < words->capacity; i++)
        if (words->words[i].bytes)
            lay_word(t, &words->words[i], (uint32_t)count++, byte_id);
    for (uint32_t i = 0; i < t->pair_count; i++)
        heap_push(t, i);
    return STATUS_OK;
}

static void training_fini(struct training *t)
{
    free(t->symbols);
    free(t->next);
    free(t->previous);
    free(t->word_of);
    free(t->word_counts);
    for (uint32_t i = 0; i < t->pair_count; i++)
        free(t->pairs[i].places);
    free(t->pairs);
    free(t->table);
    free(t->heap);
    for (uint32_t i = 0; t->tokens && i < 256 + t->merges_wanted; i++)
        free(t->tokens[i].bytes);
    free(t->tokens);
    free(t->merges);
}

static int merge_all(struct training *t, const struct progress *progress, struct error *err)
{
    while (t->merge_count < t->merges_wanted) {
        uint32_t best = best_pair(t);
        if (best == NOWHERE)
            return error_set(
                err, STATUS_BAD_INPUT,
                "the text supports a vocabulary of %u (no pair of tokens is left that occurs twice); %u wanted",
                TOKENIZER_LEAST_VOCAB + t->merge_count, TOKENIZER_LEAST_VOCAB + t->merges_wanted);
        merge_pair(t, best);
        if (progress && progress->report && t->merge_count % REPORT_EVERY == 0)
            progress->report(progress->arg, "merging", t->merge_count, t->merges_wanted);
    }
    return STATUS_OK;
}

int tokenizer_train(struct tokenizer **out, const struct text *text, uint32_t vocab, int threads,
                    const struct progress *progress, struct error *err)
{
    *out = NULL;
    if (vocab < TOKENIZER_LEAST_VOCAB || vocab > TOKENIZER_MOST_VOCAB)
        return error_set(err, STATUS_BAD_INPUT, "a vocabulary of %u: want %d to %d", vocab, TOKENIZER_LEAST_VOCAB,
                         TOKENIZER_MOST_VOCAB);
    struct training t = {.merges_wanted = vocab - TOKENIZER_LEAST_VOCAB};
    struct bpe_words words;
    int status = bpe_words_count(&words, text, threads, progress, err);
    if (!status) {
        t.tokens = memory_alloc(vocab, sizeof *t.tokens);
        t.merges = memory_alloc(t.merges_wanted, sizeof *t.merges);
        status = lay_words(&t, &words, err);
    }
    bpe_words_fini(&words);
    if (!status)
        status = merge_all(&t, progress, err);
    if (!status)
        *out = tokenizer_create(t.merges, t.merge_count);
    training_fini(&t);
    return status;
}
