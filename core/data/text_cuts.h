/* Text cut into pieces by patterns of a tokenizer's own (tokenizer_steps.h), where pretokenize.h is GPT-2's one.
 *
 * Each pattern in turn finds its matches in each piece that the ones before left, and the piece is cut where a match
 * begins and where it ends. Bytes that are not UTF-8 are pieces of their own, as there. */
#ifndef TAPER_CORE_DATA_TEXT_CUTS_H
#define TAPER_CORE_DATA_TEXT_CUTS_H

#include <stddef.h>

#include "core/base/error.h"

/* One a thread. */
struct text_cuts;

/* STATUS_FAILED when PCRE2 does not compile a pattern. Destroying NULL is fine. */
int text_cuts_create(struct text_cuts **out, char *const *patterns, int count, struct error *err);
void text_cuts_destroy(struct text_cuts *c);

/* Where the pieces of these bytes end, ascending, *count of them (0 for no bytes); the array is c's until the next
 * call. STATUS_FAILED when PCRE2 fails, NULL then. */
const size_t *text_cuts_make(struct text_cuts *c, const unsigned char *bytes, size_t length, size_t *count,
                             struct error *err);

/* STATUS_BAD_INPUT with PCRE2's words when it does not compile. */
int text_cuts_check_pattern(const char *pattern, struct error *err);

#endif
