/* libmicrohttpd, opened when a page is served and not with the program: it brings a TLS library that no run needs, and
 * loading those would double the time of every start (docs/overhead.md). */
#ifndef TAPER_HARNESS_PAGE_HTTP_LIBRARY_H
#define TAPER_HARNESS_PAGE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "core/base/error.h"

struct http_library {
    __typeof__(&MHD_start_daemon) start;
    __typeof__(&MHD_stop_daemon) stop;
    __typeof__(&MHD_create_response_from_buffer) from_buffer;
    __typeof__(&MHD_create_response_from_callback) from_callback;
    __typeof__(&MHD_add_response_header) add_header;
    __typeof__(&MHD_queue_response) queue;
    __typeof__(&MHD_destroy_response) destroy;
    __typeof__(&MHD_lookup_connection_value) lookup;
    __typeof__(&MHD_get_connection_values) values;
};

/* Open it, once for the process; *out is good until its end. STATUS_FAILED: not there; the text says what to install.
 */
int http_library_open(const struct http_library **out, struct error *err);

#endif
