/* The pre-tokenizer of GPT-2: text is cut into pieces that merges never cross.
 *
 * The pattern (Radford et al. 2019, in the code released with it), with \s as Unicode's White_Space:
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * PCRE2 matches it (just-in-time compiled where the system allows); pieces that are decided by ASCII alone, which
 * English nearly always is, are found by a scanner that gives the same cut. Bytes that are not UTF-8 are no error:
 * a longest run of them is a piece of its own, and what lies between two runs is matched as a text by itself.
 * So the pieces, joined, are always the text. Which characters are letters and numbers is PCRE2's Unicode version. */
#ifndef TAPER_CORE_DATA_PRETOKENIZE_H
#define TAPER_CORE_DATA_PRETOKENIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* One a thread: it holds the position in one text. */
struct pretokenizer;

/* STATUS_FAILED when PCRE2 cannot compile the pattern (built without Unicode). Destroying NULL is fine. */
int pretokenizer_create(struct pretokenizer **out, struct error *err);
void pretokenizer_destroy(struct pretokenizer *p);

/* Leave every decision to PCRE2 (false by default): for the test that compares, and the bench. */
void pretokenizer_use_regex_only(struct pretokenizer *p, bool regex_only);

/* Start on `length` bytes, which the caller keeps until the last pretokenizer_next. */
void pretokenizer_start(struct pretokenizer *p, const unsigned char *bytes, size_t length);

/* The next piece, as [*begin, *end) in the bytes, never empty. Returns 1, 0 at the end of the text, or STATUS_FAILED
 * when PCRE2 fails. */
int pretokenizer_next(struct pretokenizer *p, size_t *begin, size_t *end, struct error *err);

/* The pattern, as PCRE2 takes it. */
const char *pretokenizer_gpt2_pattern(void);

/* A hash of a piece, for tables of them; the same on every little-endian machine. */
uint64_t pretokenizer_hash(const unsigned char *bytes, size_t length);

#endif
