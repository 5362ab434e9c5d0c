/* The runs a sweep would make, as a table: `taper run --dry-run`. */
#ifndef TAPER_HARNESS_VERBS_SPEC_PRINT_H
#define TAPER_HARNESS_VERBS_SPEC_PRINT_H

#include <stdio.h>

#include "harness/spec/spec.h"
#include "harness/store/store.h"
#include "harness/base/listing.h"

/* One row a run: its id (left out when digests is NULL), variant, and the value of every key that the grid or a
 * variant sets. With a store (may be NULL) also the state the run is in there, blank when it is new.
 * *doubles: the rows that are the run of an earlier row under the same variant's name; 0 without digests. */
int spec_print(const struct spec *spec, store_digests *digests, struct store *s, FILE *out, enum listing_format format,
               int64_t *doubles, struct error *err);

/* How many workers its runs are shared out to when none of them exists yet: packs of equal shape. */
int64_t spec_workers(const struct spec *spec);

/* What its search stops, and how many steps are left of all, a line; nothing when it stops none. */
void spec_print_stop(const struct spec *spec, FILE *out);

/* submit_check, with a line on standard error, when that is a terminal, that says how far the reading of the data is.
 */
int spec_check(const char *path, struct error *err);

#endif
