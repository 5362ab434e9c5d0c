/* Server-sent events: one thread looks whether the data have changed, and everybody who listens is told so. */
#ifndef TAPER_HARNESS_PAGE_PAGE_EVENTS_H
#define TAPER_HARNESS_PAGE_PAGE_EVENTS_H

#include "harness/page/http_library.h"
#include "harness/page/page_readers.h"

enum { PAGE_LISTENERS = 32 };

struct page_events;

/* http and readers outlive it. STATUS_FAILED: no thread. */
int page_events_create(struct page_events **out, const struct http_library *http, struct page_readers *readers,
                       struct error *err);

/* Let everybody go who listens; none is taken from here on. Before the server stops, which waits for them. */
void page_events_end(struct page_events *e);
void page_events_destroy(struct page_events *e); /* after the server has stopped; NULL is fine */

/* A response that goes on for as long as somebody reads it: "event: change" with the version of the data, at once and
 * whenever it is another one. NULL when too many listen already. */
struct MHD_Response *page_events_listen(struct page_events *e);

#endif
