/* The notes of one row of a table of results: what is missing, what is odd. */
#ifndef TAPER_HARNESS_RESULTS_TABLE_NOTES_H
#define TAPER_HARNESS_RESULTS_TABLE_NOTES_H

#include "harness/results/result_rows.h"
#include "harness/results/table_layout.h"

/* Of rows [begin, end), a run each: runs that are not done by their state; values that are missing or not finite;
 * outliers, which stay in the mean; runs without their pair; the query's own flags. Reads the columns state, seed and
 * flag where there are any, and those named by the layout's column. On the heap; NULL when there is nothing to say. */
char *table_notes(const struct result_rows *rows, int begin, int end, const struct layout_column *column);

#endif
