/* The layout of a table of results: results/tables/ID.json, beside its query ID.sql.
 *
 *   {"title": "...", "key": ["size", "variant"],     rows of the query that agree in these (and follow one another)
 *                                                     make one row of the table
 *    "columns": [{"name": "val_loss",                 key in JSON, stem of the CSV headings
 *                 "head": "validation loss",          heading for people
 *                 "kind": "mean",                     below
 *                 "value": "val_loss", "of": "...",   columns of the query; value is name unless given
 *                 "digits": 4, "style": "percent"}],  plain, percent (sign shown), times, exponent
 *    "once": [["corpus", "corpus"]],                  said once under the table: label and column of the query
 *    "query": "bench", "kind": "decode",              the query is another file, bench.sql, and :kind in it this;
 * ID.sql "notes": ["..."], "empty": "what it takes to fill it", "all": true}    all: over every sweep unless one is
 * named
 *
 * A query with a column grp (the group of a run, result_groups.h) gets a column for every key that differs within the
 * sweep, behind the column size.
 *
 * Kinds: text, number, time (us UTC), duration (us) of the first row; mean +- sample std; change: mean with its 95%
 * t-interval; max; ratio: sum of value over sum of of; count: values that there are, of `of` or the number of rows;
 * notes: what is missing or odd, from the columns state, seed, flag, the value, its raw text (`of`) and its pair. */
#ifndef TAPER_HARNESS_RESULTS_TABLE_LAYOUT_H
#define TAPER_HARNESS_RESULTS_TABLE_LAYOUT_H

#include <stdbool.h>

#include <jansson.h>

#include "core/base/error.h"

enum column_kind {
    COLUMN_TEXT,
    COLUMN_NUMBER,
    COLUMN_TIME,
    COLUMN_DURATION,
    COLUMN_MEAN,
    COLUMN_CHANGE,
    COLUMN_MAX,
    COLUMN_RATIO,
    COLUMN_COUNT,
    COLUMN_NOTES,
};

enum column_style { STYLE_PLAIN, STYLE_PERCENT, STYLE_TIMES, STYLE_EXPONENT };

struct layout_column {
    const char *name, *head, *value, *of, *pair; /* of, pair: NULL when not given */
    enum column_kind kind;
    enum column_style style;
    int digits;
    int group_key; /* 1 + which key of the groups it shows; 0: none */
};

struct table_layout {
    json_t *json; /* owns the texts */
    const char *id, *title, *empty;
    const char *query, *bind; /* stem of the query's file and what :kind is in it; NULL: ID and nothing */
    const char **keys, **notes, **once_labels, **once_columns;
    int key_count, note_count, once_count, column_count;
    struct layout_column *columns;
    bool all;
};

/* From text; `name` names it in errors (STATUS_FAILED: a layout is a part of the program). */
int table_layout_load(struct table_layout *out, const char *id, const char *name, const char *text, struct error *err);
/* Put columns for the keys in, behind the column size (else first); the names are kept, not copied. */
void table_layout_add_keys(struct table_layout *layout, char *const *keys, int count);
void table_layout_fini(struct table_layout *layout); /* fine on a zeroed one */

#endif
