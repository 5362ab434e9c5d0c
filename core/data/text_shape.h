/* Files that are no plain text, told by how they begin. */
#ifndef TAPER_CORE_DATA_TEXT_SHAPE_H
#define TAPER_CORE_DATA_TEXT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* STATUS_BAD_INPUT, saying what the file at `path` is and what to do with it, when these bytes of it begin as a
 * compressed or binary file or a JSON array, as text in UTF-16 or UTF-32, or with a byte-order mark. */
int text_shape_check(const unsigned char *bytes, size_t length, const char *path, struct error *err);

/* Are its first lines JSON objects? */
bool text_shape_is_json_lines(const unsigned char *bytes, size_t length);

#endif
