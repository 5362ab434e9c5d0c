/* Shared by the files of the training loop; nothing else includes it. */
#ifndef TAPER_CORE_TRAIN_TRAIN_INTERNAL_H
#define TAPER_CORE_TRAIN_TRAIN_INTERNAL_H

#include "core/train/checkpoint.h"
#include "core/data/dataset.h"
#include "core/train/journal.h"
#include "core/model/schedule.h"
#include "core/train/train.h"

/* Everything a run has open. */
struct run {
    const struct config *cfg;
    const struct train_options *options;
    struct train_result *result;
    const struct ops *ops;
    struct backend *be;
    size_t promised; /* bytes of a GPU that it takes in all */
    struct model model;
    struct trainer trainer;
    struct dataset data;
    struct journal journal;
    char *checkpoint_path;
    char *before_path; /* of the one before */
    struct run_aside {
        const char *kind; /* of the event that says so */
        char text[1024];
    } aside[2]; /* checkpoints that were set aside */
    int asides;
    int32_t *windows;         /* [accumulate][batch][T+1] of the coming step */
    struct site_stats *sites; /* [site_count] */

    double *pending_ms; /* times of the steps since the last logged row */
    size_t pending, pending_room;
    double last_loss;
    double trained_ms;     /* of all steps of this attempt */
    int64_t settled_step;  /* the last one that is known to be done */
    double settled_at;     /* when the steps after it began, on the monotonic clock */
    int64_t known_skipped; /* skipped steps the journal knows of */
    bool claims_synced;    /* of config.json and data.json */
    double recent_ms;      /* moving average of the step time, for the progress line */
};

/* Bring the trainer to where the last good checkpoint left it, or to the seed (restore.c). */
int run_restore(struct run *r, bool *resumed, struct error *err);

/* Digests of the data, as checkpoints hold them. */
struct checkpoint_data run_data(const struct run *r);

/* What was opened against what the run is to read, and has read before: STATUS_BAD_INPUT with both digests where they
 * differ. Then, in a directory that is the run's, the digests are written beside its configuration (data_read.c). */
int run_check_data(const struct run *r, struct error *err);
int run_claim_data(const struct run *r, struct error *err);

/* Lines of the journal. */
int run_log_data(struct run *r, struct error *err); /* the digests of what was opened */
int run_log_step(struct run *r, const struct step_report *report, struct error *err); /* nothing unless it is logged */
/* The time of the next step that has none yet; a logged step has one before its line is written. */
void run_log_time(struct run *r, double ms);
int run_log_eval(struct run *r, double loss, int64_t tokens, struct error *err);
int run_log_event(struct run *r, const char *kind, const char *text, struct error *err);
/* The last line of an attempt: how it ended. */
int run_log_end(struct run *r, const char *state, const char *text, struct error *err);

/* Call the progress function, if there is one. */
void run_show(const struct run *r, const char *phase);

#endif
