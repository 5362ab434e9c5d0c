/* Shared by the files of the intake; nothing else includes it. */
#ifndef TAPER_HARNESS_STORE_INTAKE_INTERNAL_H
#define TAPER_HARNESS_STORE_INTAKE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "harness/store/intake.h"
#include "harness/store/intake_columns.h"

/* What the fast scanner holds of a line; a set of columns is the bits of one 64-bit word. */
enum { SCAN_COLUMNS = 64, SCAN_SITES = 128, SCAN_SITE_COLUMNS = 16 };
_Static_assert((int)STEP_COLUMN_COUNT <= (int)SCAN_COLUMNS, "a step has more columns than the scanner holds");
_Static_assert((int)SITE_COLUMN_COUNT <= (int)SCAN_SITE_COLUMNS, "a site has more columns than the scanner holds");
_Static_assert(SCAN_COLUMNS <= 64 && SCAN_SITE_COLUMNS <= 64, "a column is a bit of a 64-bit word");

/* A scanned value; text points into the line. */
struct scan_value {
    enum { SCAN_NULL, SCAN_INTEGER, SCAN_REAL, SCAN_STRING } kind;
    int length;
    union {
        int64_t integer;
        double real;
        const char *text;
    };
};

struct scan_line {
    struct scan_value value[SCAN_COLUMNS]; /* by the column's index */
    struct scan_value site[SCAN_SITES][SCAN_SITE_COLUMNS];
    int sites;
};

/* Read a line of table step as journal_append writes it: fields in any order, plain strings. False for any other
 * line, good or bad, which jansson must judge. What it accepts it reads as jansson would; that is most of what a
 * daemon ever takes in, several times faster. text[size] must be readable. columns: up to SCAN_COLUMNS, site_columns up
 * to SCAN_SITE_COLUMNS. */
bool intake_scan_step(const char *text, size_t size, const struct column *columns, const struct column *site_columns,
                      struct scan_line *out);

/* The way of jansson alone, for tests. */
void intake_scan_disable(bool disable);

/* What a line did. */
struct intake_line {
    int64_t rows;
    int64_t step;  /* of a step line; -1: none */
    bool finished; /* a "run" line */
    char why[160]; /* of a bad line */
};

/* Store one line (without its newline) of a run's journal, inside a transaction. STATUS_OK; STATUS_BAD_INPUT when the
 * line cannot be understood, with line->why, nothing stored; STATUS_FAILED when the store failed. */
int intake_store_line(struct store *s, const char *run, const char *text, size_t size, int64_t offset,
                      struct intake_line *line, struct error *err);

/* Record a bad line as an event, once for its offset. */
int intake_store_bad(struct store *s, const char *run, const char *text, size_t size, int64_t offset, const char *why,
                     struct error *err);

#endif
