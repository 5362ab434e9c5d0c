/* Encoding. A piece is looked up in a cache; one that is not there is merged: a short one by scanning for the lowest
 * rank, a long one with a heap over a linked list, which keeps a megabyte without a space at n log n. */
#include <stdlib.h>
#include <string.h>

#include "core/data/pretokenize.h"
#include "core/data/text_cuts.h"
#include "core/data/tokenizer_internal.h"
#include "core/base/memory.h"

enum {
    SLOT_BYTES = 30, /* the longest piece that is cached */
    SLOT_IDS = 8,    /* and the most ids */
    SLOTS = 1 << 16,
    SCAN_MOST = 48, /* pieces up to here are merged by scanning */
};

/* One cache line. A later piece of the same hash takes the place. */
struct slot {
    uint8_t length, count; /* length 0: free */
    unsigned char bytes[SLOT_BYTES];
    uint32_t ids[SLOT_IDS];
};

/* A possible merge of the tokens at `at` and after it; stale when they are no longer left and right. */
struct candidate {
    uint32_t rank, result;
    uint32_t left, right;
    size_t at;
};

struct encoder {
    const struct tokenizer *t;
    struct pretokenizer *pre;
    struct text_cuts *cuts; /* in place of pre, for patterns of the tokenizer's own */
    struct slot *cache;
    /* The state of a long piece, kept for the next one. */
    uint32_t *symbols;
    size_t *next, *previous, symbol_capacity;
    struct candidate *heap;
    size_t heap_count, heap_capacity;
};

#define NOWHERE SIZE_MAX

int encoder_create(struct encoder **out, const struct tokenizer *t, struct error *err)
{
    struct encoder *e = memory_alloc(1, sizeof *e);
    int status = t->steps && t->steps->own_pattern
                     ? text_cuts_create(&e->cuts, t->steps->patterns, t->steps->pattern_count, err)
                     : pretokenizer_create(&e->pre, err);
    *out = NULL;
    if (status) {
        free(e);
        return status;
    }
    e->t = t;
    e->cache = memory_alloc(SLOTS, sizeof *e->cache);
    *out = e;
    return STATUS_OK;
}

void encoder_destroy(struct encoder *e)
{
    if (!e)
        return;
    pretokenizer_destroy(e->pre);
    text_cuts_destroy(e->cuts);
    free(e->cache);
    free(e->symbols);
    free(e->next);
    free(e->previous);
    free(e->heap);
    free(e);
}

/* Merge n <= SCAN_MOST tokens in place; returns how many are left. */
static size_t merge_short(const struct tokenizer *t, uint32_t *ids, size_t n)
{
    uint32_t ranks[SCAN_MOST], results[SCAN_MOST];
    for (size_t i = 0; i + 1 < n; i++)
        ranks[i] = tokenizer_find_pair(t, ids[i], ids[i + 1], &results[i]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (ranks[i] < ranks[best])
                best = i;
        if (ranks[best] == TOKENIZER_NO_RANK)
            break;
        ids[best] = results[best];
        n--;
        memmove(ids + best + 1, ids + best + 2, (n - best - 1) * sizeof *ids);
        if (best + 1 < n) {
            memmove(ranks + best + 1, ranks + best + 2, (n - best - 2) * sizeof *ranks);
            memmove(results + best + 1, results + best + 2, (n - best - 2) * sizeof *results);
            ranks[best] = tokenizer_find_pair(t, ids[best], ids[best + 1], &results[best]);
        }
        if (best > 0)
            ranks[best - 1] = tokenizer_find_pair(t, ids[best - 1], ids[best], &results[best - 1]);
    }
    return n;
}

static int before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(struct encoder *e, struct candidate c)
{
    if (e->heap_count == e->heap_capacity) {
        e->heap_capacity = e->heap_capacity ? 2 * e->heap_capacity : 1024;
        e->heap = memory_resize(e->heap, e->heap_capacity, sizeof *e->heap);
    }
    size_t i = e->heap_count++;
    for (; i > 0 && before(&c, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = c;
}

static struct candidate heap_pop(struct encoder *e)
{
    struct candidate top = e->heap[0], last = e->heap[--e->heap_count];
    size_t i = 0, n = e->heap_count;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (!before(&e->heap[child], &last))
            break;
        e->heap[i] = e->heap[child];
    }
    e->heap[i] = last;
    return top;
}

static void consider(struct encoder *e, size_t at)
{
    if (at == NOWHERE || e->next[at] == NOWHERE)
        return;
    struct candidate c = {.left = e->symbols[at], .right = e->symbols[e->next[at]], .at = at};
    c.rank = tokenizer_find_pair(e->t, c.left, c.right, &c.result);
    if (c.rank != TOKENIZER_NO_RANK)
        heap_push(e, c);
}

static void reserve_symbols(struct encoder *e, size_t n)
{
    if (n <= e->symbol_capacity)
        return;
    e->symbol_capacity = n;
    e->symbols = memory_resize(e->symbols, n, sizeof *e->symbols);
    e->next = memory_resize(e->next, n, sizeof *e->next);
    e->previous = memory_resize(e->previous, n, sizeof *e->previous);
}

/* Merge the n tokens of a long piece in place. A position that was joined to the one before it is marked by a
 * symbol that no token has, so that what the heap still says about it is known to be stale. */
static size_t merge_long(struct encoder *e, uint32_t *ids, size_t n)
{
    reserve_symbols(e, n);
    for (size_t i = 0; i < n; i++) {
        e->symbols[i] = ids[i];
        e->previous[i] = i ? i - 1 : NOWHERE;
        e->next[i] = i + 1 < n ? i + 1 : NOWHERE;
    }
    e->heap_count = 0;
    for (size_t i = 0; i + 1 < n; i++)
        consider(e, i);
    while (e->heap_count) {
        struct candidate c = heap_pop(e);
        size_t right = e->next[c.at];
        if (e->symbols[c.at] != c.left || right == NOWHERE || e->symbols[right] != c.right)
            continue;
        e->symbols[c.at] = c.result;
        e->symbols[right] = UINT32_MAX;
        e->next[c.at] = e->next[right];
        if (e->next[c.at] != NOWHERE)
            e->previous[e->next[c.at]] = c.at;
        consider(e, e->previous[c.at]);
        consider(e, c.at);
    }
    size_t count = 0;
    for (size_t i = 0; i != NOWHERE; i = e->next[i])
        ids[count++] = e->symbols[i];
    return count;
}

/* A piece that is an entry as it stands, where the tokenizer looks for that first. */
static size_t encode_whole(const struct tokenizer *t, const unsigned char *bytes, size_t length, uint32_t *ids)
{
    if (!t->steps || !t->steps->whole_pieces)
        return 0;
    ids[0] = tokenizer_find_whole(t, bytes, length);
    return ids[0] != UINT32_MAX;
}

static size_t encode_piece(struct encoder *e, const unsigned char *bytes, size_t length, uint32_t *ids)
{
    struct slot *slot = NULL;
    if (length <= SLOT_BYTES) {
        slot = &e->cache[pretokenizer_hash(bytes, length) % SLOTS];
        if (slot->length == length && memcmp(slot->bytes, bytes, length) == 0) {
            for (uint8_t i = 0; i < slot->count; i++)
                ids[i] = slot->ids[i];
            return slot->count;
        }
    }
    size_t count = encode_whole(e->t, bytes, length, ids);
    for (size_t i = 0; !count && i < length; i++)
        ids[i] = e->t->byte_id[bytes[i]];
    if (!count)
        count = length <= SCAN_MOST ? merge_short(e->t, ids, length) : merge_long(e, ids, length);
    if (slot && count <= SLOT_IDS) {
        slot->length = (uint8_t)length;
        slot->count = (uint8_t)count;
        memcpy(slot->bytes, bytes, length);
        memcpy(slot->ids, ids, count * sizeof *ids);
    }
    return count;
}

static int encode_cuts(struct encoder *e, const unsigned char *bytes, size_t length, uint32_t *ids, size_t *count,
                       struct error *err)
{
    size_t pieces = 0, begin = 0;
    const size_t *ends = text_cuts_make(e->cuts, bytes, length, &pieces, err);
    if (!ends)
        return STATUS_FAILED;
    for (size_t i = 0; i < pieces; i++) {
        *count += encode_piece(e, bytes + begin, ends[i] - begin, ids + *count);
        begin = ends[i];
    }
    return STATUS_OK;
}

int encoder_stretch(struct encoder *e, const unsigned char *bytes, size_t length, uint32_t *ids, size_t *count,
                    struct error *err)
{
    *count = 0;
    if (e->cuts)
        return encode_cuts(e, bytes, length, ids, count, err);
    pretokenizer_start(e->pre, bytes, length);
    size_t begin, end;
    int more;
    while ((more = pretokenizer_next(e->pre, &begin, &end, err)) > 0)
        *count += encode_piece(e, bytes + begin, end - begin, ids + *count);
    return more;
}

int tokenizer_encode(struct encoder *e, const void *bytes, size_t length, uint32_t *ids, size_t *count,
                     struct error *err)
{
    return e->t->steps ? encode_with_steps(e, e->t, bytes, length, ids, count, err)
                       : encoder_stretch(e, bytes, length, ids, count, err);
}
