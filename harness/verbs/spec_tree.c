#include "harness/verbs/spec_tree.h"

#include <stdlib.h>

#include "core/base/memory.h"

/* The runs that need run i are a list: first[i], then next[] of each, until -1. The last of these lists are the runs
 * that need none. */
struct needs {
    int64_t *first, *next;
};

static void find_needs(const struct spec *spec, struct needs *n, struct spec_tree *t)
{
    const int64_t runs = spec->run_count;
    for (int64_t i = 0; i <= runs; i++)
        n->first[i] = -1;
    for (int64_t i = runs - 1; i >= 0; i--) { /* backwards, so that each list is in the order of the runs */
        const int64_t needed = spec_run_needed(spec, i), of = needed < 0 ? runs : needed;
        t->needs[i] = needed;
        t->stages |= needed >= 0;
        n->next[i] = n->first[of];
        n->first[of] = i;
    }
}

void spec_tree_make(struct spec_tree *t, const struct spec *spec)
{
    const size_t room = (size_t)spec->run_count + 1;
    *t = (struct spec_tree){.run = memory_alloc(room, sizeof *t->run),
                            .depth = memory_alloc(room, sizeof *t->depth),
                            .needs = memory_alloc(room, sizeof *t->needs)};
    struct needs n = {memory_alloc(room, sizeof *n.first), memory_alloc(room, sizeof *n.next)};
    find_needs(spec, &n, t);
    int depth = 0;
    int64_t at = n.first[spec->run_count];
    for (int64_t row = 0; at >= 0; row++) {
        t->run[row] = at;
        t->depth[row] = depth;
        int64_t following = n.first[at];
        depth += following >= 0;
        while (following < 0 && at >= 0) { /* nobody needs this one: on with the next, here or further out */
            following = n.next[at];
            at = following < 0 ? t->needs[at] : at;
            depth -= following < 0;
        }
        at = following;
    }
    free(n.first);
    free(n.next);
}

void spec_tree_fini(struct spec_tree *t)
{
    free(t->run);
    free(t->depth);
    free(t->needs);
    *t = (struct spec_tree){0};
}
