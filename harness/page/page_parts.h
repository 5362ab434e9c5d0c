/* Parts that several pages show. */
#ifndef TAPER_HARNESS_PAGE_PAGE_PARTS_H
#define TAPER_HARNESS_PAGE_PAGE_PARTS_H

#include <stdio.h>

#include <jansson.h>

#include "harness/page/page_internal.h"

/* The run that a parameter names, and what standing_run says of it: the caller's to release. */
int page_need_run(struct page_call *c, const char *name, struct store_run *run, json_t **all, struct error *err);

/* Of the answer of standing_collect. Nothing is written where there is nothing. */
void page_put_live(FILE *out, const json_t *live);
void page_put_failures(FILE *out, const json_t *failures);
void page_put_waiting(FILE *out, const json_t *waiting);

/* Curves of a sweep's runs, or of the run alone (NULL: of all): what to choose, and a place to draw. */
int page_put_curves(struct page_call *c, const char *sweep, const char *run, struct error *err);

#endif
