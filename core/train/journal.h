/* journal.jsonl: what a run measured, one JSON object a line, appended and never rewritten.
 *
 * Each line names the database table it belongs to; field names are the table's column names:
 *   {"table":"step","step":10,"attempt":1,"tokens":20480,"ce":6.2,...,"ms":41.3,"step_ms":[40.9,...],
 *    "site_step":[{"site":"blocks.0.attn_norm","c":0.71,"scale_mean":1.4,"agreement":0.99,"gamma_norm":8,
 *                  "gamma_tilde_norm":8},...]}
 *   {"table":"eval","step":100,"attempt":1,"split":"valid","loss":4.1,"tokens":131072}
 *   {"table":"data","attempt":1,"corpus":..,"tokenizer":..,"tokenizer_read":..,"train":"xxh128:..","valid":..}
 *                                                     once an attempt, first: digests of what it opened (data_read.c)
 *   {"table":"event","step":50,"attempt":1,"kind":"checkpoint","text":"..."}     kinds: start resume checkpoint
 *                                                                              skipped (docs/gpu.md) uncovered damaged
 *   {"table":"run","attempt":1,"step":600,"state":"done","val_loss":3.9,"params":330048,"device":"cpu","text":""}
 *                                                     once an attempt, last: state done, failed, stopped or paused
 * step_ms holds the time of every step since the row before it (the last is `ms`), so no step's time is lost when
 * log.every is above 1. A number that is not finite is written as "NaN", "Infinity" or "-Infinity".
 *
 * A line is written with one write(2) and ends in a newline; a reader takes whole lines only. An attempt that resumes
 * first cuts off a torn last line (which no reader can have taken), then appends; it logs again the steps since its
 * checkpoint, with the same values. So for each (table, step, site or split) the last line counts. */
#ifndef TAPER_CORE_TRAIN_JOURNAL_H
#define TAPER_CORE_TRAIN_JOURNAL_H

#include <stdint.h>

#include <jansson.h>

#include "core/base/error.h"

struct journal {
    int fd;
    char *path;
    int attempt;
};

/* Open for appending; cuts off a torn last line. attempt goes into every line. */
int journal_open(struct journal *j, const char *path, int attempt, struct error *err);

/* Set j->attempt to one more than the last line's, 1 in an empty journal. */
int journal_next_attempt(struct journal *j, struct error *err);

/* Append one object (the reference is taken) as a line of `table`, with "attempt" added. */
int journal_append(struct journal *j, const char *table, json_t *object, struct error *err);

/* Wait until every line so far is on the disk. */
int journal_sync(struct journal *j, struct error *err);

/* The step of the last whole line of the table step; 0 when there is none. */
int journal_last_step(const char *path, int64_t *step, struct error *err);

/* The same of a journal in memory. */
int64_t journal_last_step_of(const char *text, size_t size);

/* fsync, then close; fine on a journal that was not opened (fd -1 or zeroed path). */
int journal_close(struct journal *j, struct error *err);

/* A number for the journal: NaN and infinities as their strings. A new reference. */
json_t *journal_number(double x);

/* The reverse, for readers: true when value is a number or one of the three strings. */
int journal_number_read(const json_t *value, double *x);

#endif
