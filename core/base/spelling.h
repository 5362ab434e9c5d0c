/* How near two words are, for "did you mean ...?". */
#ifndef TAPER_CORE_BASE_SPELLING_H
#define TAPER_CORE_BASE_SPELLING_H

/* What is taken as a misspelling differs in fewer places than this. */
enum { SPELLING_FAR = 4 };

/* The fewest letters to insert, remove or replace that make one word of the other; of words that are SPELLING_FAR apart
 * by their lengths alone it is that, and those of more than 64 bytes are never near. */
int spelling_distance(const char *a, const char *b);

#endif
