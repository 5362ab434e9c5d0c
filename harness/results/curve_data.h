/* A recorded number of the runs of a sweep against the step, thinned by SQL: of each bucket of steps the smallest, the
 * largest and the mean value. For whoever draws curves and has fewer pixels than the runs have rows. */
#ifndef TAPER_HARNESS_RESULTS_CURVE_DATA_H
#define TAPER_HARNESS_RESULTS_CURVE_DATA_H

#include <stdio.h>

#include "harness/results/result_sweep.h"

enum { CURVE_POINTS = 4000 };

struct curve_question {
    const char *sweep;   /* the one prepared */
    const char *metric;  /* a column of the logged steps; NAME:SITE of a site's; "val_loss", of the evaluations */
    const char *x;       /* "step", "tokens" or "time" */
    const char *run;     /* an id: only this one; NULL: all */
    bool log_x;          /* buckets grow with the step */
    bool live;           /* only those that have changed lately */
    int points;          /* buckets, 2 to CURVE_POINTS */
    long long low, high; /* steps, both included; high 0: as many as the longest run has */
    long long from;      /* runs left out at the front: `next` of the answer before */
    int milliseconds;    /* after which no further run is begun; at least one is */
};

/* Write the answer as JSON:
 *   {"sweep", "metric", "x", "low", "high", "points",
 *    "groups": [{"name", "tapered", "baseline"}],            in the order of the sweep's tables
 *    "series": [{"run", "group", "seed", "state", "scale", "step": [..], "mean": [..], "min": [..], "max": [..],
 *                "gate": [..]}],
 *    "runs": how many there are, "next": the `from` of the rest, or null}
 * step is the last logged one of its bucket; times scale it is what x asks for (tokens; seconds of training, by the
 * run's mean time of a step). null stands for values none of which is finite; min and max are left out where every
 * bucket holds one value, gate (its mean) but for the first run of a group that is tapered. The first seeds of all
 * groups come first. STATUS_BAD_INPUT: no such metric or x. */
int curve_write(FILE *out, struct results *from, const struct curve_question *q, struct error *err);

#endif
