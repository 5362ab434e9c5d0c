/* Directories with all that is in them. Links are never followed: one inside is removed itself, not what it names. */
#ifndef TAPER_CORE_BASE_FILE_TREE_H
#define TAPER_CORE_BASE_FILE_TREE_H

#include <stdint.h>

#include "core/base/error.h"

/* Add the bytes on the disk of a file, or of a directory and all in it, to *bytes; a file with other names (hard links)
 * counts too. One that is not there has none. */
void file_tree_size(const char *path, int64_t *bytes);

/* Remove a file, or a directory and all in it; fine when it is not there. What was freed is added to *bytes (NULL: not
 * wanted), also on failure, which names what could not be removed and leaves the rest. */
int file_tree_remove(const char *path, int64_t *bytes, struct error *err);

#endif
