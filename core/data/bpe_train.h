/* Training of a byte-level BPE vocabulary (Sennrich et al. 2016, on bytes as in GPT-2).
 *
 * The text is cut by pretokenize.h (on all threads) into word types with counts. Then, until the vocabulary is full:
 * of all pairs of adjacent tokens within words, weighted by the words' counts, the most frequent one is merged, from
 * the left in each word. Among pairs of equal count the greater one wins: the greater byte string of the first
 * token, then of the second (bytewise; a prefix is less). The result does not depend on the number of threads. */
#ifndef TAPER_CORE_DATA_BPE_TRAIN_H
#define TAPER_CORE_DATA_BPE_TRAIN_H

#include "core/data/progress.h"
#include "core/data/text.h"
#include "core/data/tokenizer.h"

/* vocab counts the 256 bytes, `<|endoftext|>` and the merges (TOKENIZER_LEAST_VOCAB..TOKENIZER_MOST_VOCAB).
 * STATUS_BAD_INPUT when the text supports fewer (no pair occurs twice any more): the error says how many. */
int tokenizer_train(struct tokenizer **out, const struct text *text, uint32_t vocab, int threads,
                    const struct progress *progress, struct error *err);

#endif
