/* One download with the curl command; fetch.c is its only user. */
#ifndef TAPER_CORE_DATA_FETCH_CURL_H
#define TAPER_CORE_DATA_FETCH_CURL_H

#include "core/data/progress.h"
#include "core/base/error.h"

struct fetch_download {
    const char *url, *part; /* from where, to where */
    int lock;               /* part, open and locked; curl inherits it, so an orphaned one still holds the lock */
    char *headers;          /* where curl writes the server's headers */
    long long most;         /* bytes; a body that is longer is cut off and refused */
    const struct progress *progress;
    int exit_status, http; /* of the last curl */
    char message[512];     /* what it wrote to standard error, its first line */
};

/* Download to the end, from where part ends. A broken connection is taken up again while each attempt brings
 * something; a server that cannot continue, or says that part is too long, makes it start over once. STATUS_FAILED
 * with curl's own words otherwise; what was received stays in part. STATUS_BAD_INPUT when the server says that it sends
 * a page (what was there before stays), or sends more than `most`. From https nothing leads elsewhere. */
int fetch_curl(struct fetch_download *d, struct error *err);

#endif
