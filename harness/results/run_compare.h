/* Two runs side by side: the keys that differ, and the losses. */
#ifndef TAPER_HARNESS_RESULTS_RUN_COMPARE_H
#define TAPER_HARNESS_RESULTS_RUN_COMPARE_H

#include <jansson.h>

#include "harness/results/result_rows.h"

enum { COMPARE_FACTS, COMPARE_KEYS, COMPARE_LOSSES, COMPARE_PARTS };

struct run_compare {
    struct store *store; /* with this program's views (store_own_views) */
    struct store_run run[2];
    struct result_rows rows[COMPARE_PARTS]; /* name (of losses step and split) first, then a value of each run */
};

/* Look up the two runs by what people call them (store_run_find) and read what differs. Fini in any case. */
int run_compare_make(struct run_compare *out, struct store *s, const char *a, const char *b, struct error *err);
void run_compare_fini(struct run_compare *p);

/* {"a":{..},"b":{..},"config":{key:[a,b]},"evals":[{"step":..,"split":..,"a":..,"b":..}]}; a new reference. */
json_t *run_compare_json(const struct run_compare *p);

#endif
