/* Training text: a plain file, or a directory of them, cut into documents.
 *
 * Bytes are bytes: no encoding is assumed, NUL included; but a file that begins as a compressed, binary, UTF-16 or
 * marked one is refused (text_shape.h), and JSON lines are when no field of theirs is asked for. A separator is a line
 * of `<|endoftext|>`, with blanks (space, tab) around it and a carriage return behind it or not, between newlines (\n)
 * or the ends of the file; the same characters inside a longer line are ordinary text, of which the first place is
 * told (text_warning). A document is what lies between two separator lines, and its last newline, the one before the
 * separator (\r\n where the separator's own line ends so), is not part of it. Only a document made of nothing but
 * newlines (or of nothing) keeps them all, so that from the documents the file follows byte for byte, when its
 * separators have neither blanks nor carriage returns:
 *
 *   after a document, a separator is written as "\n<|endoftext|>\n" when the document has a byte other than \n, and
 *   as "<|endoftext|>\n" when it has none.
 *
 * What follows the last separator is a document too, unless it is empty, and it is taken as it stands (closed is
 * false). A last separator without a newline after it is remembered (bare_end).
 *
 * A directory is read recursively; names that begin with a dot are left out, links are followed, what is no regular
 * file is passed over. The files come in the order of a walk that sorts each directory's names bytewise, and count
 * as one text: a separator line is thought between two files where the first does not end with one (after a newline,
 * where the first does not end with that). Every file is mapped while the text is open, so a directory is limited to
 * some 65,000 files (vm.max_map_count). */
#ifndef TAPER_CORE_DATA_TEXT_H
#define TAPER_CORE_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/data/progress.h"

#define TEXT_SEPARATOR "<|endoftext|>"

enum { TEXT_DIGEST_BYTES = 32 };

struct text_document {
    const unsigned char *bytes; /* into a map owned by the text; not terminated */
    size_t length;              /* may be 0 */
};

/* Read-only once open: any number of threads may use it. */
struct text {
    const struct text_document *documents;
    size_t count;
    uint64_t bytes;           /* sum of the documents' lengths */
    bool closed;              /* a separator follows the last document, as one follows every other */
    bool bare_end;            /* closed, and the text ends right after that separator, without a newline */
    struct text_files *files; /* private: the maps */
};

/* Open a file or a directory. STATUS_BAD_INPUT, naming the path, when it is missing, unreadable, no plain text, or
 * holds no byte; nothing is left open then. text_close releases all (fine on a zeroed one). */
int text_open(struct text *text, const char *path, struct error *err);

/* The same of files of JSON lines: `field` of each line is a document, each followed by a separator. field NULL:
 * text_open. Errors name file and line. */
int text_open_field(struct text *text, const char *path, const char *field, struct error *err);

/* What is odd about the text and no error, with file and line; NULL when nothing is. Owned by the text. */
const char *text_warning(const struct text *text);

/* Is a line of these bytes a separator? */
bool text_has_separator(const unsigned char *bytes, size_t length);
void text_close(struct text *text);

/* BLAKE2b-256 of the text: of a file, of its bytes (`b2sum -l 256 FILE` prints the same); of a directory, of the one
 * text described above. Reads everything: about a second a gigabyte; progress may be NULL. */
void text_digest(const struct text *text, const struct progress *progress, unsigned char digest[TEXT_DIGEST_BYTES]);

/* Cut documents [from, text->count) for `threads` threads: bounds[i]..bounds[i+1] are thread i's, contiguous, of
 * about equal bytes, and together the longest run of documents of at most `most` bytes (at least one document).
 * bounds has threads + 1 places; bounds[threads] is where the next call starts. */
void text_split(const struct text *text, size_t from, uint64_t most, int threads, size_t *bounds);

#endif
