/* The page: what goes on in a home, in a browser. Its own threads, its own connections to the database, read only; none
 * of it ever waits for the daemon's loop, nor that for it.
 *
 * It answers on loopback by default. Elsewhere every request needs the token of the link, as a cookie that the link
 * sets. Hosts and origins that are not the page's own are refused (page_guard.h). */
#ifndef TAPER_HARNESS_PAGE_PAGE_H
#define TAPER_HARNESS_PAGE_PAGE_H

#include "harness/base/home.h"

struct page;

/* Serve the home, which outlives the page, at "ADDR:PORT" (NULL or "": PAGE_ADDRESS). STATUS_BAD_INPUT: no such
 * address. STATUS_FAILED: it is taken, or there is no libmicrohttpd. */
int page_start(struct page **out, const struct home *home, const char *address, struct error *err);
void page_stop(struct page *p); /* what is being answered is cut off; NULL is fine */

/* Where it is, with the token if it takes one: for whoever may use it, not for a log. */
const char *page_link(const struct page *p);

/* The same without the token. */
const char *page_url(const struct page *p);

#endif
