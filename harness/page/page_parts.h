/* Parts that several pages show, of the answer of standing_collect. Nothing is written where there is nothing. */
#ifndef TAPER_HARNESS_PAGE_PAGE_PARTS_H
#define TAPER_HARNESS_PAGE_PAGE_PARTS_H

#include <stdio.h>

#include <jansson.h>

void page_put_live(FILE *out, const json_t *live);
void page_put_failures(FILE *out, const json_t *failures);
void page_put_waiting(FILE *out, const json_t *waiting);

#endif
