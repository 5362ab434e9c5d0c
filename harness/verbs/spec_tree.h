/* The runs of a sweep with what waits for what: each behind the one that it needs, a level deeper. */
#ifndef TAPER_HARNESS_VERBS_SPEC_TREE_H
#define TAPER_HARNESS_VERBS_SPEC_TREE_H

#include "harness/spec/spec.h"

struct spec_tree {
    int64_t *run, *needs; /* of row i: the run of the spec; of run i: the one that it needs, -1 for none */
    int *depth;           /* of row i: how many come before it */
    bool stages;          /* some run needs another */
};

/* As many rows as the spec has runs; without stages they are its runs in their order. */
void spec_tree_make(struct spec_tree *t, const struct spec *spec);
void spec_tree_fini(struct spec_tree *t); /* fine on a zeroed one */

#endif
