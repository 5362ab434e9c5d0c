/* A home with a sweep that has lived: done, failed, running, queued and diverged runs, an outlier, steps, sites,
 * evaluations, benchmarks. Its journals are made up here from closed formulas and taken in by the real intake. */
#ifndef TAPER_TESTS_FIXTURE_DB_H
#define TAPER_TESTS_FIXTURE_DB_H

#include "tests/support/store_fixture.h"

/* Sweep "paper": the five variants over seeds 0 to 4, and all+aux with gate.end 20% and 70% over seeds 0 and 1; 100
 * steps, logged every 10. Of these internal seed 3 has failed, internal+aux seed 4 is queued, baseline seed 4 is
 * running (at step 50), all seed 2 is done with a loss that is not finite and steps that are not from 60 on, and
 * all+aux seed 1 ends far off. internal's done runs have benchmarks. */
void fixture_db_fill(struct fixture *f);

/* The loss a done run ends with, by the same formula; NaN where it has none. variant: its place, 0 to 6. */
double fixture_db_loss(int variant, int seed);
const char *fixture_db_variant(int variant); /* NULL past the last */

/* RMS of the logits that a run logs at a step. */
double fixture_db_logits(int variant, int seed, int step);

#endif
