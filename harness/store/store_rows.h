/* The rows of a SELECT, for whoever asks the database something that the store has no function for.
 *
 *   struct store_rows *rows = NULL;
 *   bool found = false;
 *   int status = store_rows_open(&rows, s, "the sweeps", "SELECT name FROM sweep WHERE name > :from", err);
 *   store_rows_bind(rows, ":from", "a");
 *   while (!status && !(status = store_rows_next(rows, &found, err)) && found)
 *       puts(store_rows_at(rows, 0).text);
 *   store_rows_close(rows);
 *
 * Failures are told as the store tells its own, with what `name` says; store_trouble() holds for them too. */
#ifndef TAPER_HARNESS_STORE_STORE_ROWS_H
#define TAPER_HARNESS_STORE_STORE_ROWS_H

#include "harness/store/store.h"

struct store_rows;

struct store_value {
    enum {
        STORE_NULL,
        STORE_INTEGER,
        STORE_REAL,
        STORE_TEXT
    } type;           /* the database holds no blobs: one reads as NULL */
    int64_t integer;  /* of an integer; 0 otherwise */
    double number;    /* of an integer too; NaN otherwise */
    const char *text; /* of a text, good until the next row; NULL otherwise */
};

/* Prepare one statement that reads; any other is refused. On failure *out is NULL, which the other functions take:
 * binding and closing then do nothing. name: what is read, for errors; it must live as long as the rows. */
int store_rows_open(struct store_rows **out, struct store *s, const char *name, const char *sql, struct error *err);
void store_rows_close(struct store_rows *rows);

/* Bind a text (copied; NULL binds NULL) to a named parameter, where the statement has it. Before the first row. */
void store_rows_bind(struct store_rows *rows, const char *parameter, const char *text);

/* The next row; *found is false after the last. */
int store_rows_next(struct store_rows *rows, bool *found, struct error *err);

/* Columns from 0, known before the first row. */
int store_rows_columns(const struct store_rows *rows);
const char *store_rows_column(const struct store_rows *rows, int column);

/* A value of the row. */
struct store_value store_rows_at(const struct store_rows *rows, int column);

#endif
