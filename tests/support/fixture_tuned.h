/* A home with a sweep of fine-tuning: stages, removals, several evaluation texts. Made up from closed formulas, as
 * fixture_db.h's. */
#ifndef TAPER_TESTS_FIXTURE_TUNED_H
#define TAPER_TESTS_FIXTURE_TUNED_H

#include "tests/support/store_fixture.h"

/* Sweep "tuned", all done: pretrain and, beginning with it, vanilla, fakeln, internal and all, over seeds 0 to 2, 100
 * steps, logged every 10, fakeln's 13 sites going one after another from step 6 on. `sets`: of model.size gpt2,
 * evaluated on the published texts too (seed 1 of all is not finite on the Pile); else of size demo, on the validation
 * split alone. */
void fixture_tuned_fill(struct fixture *f, bool sets);

/* The loss that variant (1 vanilla, 2 fakeln, 3 internal, 4 all) ends with on text 0 openwebtext, 1 pile, 2
 * pile-filtered, 3 the validation split. */
double fixture_tuned_loss(int variant, int text, int seed);

#endif
