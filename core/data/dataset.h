/* What a configuration's data keys stand for: the tokenizer, the training and validation tokens, and their digests.
 *
 * Everything made on the way (the built-in stories, a trained tokenizer, token files) is kept in the cache (cache.h)
 * under names that hold digests of what it came from, so that many runs can start at once and all see the same bytes. A
 * text is held against its digest when something is made of it, and what was made whenever it is opened (cache.h).
 */
#ifndef TAPER_CORE_DATA_DATASET_H
#define TAPER_CORE_DATA_DATASET_H

#include "core/base/digest.h"
#include "core/config/config.h"
#include "core/data/progress.h"
#include "core/data/tokenizer.h"
#include "core/data/tokens.h"

enum { DATASET_DIGEST = 65 }; /* hex of 32 bytes, and the terminator */

/* The digests that enter a run's identity (config_identity), without tokenizing anything. Corpus: what data.corpus and
 * data.valid name, as bytes (of the built-in stories: their version, seed and size). Tokenizer: of a directory, what
 * it does; auto: what it is trained from. Files are read once, and remembered by path, size, time and inode. Errors
 * name the key and the path. */
int dataset_digests(const struct config *cfg, char corpus[DATASET_DIGEST], char tokenizer[DATASET_DIGEST],
                    struct error *err);

/* The same, with word of how far the reading is; progress may be NULL. */
int dataset_digests_watched(const struct config *cfg, const struct progress *progress, char corpus[DATASET_DIGEST],
                            char tokenizer[DATASET_DIGEST], struct error *err);

struct dataset {
    char corpus_digest[DATASET_DIGEST], tokenizer_digest[DATASET_DIGEST]; /* as dataset_digests */
    struct tokenizer *tokenizer;
    struct tokens train, valid;                                /* more than model.context tokens, and at least 2 */
    char train_digest[DIGEST_TEXT], valid_digest[DIGEST_TEXT]; /* of all bytes of the files that are mapped */
};

/* Make or find all of it. `progress` may be NULL. STATUS_BAD_INPUT, naming the key: text missing, empty or shorter than
 * the context, fewer documents than a split needs, a tokenizer of more than model.vocab entries. */
int dataset_open(struct dataset *d, const struct config *cfg, int threads, const struct progress *progress,
                 struct error *err);
void dataset_close(struct dataset *d); /* fine on a zeroed one */

#endif
