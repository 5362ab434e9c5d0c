/* Bytes of a text that arrives token by token, written so that no character is ever left half-printed. */
#ifndef TAPER_HARNESS_BASE_UTF8_STREAM_H
#define TAPER_HARNESS_BASE_UTF8_STREAM_H

#include <stddef.h>
#include <stdio.h>

struct utf8_stream {
    FILE *out;
    unsigned char held[4]; /* the beginning of a character whose end has not come */
    size_t count;
};

/* Write what is whole, keep an unfinished last character. Bytes that cannot begin or continue one pass as they are.
 * Returns 0, or -1 when out cannot be written. */
int utf8_stream_write(struct utf8_stream *s, const unsigned char *bytes, size_t length);

/* Write what is held, whole or not, and flush. */
int utf8_stream_end(struct utf8_stream *s);

#endif
