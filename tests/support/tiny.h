/* A tiny training run for tests: seconds in all, every part of the loop. */
#ifndef TAPER_TESTS_SUPPORT_TINY_H
#define TAPER_TESTS_SUPPORT_TINY_H

#include <jansson.h>
#include <sys/types.h>

#include "core/config/config.h"

/* Point TAPER_CACHE into a private folder (kept for the process), so that no test sees another's cache. */
void tiny_cache(const char *folder);

/* Two layers of 16, context 16, vocabulary 300, `all` sites with the aux loss, 60 steps, everything logged; then the
 * NULL-terminated KEY=VALUE pairs. Finished. Fails the test on a bad pair. */
struct config tiny_config(const char *const *pairs);

/* The command line of `taper train --out DIR` with that configuration and these extra words; NULL-terminated, on the
 * heap, borrowing the words. */
char **tiny_command(const char *dir, const char *const *extra);

/* Start a program; its output goes to `log` (NULL: /dev/null). */
pid_t tiny_spawn(char *const *argv, const char *log);

/* Wait for it: its exit status, or 128 + the signal that ended it. */
int tiny_wait(pid_t pid);

/* What a journal says, order and repeats aside: for each (table, step, site...) its last line, without times and
 * attempt, as canonical JSON lines; on the heap. Events are left out, and how attempts ended that did not finish the
 * run. */
char *tiny_journal(const char *dir);

#endif
