/* What the files of the tokenizer share; nobody else includes it. */
#ifndef TAPER_CORE_DATA_TOKENIZER_INTERNAL_H
#define TAPER_CORE_DATA_TOKENIZER_INTERNAL_H

#include "core/data/tokenizer.h"
#include "core/data/tokenizer_steps.h"

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
    struct tokenizer_steps *steps; /* NULL: GPT-2's own, and it can be written as GPT-2's two files */
    unsigned char digest[TOKENIZER_DIGEST_BYTES];
};

/* The table and the digest, from the rest. */
void tokenizer_finish(struct tokenizer *t);

/* The merge of two ids: its rank and, in *result, the id it makes; TOKENIZER_NO_RANK when they never merge. */
uint32_t tokenizer_find_pair(const struct tokenizer *t, uint32_t left, uint32_t right, uint32_t *result);

/* GPT-2's printable stand-in for a byte: a Unicode code point below 0x144. */
uint32_t tokenizer_byte_symbol(unsigned char byte);

/* The pieces of a stretch of text without added tokens, as tokenizer_encode (bpe_encode.c). */
int encoder_stretch(struct encoder *e, const unsigned char *bytes, size_t length, uint32_t *ids, size_t *count,
                    struct error *err);

/* A text through a tokenizer's own steps (encode_steps.c). */
int encode_with_steps(struct encoder *e, const struct tokenizer *t, const unsigned char *bytes, size_t length,
                      uint32_t *ids, size_t *count, struct error *err);

/* The entry that is this piece, for whole_pieces; UINT32_MAX for none. */
uint32_t tokenizer_find_whole(const struct tokenizer *t, const unsigned char *bytes, size_t length);

/* DIRECTORY/tokenizer.json, and the end of text from tokenizer_config.json (tokenizer_json.c). */
int tokenizer_json_load(struct tokenizer **out, const char *directory, struct error *err);
int tokenizer_json_save(const struct tokenizer *t, const char *directory, struct error *err);

/* Is it spelt as it is: a special or an added token? (The others are bytes.) */
bool tokenizer_is_named(const struct tokenizer *t, uint32_t id);

/* A token's bytes as GPT-2 shows them, on the heap. */
char *tokenizer_symbol(const struct tokenizer *t, uint32_t id);

/* The byte that a code point stands for, -1 for none. */
int tokenizer_byte_of_symbol(uint32_t code);

/* The byte of GPT-2's i-th vocabulary entry, i < 256: printable ones first. */
unsigned char tokenizer_byte_in_order(int i);

#endif
