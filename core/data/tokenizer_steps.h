/* What a tokenizer does besides merging, where that is not what GPT-2's does: read from a tokenizer.json. Every step is
 * understood or named in an error; none is passed over. Shared by the files of the tokenizer; nobody else includes it.
 *
 * A text goes through them in this order: added tokens are found (never special ones: a text cannot forge them), what
 * lies between is put into Unicode's form C, gets a blank in front, and is cut by the patterns, each cutting what the
 * one before left. */
#ifndef TAPER_CORE_DATA_TOKENIZER_STEPS_H
#define TAPER_CORE_DATA_TOKENIZER_STEPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/faults.h"

struct tokenizer_added {
    uint32_t id;
    bool special;    /* not found in text */
    bool normalized; /* found after form C, not before */
};

struct tokenizer_steps {
    bool nfc, prefix_space;
    bool whole_pieces; /* a piece that is an entry is that entry, merges or not */
    bool own_pattern;  /* the patterns are not GPT-2's one */
    char **patterns;   /* [pattern_count], for PCRE2 */
    int pattern_count; /* 0 with own_pattern: text is not cut */
    struct tokenizer_added *added;
    uint32_t added_count;
    uint32_t *before; /* [before_count]: the ids in front of every text */
    uint32_t before_count;
    uint32_t *whole, whole_mask; /* of whole_pieces: a table from bytes to ids, UINT32_MAX where free */
    json_t *source;              /* the parts of tokenizer.json that say all this, to be written again */
};

/* Read them from a tokenizer.json (but for its vocabulary and merges). Faults name the file as `name`. */
void tokenizer_steps_read(struct tokenizer_steps *out, const json_t *object, const char *name, struct faults *f);

/* Is it what GPT-2 does? (Then only an added token can be a difference.) */
bool tokenizer_steps_are_plain(const struct tokenizer_steps *s);

void tokenizer_steps_destroy(struct tokenizer_steps *s); /* NULL is fine; frees s itself */

#endif
