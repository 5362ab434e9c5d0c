/* Reading text out of the data file of an R package (Rdata.rdb), without R.
 *
 * Such a file is a row of objects, each as its length in 4 bytes, big end first, and a zlib stream. An object that is a
 * character vector is, in R's XDR serialization (version 2 or 3): a header, 4 bytes of flags whose lowest byte is 16,
 * the count, and for each string flags (lowest byte 9), length (-1: NA) and bytes. */
#ifndef TAPER_CORE_DATA_RDATA_H
#define TAPER_CORE_DATA_RDATA_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { RDATA_OBJECT_MOST = 1 << 28 }; /* bytes of one object: what bounds a damaged length */

/* Called for every string of every vector, in the order of the file; bytes live until it returns. `vector` counts from
 * 0, `index` within it. An error ends the reading and is passed on. */
typedef int rdata_string(void *arg, size_t vector, size_t index, const char *bytes, size_t length, struct error *err);

/* Read all vectors. STATUS_BAD_INPUT, naming `path` and the byte of the object, when the file is damaged or holds
 * anything but character vectors. NA is passed on as the empty string. */
int rdata_read_strings(const unsigned char *bytes, size_t size, const char *path, rdata_string *string, void *arg,
                       struct error *err);

#endif
