/* Public data sets, downloaded into a cache with the curl command (novels: with apt-get, novels.h) and checked.
 *
 * The cache is TAPER_CACHE, else $XDG_CACHE_HOME/taper, else ~/.cache/taper. A file is downloaded to FILE.part; an
 * interrupted download continues there the next time, also by another process; when it is complete and its checksum
 * is right it is renamed to FILE. One process at a time downloads a file (the .part is locked).
 *
 * What is checked: a SHA-256 the caller gives must be the file's. Without one, what comes from the set's own address
 * must have the size and the SHA-256 that it was published with, where they are known (struct fetch_file). Of anything
 * else it is only asked that it can be what was wanted: no page, no archive, not less than FETCH_LEAST bytes, not more
 * than FETCH_MOST (a portal answers everything with a page). The SHA-256 of what was taken is recorded in FILE.sha256
 * (in the format of sha256sum), and every later use compares with it. */
#ifndef TAPER_CORE_DATA_FETCH_H
#define TAPER_CORE_DATA_FETCH_H

#include "core/data/progress.h"
#include "core/base/error.h"

/* The files of a data set, as fetch_find gives them: static data. */
struct fetch_file {
    const char *split; /* "train" or "valid" */
    const char *name;  /* in the cache, and after the base in the URL */
    long long size;    /* as published, bytes; 0: not known */
    const char *sha256;
};

enum { FETCH_LEAST = 4096 };
#define FETCH_MOST (64ll << 30)

struct fetch_download;

struct fetch_set {
    const char *name;        /* "tinystories" */
    const char *base;        /* the URL the names follow, without a slash at the end */
    const char *environment; /* the variable that replaces base */
    int (*receive)(struct fetch_download *d, struct error *err); /* how base is read; another one always by curl */
    const struct fetch_file *files;
    int count;
};

#define FETCH_NAMES "tinystories, novels"

/* NULL when there is no set of that name. */
const struct fetch_set *fetch_find(const char *name);

/* The cache directory of a set, on the heap. STATUS_BAD_INPUT when no variable says where (no HOME). */
int fetch_directory(const struct fetch_set *set, char **out, struct error *err);

/* Make sure the file is in the cache, complete and right; *path is on the heap. `base` replaces the set's URL (NULL:
 * its environment variable, else its own). `sha256` is 64 hex digits or NULL. A file that is there is only checked.
 * STATUS_BAD_INPUT when a checksum differs (a wrong download is kept as FILE.part.bad, to look at) or sha256 is no
 * checksum; STATUS_FAILED with curl's own words when it is missing or fails (what was received stays). */
int fetch_get(const struct fetch_set *set, const struct fetch_file *file, const char *base, const char *sha256,
              char **path, const struct progress *progress, struct error *err);

/* The path of a file that was fetched, checked against its recorded sum. STATUS_BAD_INPUT when it is not there (the
 * error says how to fetch it), has no recorded sum, or differs. */
int fetch_use(const struct fetch_set *set, const struct fetch_file *file, char **path, struct error *err);

#endif
