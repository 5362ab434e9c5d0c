/* What a configuration's data keys stand for: the tokenizer, the training and validation tokens, and their digests.
 *
 * Made once and cached on disk (TAPER_CACHE, else $XDG_CACHE_HOME/taper, else ~/.cache/taper) under names that hold the
 * digests, written whole or not at all, so that many runs can start at once and all see the same bytes. */
#ifndef TAPER_CORE_DATA_DATASET_H
#define TAPER_CORE_DATA_DATASET_H

#include "core/config.h"

enum { DATASET_DIGEST = 65 }; /* hex of 32 bytes, and the terminator */

/* The digests that enter a run's identity (config_identity), without tokenizing anything: of the corpus' bytes and the
 * split, and of the tokenizer (what it is trained from, when auto). Reads the text once; results are remembered by
 * (path, size, mtime). Errors name the key and the path. */
int dataset_digests(const struct config *cfg, char corpus[DATASET_DIGEST], char tokenizer[DATASET_DIGEST],
                    struct error *err);

#endif
