/* The tokens a trained model is judged on: its run's validation split, or a text of the user's. */
#ifndef TAPER_HARNESS_VERBS_EVAL_TEXT_H
#define TAPER_HARNESS_VERBS_EVAL_TEXT_H

#include "core/data/dataset.h"
#include "core/trained/loaded_model.h"

struct eval_text {
    const struct tokens *tokens; /* more than one */
    struct dataset dataset;      /* what is open behind it: this ... */
    struct tokens own;           /* ... or this */
};

/* The text of `path` (of JSON lines: their `field`, else NULL), encoded with the model's tokenizer; or, with path NULL,
 * the validation split of the run's own configuration, which must still be what it was trained beside. STATUS_BAD_INPUT
 * when there is none or it is another. On failure nothing is left open. */
int eval_text_open(struct eval_text *t, const struct loaded_model *l, const char *path, const char *field,
                   struct error *err);
void eval_text_close(struct eval_text *t); /* fine on a zeroed one */

#endif
