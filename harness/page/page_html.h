/* Pieces of the pages' HTML. Everything that comes from a sweep, a file or an address goes through one of these. */
#ifndef TAPER_HARNESS_PAGE_PAGE_HTML_H
#define TAPER_HARNESS_PAGE_PAGE_HTML_H

#include <jansson.h>

#include "harness/page/page_internal.h"
#include "harness/results/result_rows.h"

/* From <!DOCTYPE to the opened <main>. sweep: the one it is about, for the way up and its siblings; NULL: none. */
void page_begin(struct page_call *c, const char *title, const char *sweep);
void page_end(struct page_call *c);

void page_text(FILE *out, const char *text);                     /* escaped, also for an attribute in double quotes */
void page_element(FILE *out, const char *tag, const char *text); /* <tag>text</tag>; tag may have attributes */

/* An address, for an attribute: path, then names and values of its query, NULL behind the last. */
void page_address(FILE *out, const char *path, ...) __attribute__((sentinel));

/* <a href="path?name=value">text</a> */
void page_link_to(FILE *out, const char *path, const char *name, const char *value, const char *text);

/* A state as a coloured word. */
void page_state(FILE *out, const char *state);

/* done of all, as a bar that is also read out. */
void page_progress(FILE *out, double done, double all);

/* A number with four decimals, its full digits as its tooltip; a text as it is; nothing for null. */
void page_number(FILE *out, const json_t *value);
void page_value(FILE *out, const struct result_value *v, bool loss);

/* Texts and numbers of an object; NULL and NaN where they are not there. */
const char *page_field(const json_t *object, const char *name);
double page_field_number(const json_t *object, const char *name);

#endif
