/* What a search decides at its rungs (search.stop of a sweep): which of its runs go on, and which are paused.
 *
 * A run trains up to the first rung at which it is not kept yet, is evaluated and checkpointed there, and ends as
 * paused. It then counts at that rung, in its bracket (runs of one variant at one point of the grid, whatever their
 * samples and seeds). All of a bracket that reached the rung are ranked by the validation loss they had there, lower
 * first; what is not finite comes last, as does what diverged before it came so far; of equal losses the run that
 * stands first in the sweep is the better one. Of n ranked
 *   halving  the first floor(n * keep) are kept (asynchronous successive halving: Li et al. 2020, arXiv:1810.05934)
 *   median   the first ceil(n / 2), which lose no more than the median
 * whenever one arrives, and so a run that was paused may be kept later. A kept run is queued again, and goes on to its
 * next rung bit for bit as if it had not been paused. When nothing of a bracket is to come or done, the best of its
 * highest rung is kept all the same: one of each bracket is trained to its end.
 *
 * Each decision is a row of `decision`, made in the transaction that ends the attempt. It depends on the database
 * alone. A run that several sweeps hold goes as far as any of them wants it. */
#ifndef TAPER_HARNESS_STORE_STORE_SEARCH_H
#define TAPER_HARNESS_STORE_STORE_SEARCH_H

#include "harness/store/store.h"

/* The step a run is to be trained up to; 0: to its end. */
int store_search_until(struct store *s, const char *run, int64_t *until, struct error *err);

/* An attempt of the run has ended as `state`, or it was cancelled: decide in its brackets. *state: what it is then,
 * since a paused one may be queued again at once; NULL to drop. */
int store_search_decide(struct store *s, const char *run, enum run_state *state, struct error *err);

/* A paused run is to be trained to its end all the same. STATUS_BAD_INPUT where it is not paused. */
int store_search_resume(struct store *s, const char *run, struct error *err);

#endif
