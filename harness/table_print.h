/* Tables for people and for scripts: aligned text, CSV (RFC 4180 but for lines that end in \n) or JSON (array of
 * objects).
 *
 * Real numbers are printed with the fewest digits that read back as the same double. NaN and the infinities are
 * NaN, Infinity and -Infinity in all three (strings in JSON); a NULL is blank in text and CSV, null in JSON. */
#ifndef TAPER_HARNESS_TABLE_PRINT_H
#define TAPER_HARNESS_TABLE_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include <sqlite3.h>

#include "core/error.h"

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

/* A table being printed, cell by cell. Text needs the widths, so its first rows are held back; the rest is streamed. */
struct table;

/* columns: the names, `count` of them; equal names get :1, :2 ... so that JSON keys differ. */
struct table *table_begin(FILE *out, enum table_format format, const char *const *columns, int count);
void table_text(struct table *t, const char *text); /* NULL prints as a NULL */
void table_integer(struct table *t, int64_t value);
void table_real(struct table *t, double value);
void table_null(struct table *t);
void table_raw_json(struct table *t, const char *json); /* text as it is; in JSON the value itself */

/* Prints what is held back and releases t. STATUS_FAILED when `out` could not be written. */
int table_end(struct table *t, struct error *err);

/* Run a statement to its end and print its rows. A blob is printed in hex. *rows (may be NULL): how many. */
int table_print(FILE *out, enum table_format format, sqlite3_stmt *statement, int64_t *rows, struct error *err);

/* Shortest decimal of a double that reads back the same; NaN, Infinity, -Infinity. to holds 32 bytes. Returns to. */
char *table_format_real(char *to, double value);

/* Microseconds since 1970 UTC as local "2026-02-03 14:05:06"; "" for 0. to holds 32 bytes. Returns to. */
char *table_format_time(char *to, int64_t us);

#endif
