/* Of the search, for the other files of the store: each inside a transaction. */
#ifndef TAPER_HARNESS_STORE_STORE_SEARCH_INTERNAL_H
#define TAPER_HARNESS_STORE_STORE_SEARCH_INTERNAL_H

#include "harness/store/store_search.h"

/* How a sweep's search pauses runs (spec_stop_json; "": it does not). Where that is not what it was, what was decided
 * is forgotten. */
int store_search_policy(struct store *s, const char *sweep, const char *stop, struct error *err);

/* Runs are wanted again or no more, of a sweep or one run (NULL: any): decide in their brackets, and pause those that
 * are queued and would end where they stand. anew: the sweep was submitted, and what it has paused and wants further
 * now is queued. */
int store_search_wanted(struct store *s, const char *sweep, const char *run, bool anew, struct error *err);

#endif
