/* Shared by the files that submit a sweep; nothing else includes it. */
#ifndef TAPER_HARNESS_STORE_STORE_SUBMIT_INTERNAL_H
#define TAPER_HARNESS_STORE_STORE_SUBMIT_INTERNAL_H

#include "harness/store/store_internal.h"

struct submission {
    struct store *s;
    const struct spec *spec;
    struct store_identities *ids;
    struct spec_points *points;
    int64_t now, position; /* the next queue position */
    char *after;           /* JSON */
    bool computed;         /* the spec varies a key that says only how a run is computed and shown */
    struct store_submitted *out;
    json_t *notes; /* as in store_submit; NULL: not wanted */
};

/* A run that the home has and the sweep wants: takes from the spec what may still change, and notes what cannot. json
 * is the configuration as the spec has it. Counts it in sub->out. */
int submit_join(struct submission *sub, const char *id, const struct config *cfg, const char *json, struct error *err);

/* A run of this submission that stands in the spec again, computed in another way. */
int submit_note_double(struct submission *sub, const char *id, const char *json, struct error *err);

/* Note a run under (change, why, sweep, differences); runs of equal ones are one note. sweep may be NULL; differences
 * is taken, NULL for none. */
void submit_note(struct submission *sub, const char *change, const char *why, const char *sweep, json_t *differences,
                 const char *id);

/* {"log.every": [2, 1]}: what a run has and what is wanted, of the keys that change no result, where both differ; NULL
 * where nothing does. */
json_t *submit_differences(const json_t *has, const json_t *wanted);

#endif
