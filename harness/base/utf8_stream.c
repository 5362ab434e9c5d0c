#include "harness/base/utf8_stream.h"

#include <string.h>

/* Length of the character a byte begins, 1 for any that begins none. */
static size_t character_length(unsigned char byte)
{
    return byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
}

/* How many bytes at the end of a text begin a character without ending it. */
static size_t unfinished(const unsigned char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = bytes[length - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        return character_length(byte) > back ? back : 0;
    }
    return 0;
}

static int put(struct utf8_stream *s, const unsigned char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, s->out) == length ? 0 : -1;
}

int utf8_stream_write(struct utf8_stream *s, const unsigned char *bytes, size_t length)
{
    while (s->count && length) { /* go on with what is held, a byte at a time */
        s->held[s->count++] = *bytes++;
        length--;
        if (unfinished(s->held, s->count) == s->count && s->count < sizeof s->held)
            continue;
        /* Whole, or broken off: a byte that begins another character stays held. */
        size_t keep = unfinished(s->held, s->count);
        if (put(s, s->held, s->count - keep))
            return -1;
        memmove(s->held, s->held + s->count - keep, keep);
        s->count = keep;
    }
    size_t keep = s->count ? 0 : unfinished(bytes, length);
    if (put(s, bytes, length - keep))
        return -1;
    memcpy(s->held + s->count, bytes + length - keep, keep);
    s->count += keep;
    return 0;
}

int utf8_stream_end(struct utf8_stream *s)
{
    int failed = put(s, s->held, s->count);
    s->count = 0;
    return fflush(s->out) != 0 || failed ? -1 : 0;
}
