/* A row a run: its state, seed, losses and, of one sweep, the keys that differ. */
#ifndef TAPER_HARNESS_RESULTS_RUN_LIST_H
#define TAPER_HARNESS_RESULTS_RUN_LIST_H

#include "harness/base/listing.h"
#include "harness/results/result_sweep.h"

/* The runs that `from` is prepared for. Columns: run, sweep (of all sweeps only), variant, size (where it differs), a
 * column a key that differs, seed, state, step, steps, loss, val_loss, why. A key is NULL where a run stands for
 * several of its values, as a baseline does. */
int run_list_make(struct result_rows *out, struct results *from, struct error *err);

/* Print rows; columns: of a terminal (listing_fit). STATUS_FAILED when `out` cannot be written. */
int result_rows_print(const struct result_rows *rows, FILE *out, enum listing_format format, int columns,
                      struct error *err);

/* A value as the next cell of a listing. */
void result_value_put(struct listing *t, const struct result_value *v);

#endif
