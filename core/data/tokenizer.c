#include "core/data/tokenizer.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/text.h"
#include "core/data/tokenizer_internal.h"
#include "core/base/memory.h"

/* The bytes GPT-2 shows as themselves (Latin-1); the others get the code points from 256 on, in order. */
static bool shown_as_itself(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

uint32_t tokenizer_byte_symbol(unsigned char byte)
{
    if (shown_as_itself(byte))
        return byte;
    uint32_t symbol = 256;
    for (int b = 0; b < byte; b++)
        symbol += !shown_as_itself(b);
    return symbol;
}

int tokenizer_byte_of_symbol(uint32_t code)
{
    if (code < 256)
        return shown_as_itself((int)code) ? (int)code : -1;
    for (int byte = 0; byte < 256; byte++)
        if (!shown_as_itself(byte) && code-- == 256)
            return byte;
    return -1;
}

unsigned char tokenizer_byte_in_order(int i)
{
    for (int pass = 0; pass < 2; pass++)
        for (int byte = 0; byte < 256; byte++)
            if (shown_as_itself(byte) == (pass == 0) && i-- == 0)
                return (unsigned char)byte;
    return 0;
}

static uint32_t hash_pair(uint32_t left, uint32_t right)
{
    uint64_t key = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(key >> 32);
}

uint32_t tokenizer_find_pair(const struct tokenizer *t, uint32_t left, uint32_t right, uint32_t *result)
{
    for (uint32_t i = hash_pair(left, right) & t->pair_mask;; i = (i + 1) & t->pair_mask) {
        const struct tokenizer_pair *p = &t->pairs[i];
        if (p->rank == TOKENIZER_NO_RANK || (p->left == left && p->right == right)) {
            *result = p->result;
            return p->rank;
        }
    }
}

static void fill_pairs(struct tokenizer *t)
{
    uint32_t size = 16;
    while (size < 2 * (uint64_t)t->merge_count)
        size *= 2;
    t->pair_mask = size - 1;
    t->pairs = memory_alloc(size, sizeof *t->pairs);
    for (uint32_t i = 0; i < size; i++)
        t->pairs[i].rank = TOKENIZER_NO_RANK;
    for (uint32_t rank = 0; rank < t->merge_count; rank++) {
        const struct tokenizer_merge *m = &t->merges[rank];
        uint32_t i = hash_pair(m->left, m->right) & t->pair_mask;
        while (t->pairs[i].rank != TOKENIZER_NO_RANK)
            i = (i + 1) & t->pair_mask;
        t->pairs[i] = (struct tokenizer_pair){m->left, m->right, m->result, rank};
    }
}

static void hash_number(crypto_generichash_state *state, uint32_t value)
{
    unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 24)};
    crypto_generichash_update(state, bytes, sizeof bytes);
}

static void fill_digest(struct tokenizer *t)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof t->digest);
    hash_number(&state, t->vocab);
    hash_number(&state, t->end_of_text);
    hash_number(&state, t->merge_count);
    for (uint32_t id = 0; id < t->vocab; id++) {
        hash_number(&state, (uint32_t)t->tokens[id].length);
        crypto_generichash_update(&state, t->tokens[id].bytes, t->tokens[id].length);
    }
    for (uint32_t i = 0; i < t->merge_count; i++) {
        hash_number(&state, t->merges[i].left);
        hash_number(&state, t->merges[i].right);
    }
    if (t->steps && !tokenizer_steps_are_plain(t->steps)) {
        char *text = json_dumps(t->steps->source, JSON_COMPACT | JSON_SORT_KEYS);
        crypto_generichash_update(&state, (const unsigned char *)text, text ? strlen(text) : 0);
        free(text);
    }
    crypto_generichash_final(&state, t->digest, sizeof t->digest);
}

void tokenizer_finish(struct tokenizer *t)
{
    fill_pairs(t);
    fill_digest(t);
}

struct tokenizer *tokenizer_create(const struct tokenizer_merge *merges, uint32_t count)
{
    struct tokenizer *t = memory_alloc(1, sizeof *t);
    t->vocab = 256 + count + 1;
    t->end_of_text = t->vocab - 1;
    t->merge_count = count;
    t->tokens = memory_alloc(t->vocab, sizeof *t->tokens);
    t->merges = memory_alloc(count, sizeof *t->merges);
    size_t total = 256 + strlen(TEXT_SEPARATOR);
    for (uint32_t id = 0; id < 256; id++)
        t->tokens[id].length = 1;
    for (uint32_t i = 0; i < count; i++) {
        t->merges[i] = (struct tokenizer_merge){merges[i].left, merges[i].right, 256 + i};
        t->tokens[256 + i].length = t->tokens[merges[i].left].length + t->tokens[merges[i].right].length;
        total += t->tokens[256 + i].length;
    }
    unsigned char *to = t->arena = memory_alloc(total, 1);
    for (uint32_t id = 0; id < 256; id++) {
        unsigned char byte = tokenizer_byte_in_order((int)id);
        t->byte_id[byte] = id;
        t->tokens[id].bytes = to;
        *to++ = byte;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tokenizer_token *left = &t->tokens[merges[i].left], *right = &t->tokens[merges[i].right];
        t->tokens[256 + i].bytes = to;
        memcpy(to, left->bytes, left->length);
        memcpy(to + left->length, right->bytes, right->length);
        to += left->length + right->length;
    }
    t->tokens[t->end_of_text] = (struct tokenizer_token){to, strlen(TEXT_SEPARATOR)};
    memcpy(to, TEXT_SEPARATOR, strlen(TEXT_SEPARATOR));
    tokenizer_finish(t);
    return t;
}

void tokenizer_destroy(struct tokenizer *t)
{
    if (!t)
        return;
    free(t->tokens);
    free(t->merges);
    free(t->arena);
    free(t->pairs);
    tokenizer_steps_destroy(t->steps);
    free(t);
}

uint32_t tokenizer_vocab_size(const struct tokenizer *t)
{
    return t->vocab;
}

uint32_t tokenizer_end_of_text(const struct tokenizer *t)
{
    return t->end_of_text;
}

const uint32_t *tokenizer_before(const struct tokenizer *t, size_t *count)
{
    *count = t->steps ? t->steps->before_count : 0;
    return t->steps ? t->steps->before : NULL;
}

bool tokenizer_is_foreign(const struct tokenizer *t)
{
    return t->steps != NULL;
}

bool tokenizer_prefixes_blank(const struct tokenizer *t)
{
    return t->steps && t->steps->prefix_space;
}

char *tokenizer_name_of_end(const struct tokenizer *t)
{
    return tokenizer_symbol(t, t->end_of_text);
}

size_t tokenizer_room(const struct tokenizer *t, size_t length)
{
    /* Form C makes no character more than three times as long; a blank may stand in front of every stretch. */
    if (!t->steps)
        return length;
    return (t->steps->nfc ? 3 : 1) * length + (t->steps->prefix_space ? length + 1 : 0) + t->steps->before_count;
}

bool tokenizer_is_named(const struct tokenizer *t, uint32_t id)
{
    for (uint32_t i = 0; t->steps && i < t->steps->added_count; i++)
        if (t->steps->added[i].id == id)
            return true;
    return id == t->end_of_text;
}

char *tokenizer_symbol(const struct tokenizer *t, uint32_t id)
{
    const struct tokenizer_token *token = &t->tokens[id];
    char *text = memory_alloc(2 * token->length + 1, 1), *to = text;
    if (tokenizer_is_named(t, id)) {
        memcpy(text, token->bytes, token->length);
        return text;
    }
    for (size_t i = 0; i < token->length; i++) {
        uint32_t code = tokenizer_byte_symbol(token->bytes[i]);
        if (code >= 0x80) {
            *to++ = (char)(0xc0 | code >> 6);
            code = 0x80 | (code & 0x3f);
        }
        *to++ = (char)code;
    }
    return text;
}

uint32_t tokenizer_byte_id(const struct tokenizer *t, unsigned char byte)
{
    return t->byte_id[byte];
}

const struct tokenizer_merge *tokenizer_merges(const struct tokenizer *t, uint32_t *count)
{
    *count = t->merge_count;
    return t->merges;
}

const unsigned char *tokenizer_decode_bytes(const struct tokenizer *t, uint32_t id, size_t *length)
{
    if (id >= t->vocab) {
        *length = 0;
        return NULL;
    }
    *length = t->tokens[id].length;
    return t->tokens[id].bytes;
}

const unsigned char *tokenizer_digest(const struct tokenizer *t)
{
    return t->digest;
}
