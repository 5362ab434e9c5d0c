/* The cache directory: what can be made again (generated text, tokenizers, token files) or fetched again.
 *
 * TAPER_CACHE, else $XDG_CACHE_HOME/taper, else ~/.cache/taper. Entries have names that hold the digest of what they
 * were made from, are written whole or not at all, and never change: anybody may delete them at any time. */
#ifndef TAPER_CORE_DATA_CACHE_H
#define TAPER_CORE_DATA_CACHE_H

#include "core/base/error.h"

/* The directory, on the heap; not made yet. STATUS_BAD_INPUT when no variable says where (no HOME). */
int cache_directory(char **out, struct error *err);

/* The path of an entry, its directory made; on the heap. */
int cache_path(const char *name, char **out, struct error *err);

/* Make entry `name` with make(arg, path) unless it is there. Processes that want the same entry at once wait for the
 * first (NAME.lock). A file is held against the digest in NAME.xxh128 every time (at the speed of memory), and made
 * again, with a warning, where it is another or has none; a directory is not. make writes `path` whole or not at all.
 * The path is on the heap. */
int cache_entry(const char *name, int (*make)(void *arg, const char *path, struct error *err), void *arg, char **out,
                struct error *err);

#endif
