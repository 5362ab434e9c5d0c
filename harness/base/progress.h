/* The progress line of `taper train`, of data preparation and of verbs that make one thing after the other: one line
 * redrawn on a terminal; elsewhere lines of a training every so often, and nothing of the others. */
#ifndef TAPER_HARNESS_BASE_PROGRESS_H
#define TAPER_HARNESS_BASE_PROGRESS_H

#include "core/train/train.h"

struct progress_line {
    int terminal;     /* is stderr one? */
    double drawn;     /* monotonic seconds of the last drawing */
    int dirty;        /* there is a line to clear */
    int begun;        /* of progress_item: how many */
    double said;      /* elsewhere: monotonic seconds of the last line, or of the beginning */
    int64_t step;     /* the step of that line */
    const char *name; /* put before such lines; NULL: nothing */
};

void progress_begin(struct progress_line *p);

/* A train_options.progress: arg is a struct progress_line. Redraws ten times a second at most. Not on a terminal: a
 * line every ten seconds, at every twentieth of the steps that is a second away from the last, and at the last step. */
void progress_train(void *arg, const struct train_progress *t);

/* One more of `total` things is begun: "3 of 7: fig-loss ...". */
void progress_item(struct progress_line *p, int total, const char *what);

/* Clear the line, so that other output starts at its left edge. */
void progress_end(struct progress_line *p);

#endif
