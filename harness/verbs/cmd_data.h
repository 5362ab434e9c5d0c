/* The subverbs of `taper data`, one a function; cmd_data.c holds their table. */
#ifndef TAPER_HARNESS_VERBS_CMD_DATA_H
#define TAPER_HARNESS_VERBS_CMD_DATA_H

#include "core/data/progress.h"
#include "core/data/text.h"
#include "core/base/error.h"

/* As a command's exec; argv[0] is the subverb. */
int data_tokenizer(int argc, char **argv, struct error *err);
int data_encode(int argc, char **argv, struct error *err);
int data_text(int argc, char **argv, struct error *err);
int data_decode(int argc, char **argv, struct error *err);
int data_corpus(int argc, char **argv, struct error *err);
int data_fetch(int argc, char **argv, struct error *err);

/* What text_warning has, on standard error. */
void data_warn(const struct text *text);

/* Parse --threads (1..256); the processors there are when text is NULL. */
int data_threads(const char *text, int *threads, struct error *err);

/* A line on standard error that is drawn over, when that is a terminal; silence otherwise. data_progress_end erases
 * it. */
struct progress data_progress(void);
void data_progress_end(const struct progress *progress);

#endif
