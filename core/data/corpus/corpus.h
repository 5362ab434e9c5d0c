/* The built-in corpus: short children's-story-like English of any size, from a seed.
 *
 * Story `index` of a seed is a function of (seed, index) alone (core/base/rng.h, RNG_CORPUS), so any part can be made
 * anywhere, in any order and on any number of threads, and a smaller corpus is a prefix of a larger one. A story is
 * printable ASCII in paragraphs with an empty line between them, and is followed by a newline and a line
 * "<|endoftext|>". What is said late depends on what was said early (who, which thing, where, how many, what was
 * promised or answered), so a model that uses a longer context reaches a lower loss. Two megabytes hold enough
 * different words for a byte-level vocabulary of 10,000, twenty for one of 16,000.
 *
 * The sentences and word lists are in corpus_words_*.c, corpus_scenes.c, corpus_asides.c and corpus_plots_*.c;
 * corpus_grammar.h says how they are written. Every function may be called from several threads at once. */
#ifndef TAPER_CORE_DATA_CORPUS_CORPUS_H
#define TAPER_CORE_DATA_CORPUS_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* Raise it whenever any byte of the output changes: it is part of what identifies a run. */
enum { CORPUS_VERSION = 2 };

enum {
    CORPUS_STORY_MAX = 8192, /* no story with its separator is longer, in bytes */
    CORPUS_WORDS_MIN = 100,  /* words of a story, as spaces and line ends part them */
    CORPUS_WORDS_MAX = 500,
};

#define CORPUS_SEPARATOR "\n<|endoftext|>\n" /* follows the last sentence of each story */

/* Receives text in order; it is not terminated by a NUL and always holds whole stories. Anything but STATUS_OK stops
 * the generator, which returns it. Called on the thread that called corpus_generate. */
typedef int corpus_sink(void *arg, const char *text, size_t length, struct error *err);

/* Send stories 0, 1, 2 ... of a seed until their total reaches `size` bytes (none for size 0; the last one is
 * whole, so the total may pass size by less than CORPUS_STORY_MAX). threads < 2 uses the calling thread alone. */
int corpus_generate(uint64_t seed, uint64_t size, int threads, corpus_sink *sink, void *arg, struct error *err);

/* Write one story and its separator to out, without a NUL. Returns its bytes, or 0 when `room` is under
 * CORPUS_STORY_MAX. */
size_t corpus_story(uint64_t seed, uint64_t index, char *out, size_t room);

/* The information put into a story, in bits: the sum of log2 of the number of ways at each choice made. Its mean is an
 * upper bound on the entropy of a story, and so says how low a loss could get: the best model needs at most this
 * many bits a story. */
double corpus_story_bits(uint64_t seed, uint64_t index);

#endif
