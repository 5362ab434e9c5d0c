/* Who may ask the page: where it listens, which hosts and origins it answers to, and the token of its link. Every text
 * may come from anybody, and none of these functions touches anything but its arguments. */
#ifndef TAPER_HARNESS_PAGE_PAGE_GUARD_H
#define TAPER_HARNESS_PAGE_PAGE_GUARD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/error.h"

#define PAGE_ADDRESS "127.0.0.1:8787"

enum { PAGE_TOKEN = 33, PAGE_HOST = 300 };

struct page_address {
    struct sockaddr_storage at;
    socklen_t size;
    bool loopback;
};

/* "ADDR:PORT", "[::1]:PORT" or "PORT" alone; ADDR is a number or localhost, PORT 0 takes any that is free.
 * STATUS_BAD_INPUT says what is wrong. */
int page_address_parse(struct page_address *out, const char *text, struct error *err);

/* "127.0.0.1:8787", "[::1]:8787". to holds PAGE_HOST bytes; returns it. */
char *page_address_text(const struct page_address *a, char *to);

/* May a request name this host (its header, with or without a port)? A name that a stranger's DNS gives this machine's
 * address must not reach the page: on loopback only loopback's own names do, elsewhere numbers and `machine`'s name,
 * also with a domain behind it. */
bool page_host_allowed(const char *host, bool loopback, const char *machine);

/* Is the origin that a browser names (NULL: none) the page itself under that host? */
bool page_origin_allowed(const char *origin, const char *host);

/* A fresh token: 32 hex digits. */
void page_token_make(char to[PAGE_TOKEN]);

/* In a time that does not depend on where they differ. given may be NULL. */
bool page_token_equal(const char *given, const char token[PAGE_TOKEN]);

#endif
