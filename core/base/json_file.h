/* JSON files that hold one object. */
#ifndef TAPER_CORE_BASE_JSON_FILE_H
#define TAPER_CORE_BASE_JSON_FILE_H

#include <jansson.h>

#include "core/base/error.h"

/* A new reference, NULL on errors. STATUS_BAD_INPUT, naming the file and the line, when it is no JSON, has a key twice,
 * or is no object. */
int json_file_read(const char *path, json_t **out, struct error *err);

/* Written whole or not at all, with json_dumps' flags and a newline at its end. */
int json_file_write(const char *path, const json_t *object, size_t flags, struct error *err);

#endif
