/* Rows of a query held in memory: what tables and figures are made from.
 *
 * A number that is not finite comes as the store keeps it (the text NaN, Infinity, -Infinity) unless the query goes
 * through the *_numeric views. */
#ifndef TAPER_HARNESS_RESULTS_RESULT_ROWS_H
#define TAPER_HARNESS_RESULTS_RESULT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "harness/store/store.h"

struct result_value {
    enum { RESULT_NULL, RESULT_INTEGER, RESULT_REAL, RESULT_TEXT } type;
    double number; /* of an integer too; NaN for NULL and text */
    char *text;    /* of text */
};

struct result_rows {
    int columns, rows;
    char **names;
    struct result_value *values; /* [rows][columns] */
};

/* Run one statement; :sweep is bound where the statement has it (NULL binds NULL). `name` names the statement in
 * errors, which are those of store_rows.h. */
int result_query(struct result_rows *out, struct store *s, const char *name, const char *sql, const char *sweep,
                 struct error *err);
/* A text as an SQL literal, 'it''s'; NULL for NULL. On the heap. */
char *result_quote(const char *text);

void result_rows_fini(struct result_rows *rows); /* fine on a zeroed one */

int result_column(const struct result_rows *rows, const char *name); /* -1 when there is none */

/* column -1 gives NULL. */
const struct result_value *result_at(const struct result_rows *rows, int row, int column);
double result_number(const struct result_rows *rows, int row, int column);
const char *result_text(const struct result_rows *rows, int row, int column); /* NULL unless it is text */

bool result_equal(const struct result_value *a, const struct result_value *b);

#endif
