/* A training that is done, done again. Asked for (store_retry), the run is queued like any other and keeps its rows,
 * which tables go on showing. Before its first attempt since then starts, its directory is emptied (scheduler_start.c):
 * until that moment a cancel takes the wish back, and the run is done as before. The first step row of such an attempt
 * takes the place of all rows of the attempts before, in the transaction that stores it; at the latest that happens
 * when the run is done. An attempt that fails before its first row leaves the old rows. */
#ifndef TAPER_HARNESS_STORE_STORE_REDO_H
#define TAPER_HARNESS_STORE_STORE_REDO_H

#include "harness/store/store.h"

/* *clear: the run is to start afresh, and what its directory holds is of the training before. */
int store_redo_must_clear(struct store *s, const char *run, bool *clear, struct error *err);

/* That directory is empty now: its journal will be read from the start, as another one. */
int store_redo_cleared(struct store *s, const char *run, struct error *err);

#endif
