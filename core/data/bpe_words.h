/* The word types of a text and how often each occurs: what a BPE vocabulary is trained on. */
#ifndef TAPER_CORE_DATA_BPE_WORDS_H
#define TAPER_CORE_DATA_BPE_WORDS_H

#include "core/data/progress.h"
#include "core/data/text.h"

struct bpe_word {
    const unsigned char *bytes; /* its first occurrence in some document; NULL in a free place of the table */
    size_t length;
    uint64_t hash, count;
};

/* A hash table; walk words[0..capacity-1] and pass over those without bytes. The order is of no meaning. */
struct bpe_words {
    struct bpe_word *words;
    size_t capacity, count; /* capacity is a power of 2 */
};

/* Count the pieces (pretokenize.h) of every document on `threads` threads. The words point into the text, which must
 * stay open. STATUS_FAILED when PCRE2 fails. bpe_words_fini releases it (fine on a zeroed one). */
int bpe_words_count(struct bpe_words *words, const struct text *text, int threads, const struct progress *progress,
                    struct error *err);
void bpe_words_fini(struct bpe_words *words);

#endif
