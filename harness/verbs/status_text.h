/* What `taper status` prints for people: all of it, or as much as a window holds. */
#ifndef TAPER_HARNESS_VERBS_STATUS_TEXT_H
#define TAPER_HARNESS_VERBS_STATUS_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "harness/base/home.h"
#include "harness/base/terminal.h"

/* all: that of status_collect with "daemon" and "waiting". */
void status_print(FILE *out, const json_t *all, const struct home *home);

/* In place of what the window shows: a bar for each sweep, those that go on first; every line cut to the window's
 * width, and the longest parts to its height, saying how much is left out. */
void status_print_window(FILE *out, const json_t *all, const struct home *home, struct terminal window, bool colours);

#endif
