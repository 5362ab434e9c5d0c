/* Tables for people and for scripts: aligned text, a line a value, CSV (RFC 4180 but for lines that end in \n) or JSON
 * (array of objects).
 *
 * Real numbers are printed with the fewest digits that read back as the same double. NaN and the infinities are
 * NaN, Infinity and -Infinity in all three (strings in JSON); a NULL is blank in text and CSV, null in JSON. */
#ifndef TAPER_HARNESS_BASE_LISTING_H
#define TAPER_HARNESS_BASE_LISTING_H

#include <stdint.h>
#include <stdio.h>

#include <sqlite3.h>

#include "core/base/error.h"

enum listing_format { LISTING_TEXT, LISTING_CSV, LISTING_JSON, LISTING_VERTICAL };

/* A table being printed, cell by cell. Text needs the widths, so its first rows are held back; the rest is streamed. */
struct listing;

/* columns: the names, `count` of them; equal names get :1, :2 ... so that JSON keys differ. */
struct listing *listing_begin(FILE *out, enum listing_format format, const char *const *columns, int count);
/* Text, before the first cell: rows are to take so many columns of a terminal at most. The widest columns give way, and
 * what is cut of a cell ends in "..". 0: as wide as they are. */
void listing_fit(struct listing *t, int columns);

void listing_text(struct listing *t, const char *text); /* NULL prints as a NULL */
void listing_integer(struct listing *t, int64_t value);
void listing_real(struct listing *t, double value);
void listing_null(struct listing *t);

/* Prints what is held back and releases t. STATUS_FAILED when `out` could not be written. */
int listing_end(struct listing *t, struct error *err);

/* Run a statement to its end and print its rows. A blob is printed in hex. columns: listing_fit. */
int listing_print(FILE *out, enum listing_format format, sqlite3_stmt *statement, int columns, struct error *err);

#endif
