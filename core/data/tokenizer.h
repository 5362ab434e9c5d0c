/* Byte-level BPE as in GPT-2: a vocabulary of byte strings, made of the 256 bytes by merges, and `<|endoftext|>`.
 *
 * Encoding cuts the text by pretokenize.h and, within each piece, joins the adjacent pair whose merge comes first,
 * leftmost first, until none applies. Any bytes encode, and decode to the same bytes.
 *
 * On disk (docs/formats.md, "Tokenizer files") a tokenizer is GPT-2's two files, vocab.json and merges.txt; one of
 * another program may also normalize, cut, and number differently, which its tokenizer.json says. */
#ifndef TAPER_CORE_DATA_TOKENIZER_H
#define TAPER_CORE_DATA_TOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum {
    TOKENIZER_DIGEST_BYTES = 32,
    TOKENIZER_LEAST_VOCAB = 257, /* the bytes and <|endoftext|> */
    TOKENIZER_MOST_VOCAB = 1 << 20,
};

/* Immutable once made: any number of threads may use it. */
struct tokenizer;

/* A merge: two earlier tokens become a third. */
struct tokenizer_merge {
    uint32_t left, right, result;
};

/* A tokenizer with GPT-2's numbering: the 256 bytes in GPT-2's order (printable ones first) are 0..255, merge i
 * makes 256 + i, `<|endoftext|>` is last. Only left and right of the merges are read; each must be below 256 + i.
 * Dies only when memory is out. The trainer's last step. */
struct tokenizer *tokenizer_create(const struct tokenizer_merge *merges, uint32_t count);

/* Load DIRECTORY/tokenizer.json where there is one (tokenizer_from_json), else vocab.json and merges.txt. Of these
 * every defect is STATUS_BAD_INPUT naming file and line or entry: a missing file, no JSON, an id that is no integer,
 * used twice or beyond the number of entries, a character that stands for no byte, a missing byte or `<|endoftext|>`, a
 * merge of symbols not made before, of a result not in the vocabulary or made twice, an entry that nothing makes. Ids
 * may be in any order. */
int tokenizer_load(struct tokenizer **out, const char *directory, struct error *err);

/* From the object of a tokenizer.json, errors naming it as `name`. What it does besides GPT-2's byte-level BPE is
 * understood (form C, a blank in front, patterns and digits that cut, entries that need no merges, added tokens, tokens
 * in front of a text) or refused by its name. end_of_text: the token that ends a document, NULL for `<|endoftext|>`. */
int tokenizer_from_json(struct tokenizer **out, const json_t *object, const char *name, const char *end_of_text,
                        struct error *err);

/* Write the two files (or tokenizer.json and tokenizer_config.json, where two do not say all), in a directory that is
 * made when it is not there. Both are written before either replaces an older one. */
int tokenizer_save(const struct tokenizer *t, const char *directory, struct error *err);

void tokenizer_destroy(struct tokenizer *t); /* NULL is fine */

uint32_t tokenizer_vocab_size(const struct tokenizer *t);
uint32_t tokenizer_end_of_text(const struct tokenizer *t);

/* The ids that stand in front of every text, *count of them (mostly 0); owned by t. tokenizer_encode puts them there.
 */
const uint32_t *tokenizer_before(const struct tokenizer *t, size_t *count);

/* Does it take more than GPT-2's two files to write it? */
bool tokenizer_is_foreign(const struct tokenizer *t);

/* Does it put a blank in front of a text? */
bool tokenizer_prefixes_blank(const struct tokenizer *t);

/* The token that ends a text, as it is spelt; on the heap. */
char *tokenizer_name_of_end(const struct tokenizer *t);

/* The most ids that a text of this many bytes becomes. */
size_t tokenizer_room(const struct tokenizer *t, size_t length);

/* The id of a single byte. */
uint32_t tokenizer_byte_id(const struct tokenizer *t, unsigned char byte);

/* The merges in order, *count of them; owned by t. */
const struct tokenizer_merge *tokenizer_merges(const struct tokenizer *t, uint32_t *count);

/* The bytes of a token, *length of them, owned by t, not terminated; NULL when id is not in the vocabulary.
 * `<|endoftext|>` and other special tokens give their names. */
const unsigned char *tokenizer_decode_bytes(const struct tokenizer *t, uint32_t id, size_t *length);

/* BLAKE2b-256 of what the tokenizer does (tokens, merges, end of text), whatever the layout of its files; owned by t.
 * The bytes hashed are in docs/formats.md. */
const unsigned char *tokenizer_digest(const struct tokenizer *t);

/* The working state of one thread that encodes: the pre-tokenizer, and a cache from pieces to ids (about 4 MiB).
 * It borrows t. STATUS_FAILED only as pretokenizer_create. Destroying NULL is fine. */
struct encoder;
int encoder_create(struct encoder **out, const struct tokenizer *t, struct error *err);
void encoder_destroy(struct encoder *e);

/* Encode length bytes of one document as ordinary text: `<|endoftext|>` has no meaning here (text.h finds it).
 * ids has room for `length` ids, which always suffice; *count says how many were set. Time is O(n log n) in the
 * longest piece. STATUS_FAILED only when PCRE2 fails. */
int tokenizer_encode(struct encoder *e, const void *bytes, size_t length, uint32_t *ids, size_t *count,
                     struct error *err);

#endif
