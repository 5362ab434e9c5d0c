/* Journals into the database: every whole line exactly once.
 *
 * A run's rows and the offset they were read up to go in one transaction, so after a kill at any moment the next pass
 * goes on where the rows end. Rows are keyed by what they measure (run, step, site, split ...): a step that was logged
 * again after a resume replaces the earlier one, and reading a whole journal twice changes nothing. That is done when
 * the file is shorter than the offset, or another file than before (a home that was copied, moved or restored).
 *
 * A line that cannot be understood is skipped, counted, and kept as an event of kind "bad-line" with its offset. */
#ifndef TAPER_HARNESS_STORE_INTAKE_H
#define TAPER_HARNESS_STORE_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "harness/store/store.h"

enum { INTAKE_LINE_MOST = 1 << 20 }; /* bytes; a longer line is a bad line */

struct intake_result {
    int64_t lines, rows, bad; /* rows: those of every table; a step with 9 sites is 10 */
    bool more;                /* the budget ran out before the journals did: call again */
    bool finished;            /* one of them ended an attempt (a "run" line) */
};

struct intake; /* prepared statements and buffers over one store */

struct intake *intake_create(struct store *s, const struct home *home);
void intake_destroy(struct intake *in); /* before store_close; NULL is fine */

/* Take in what `count` runs have logged since, up to about `budget` bytes in all (0: no limit), in one transaction.
 * A run without a journal has logged nothing. On failure nothing was taken (store_trouble tells why: busy, full) and
 * the same call later takes it. A journal that cannot be read fails only its run: the others are taken, an event of
 * kind "journal" is recorded once. out may be NULL. */
int intake_pass(struct intake *in, const char *const *runs, int count, int64_t budget, struct intake_result *out,
                struct error *err);

#endif
