/* Shared by the files that print a table of results; nothing else includes it. */
#ifndef TAPER_HARNESS_RESULTS_TABLE_TEXT_H
#define TAPER_HARNESS_RESULTS_TABLE_TEXT_H

#include "harness/results/table.h"

/* A cell as people read it, UTF-8, on the heap: "1.6543 ± 0.0021", "+1.23 [+0.80, +1.66]", "2 of 3"; "–" for blank. */
char *table_cell_text(const struct layout_column *column, const struct table_cell *cell);

/* Characters of UTF-8. */
int table_text_length(const char *text);

/* Is the column one of numbers, to be set to the right? */
bool table_column_is_numeric(const struct layout_column *column);

/* Text with the characters that mean something there escaped. */
void table_put_markdown(FILE *out, const char *text);
void table_put_tex(FILE *out, const char *text);
void table_put_html(FILE *out, const char *text);

/* "Sweep demo, 15 runs: 15 done. corpus stories. taper 0.1.0 (4af8e38)", on the heap. */
char *table_small_print(const struct table *t);

void table_print_csv(const struct table *t, FILE *out);
void table_print_json(const struct table *t, FILE *out);
void table_print_html(const struct table *t, FILE *out);

#endif
