/* Token files: a text as ids, mapped to read. The layout is in docs/formats.md, "Token files".
 *
 * The ids of the documents follow one another in the text's order, each followed by the id of `<|endoftext|>` where
 * a separator followed it (text.h). Ids take 2 bytes when the vocabulary has at most 65,536 tokens, else 4. */
#ifndef TAPER_CORE_DATA_TOKENS_H
#define TAPER_CORE_DATA_TOKENS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/data/progress.h"
#include "core/data/text.h"
#include "core/data/tokenizer.h"
#include "core/base/file.h"

/* Read-only once open: any number of threads may use it. */
struct tokens {
    const uint16_t *narrow; /* count ids when width is 2, else NULL */
    const uint32_t *wide;   /* count ids when width is 4, else NULL */
    uint64_t count;
    uint32_t width, vocab, end_of_text;
    bool bare_end; /* as in struct text */
    unsigned char tokenizer_digest[TOKENIZER_DIGEST_BYTES], text_digest[TEXT_DIGEST_BYTES];
    struct file_map map; /* private */
};

/* Map a token file. STATUS_BAD_INPUT, naming the path, when it is missing, no token file, of another version, shorter
 * or longer than its header says, its header is damaged, or an id is not below vocab: every id is looked at, so that
 * whoever reads them later need not. tokens_close releases it (fine on a zeroed one). */
int tokens_open(struct tokens *tokens, const char *path, struct error *err);
void tokens_close(struct tokens *tokens);

/* The id at i < count. */
uint32_t tokens_get(const struct tokens *tokens, uint64_t i);

/* Copy the ids at [at, at + count) to out; the range must lie within the file's. */
void tokens_read(const struct tokens *tokens, uint64_t at, uint64_t count, int32_t *out);

/* STATUS_BAD_INPUT unless the file was written with this tokenizer; the error shows both digests. `path` is for the
 * error. */
int tokens_check_tokenizer(const struct tokens *tokens, const struct tokenizer *t, const char *path, struct error *err);

/* Encode a text on all threads and write the token file at path, whole or not at all. The bytes of the file do not
 * depend on the number of threads. *count (NULL to drop) says how many ids. */
int tokens_write(const char *path, const struct tokenizer *t, const struct text *text, int threads, uint64_t *count,
                 const struct progress *progress, struct error *err);

/* Write the text back, byte for byte as it was encoded (of a directory, the one text of text.h). `path` is for the
 * error. STATUS_BAD_INPUT as tokens_check_tokenizer; STATUS_FAILED when out cannot be written. */
int tokens_decode(const struct tokens *tokens, const struct tokenizer *t, const char *path, FILE *out,
                  struct error *err);

#endif
