/* Between a sweep file and the request that queues it; shared by the verbs that submit. */
#ifndef TAPER_HARNESS_DAEMON_SUBMIT_H
#define TAPER_HARNESS_DAEMON_SUBMIT_H

#include <stdio.h>

#include <jansson.h>

#include "core/base/error.h"

/* Check a file, reporting every fault to standard error, and have the digests of its data made, which are kept: a
 * daemon that is asked next need not read the data while others wait for it. */
int submit_check(const char *path, struct error *err);

/* The body of a "submit" request for a file, to be read from the current directory. A new reference. */
int submit_request(const char *path, json_t **body, struct error *err);

/* The same request made without doing it: the reply says what would be. `given` is --home; where that is no home yet,
 * all is new. body is taken. */
int submit_preview(const char *given, json_t *body, json_t **reply, struct error *err);

/* What a reply says, for people: a line, and one for each thing that was asked for and not done, or done to a run that
 * was there; of a preview for each group of runs. */
void submit_print(const json_t *reply, FILE *out);

#endif
