/* What tokenizer.c, tokenizer_file.c and bpe_encode.c share; nobody else includes it. */
#ifndef TAPER_CORE_DATA_TOKENIZER_INTERNAL_H
#define TAPER_CORE_DATA_TOKENIZER_INTERNAL_H

#include "core/data/tokenizer.h"

struct tokenizer_token {
    const unsigned char *bytes; /* into the arena */
    size_t length;
};

/* An open-addressing table from a pair of ids to its merge; a place is free when rank is TOKENIZER_NO_RANK. */
struct tokenizer_pair {
    uint32_t left, right, result, rank;
};

#define TOKENIZER_NO_RANK UINT32_MAX

struct tokenizer {
    uint32_t vocab, end_of_text, merge_count;
    uint32_t byte_id[256];
    struct tokenizer_token *tokens; /* [vocab] */
    struct tokenizer_merge *merges; /* [merge_count], by rank */
    unsigned char *arena;           /* the bytes of every token */
    struct tokenizer_pair *pairs;   /* [pair_mask + 1] */
    uint32_t pair_mask;
    unsigned char digest[TOKENIZER_DIGEST_BYTES];
};

/* The table and the digest, from the rest. */
void tokenizer_finish(struct tokenizer *t);

/* The merge of two ids: its rank and, in *result, the id it makes; TOKENIZER_NO_RANK when they never merge. */
uint32_t tokenizer_find_pair(const struct tokenizer *t, uint32_t left, uint32_t right, uint32_t *result);

/* GPT-2's printable stand-in for a byte: a Unicode code point below 0x144. */
uint32_t tokenizer_byte_symbol(unsigned char byte);

/* The byte of GPT-2's i-th vocabulary entry, i < 256: printable ones first. */
unsigned char tokenizer_byte_in_order(int i);

#endif
