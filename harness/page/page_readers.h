/* The page's own connections to the database: a few, read only, shared by the threads that answer. */
#ifndef TAPER_HARNESS_PAGE_PAGE_READERS_H
#define TAPER_HARNESS_PAGE_PAGE_READERS_H

#include "harness/results/result_sweep.h"

/* Of one thread between taking and giving back. */
struct page_reader {
    struct store *store;
    struct results from; /* of page_reader_prepare */
    int64_t version;     /* changes with whatever is committed to the database; compare for equality alone */
    /* below: the pool's own */
    struct page_reader *next;
    uint64_t inode;
    int64_t prepared; /* the version that `from` was prepared at; -1: not */
    bool chosen;      /* by a choice that is not the empty one */
};

struct page_readers;

struct page_readers *page_readers_create(const struct home *home); /* home outlives it */
void page_readers_destroy(struct page_readers *pool);              /* all given back; NULL is fine */

/* Wait for one that is free, open it where it is not yet (or the file is another by now), and look at the version.
 * STATUS_FAILED where none came free for ten seconds; otherwise those of store_open. */
int page_readers_take(struct page_readers *pool, struct page_reader **out, struct error *err);
void page_readers_give(struct page_readers *pool, struct page_reader *r); /* NULL is fine */

/* A text that is another whenever what is shown may have changed, and the same for all readers; on the heap. */
int page_reader_stamp(struct page_reader *r, char **stamp, struct error *err);

/* Make r->from of this sweep (NULL: all) and choice (NULL: everything); at once where it is so already. */
int page_reader_prepare(struct page_reader *r, const char *sweep, const struct result_choice *choice,
                        struct error *err);

#endif
