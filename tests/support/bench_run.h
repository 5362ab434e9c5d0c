/* A model in training on random tokens, for benches. Trouble ends the process with a message. */
#ifndef TAPER_TESTS_SUPPORT_BENCH_RUN_H
#define TAPER_TESTS_SUPPORT_BENCH_RUN_H

#include <stdbool.h>
#include <time.h>

#include "core/train/trainer.h"

enum { BENCH_TOKENS = 2048 }; /* of a step */

struct bench_run {
    struct config cfg;
    struct backend *be;
    struct model model;
    struct trainer trainer;
    int32_t *windows;
    struct site_stats *sites;
    clockid_t clock; /* of step_seconds: with one thread processor time, since other programs may share the machine */
};

/* Of a size (model.size) with `pairs` ("key=value", NULL at the end; NULL: none) set besides. */
void bench_run_open(struct bench_run *r, const struct ops *ops, int threads, const char *size,
                    const char *const *pairs);
void bench_run_close(struct bench_run *r);

/* One step; seconds by r->clock. */
double bench_run_step(struct bench_run *r, bool logged);

#endif
