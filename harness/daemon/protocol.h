/* The socket protocol: one JSON object a line, in UTF-8, ended by a newline; docs/formats.md describes it.
 *
 *   request  {"v":1,"id":7,"do":"cancel","run":"0123456789ab"}
 *   reply    {"v":1,"id":7,"ok":true,...}  or  {"v":1,"id":7,"ok":false,"status":-2,"error":"..."}
 *
 * id is any JSON value of the client's, given back. A line longer than PROTOCOL_LINE_MOST ends the connection; one that
 * is no request is answered with an error. Nothing here does any input or output. */
#ifndef TAPER_HARNESS_DAEMON_PROTOCOL_H
#define TAPER_HARNESS_DAEMON_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "core/base/error.h"

enum { PROTOCOL_VERSION = 1, PROTOCOL_LINE_MOST = 4 << 20 };

/* Lines out of a stream of bytes. Zeroed to begin with. */
struct protocol_reader {
    char *bytes;
    size_t used, room, taken, scanned;
};

/* Take in bytes. Returns STATUS_OK, or STATUS_BAD_INPUT when a line is too long (nothing more can be read then). */
int protocol_feed(struct protocol_reader *r, const char *bytes, size_t size, struct error *err);

/* The next whole line without its newline (nor a carriage return before it), valid until the next feed; false when
 * there is none. */
bool protocol_line(struct protocol_reader *r, const char **line, size_t *size);

void protocol_fini(struct protocol_reader *r);

/* Understand a request: an object of this version with a "do". *request is a new reference, also set on failure when
 * the line was an object at all, so that its id can be given back. */
int protocol_parse(const char *line, size_t size, json_t **request, struct error *err);

/* A reply as a line with its newline, on the heap. `body` (taken; may be NULL) holds what else the reply says. */
char *protocol_reply(const json_t *request, json_t *body);
char *protocol_error(const json_t *request, const struct error *err);

/* A request as a line, on the heap. `body` is taken. */
char *protocol_request(const char *what, json_t *body);

/* Read a reply: STATUS_OK and the object (a new reference), or the error it carries. */
int protocol_parse_reply(const char *line, size_t size, json_t **reply, struct error *err);

#endif
