/* Patterns of other programs' pre-tokenizers. They are written for Oniguruma (Ruby's syntax); PCRE2 reads most of it
 * alike, and some of it as something else. So a pattern is read construct by construct: what means the same in both is
 * kept, what PCRE2 spells otherwise is respelled, and the rest is refused. */
#ifndef TAPER_CORE_DATA_SPLIT_PATTERN_H
#define TAPER_CORE_DATA_SPLIT_PATTERN_H

#include <stddef.h>

/* Unicode's White_Space, for a class: PCRE2's own \s also takes U+180E. */
#define SPLIT_SPACES                                                                                                   \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

enum { SPLIT_WHY = 96 };

/* The pattern for PCRE2 (PCRE2_UTF, without PCRE2_UCP), on the heap; NULL, with `why` saying which construct has no
 * counterpart, when it is refused. Whether PCRE2 compiles the result is the caller's to see. */
char *split_pattern_translate(const char *pattern, char why[SPLIT_WHY]);

/* A pattern that matches exactly this text, on the heap. */
char *split_pattern_literal(const char *text);

#endif
