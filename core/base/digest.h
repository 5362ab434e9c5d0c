/* Digests of whole contents, by which a file that was damaged or edited is told from what was written.
 *
 * XXH3 of 128 bits (libxxhash): as fast as memory is read, so a digest can be made and checked every time. It finds
 * damage and edits, not forgery; what is named by its content (runs, corpora) is named by BLAKE2b. */
#ifndef TAPER_CORE_BASE_DIGEST_H
#define TAPER_CORE_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define DIGEST_PREFIX "xxh128:"
#define DIGEST_BLANK  DIGEST_PREFIX "00000000000000000000000000000000" /* where one is to stand */

enum { DIGEST_TEXT = sizeof DIGEST_BLANK }; /* the prefix, 32 hex digits and the terminator */

struct digest {
    void *state;
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t size);
void digest_end(struct digest *d, char out[DIGEST_TEXT]); /* releases d */

/* Of a file, as `xxhsum -H2 FILE` prints it behind the prefix. STATUS_BAD_INPUT when it cannot be read. */
int digest_file(const char *path, char out[DIGEST_TEXT], struct error *err);

/* Has the text the form of a digest? NULL has not. */
bool digest_is(const char *text);

#endif
