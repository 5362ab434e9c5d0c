#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/ref/ref.h"
#include "core/base/rng.h"

struct choice {
    double logit;
    int token;
};

/* Most likely first, the lower token among equals. */
static int compare_choices(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->token < b->token ? -1 : a->token > b->token;
}

/* Cut a sorted list to top_k, then to the fewest whose probability reaches top_p, at least one. Leaves weights
 * (unnormalised probabilities) in the list; returns how many are left. */
static int cut_choices(struct choice *list, int count, const struct sample_tokens *a)
{
    if (a->top_k > 0 && a->top_k < count)
        count = a->top_k;
    double most = list[0].logit, total = 0, reached = 0;
    for (int i = 0; i < count; i++) {
        list[i].logit = exp((list[i].logit - most) / a->temperature);
        total += list[i].logit;
    }
    for (int i = 0; i < count && a->top_p < 1; i++) {
        reached += list[i].logit;
        if (reached >= a->top_p * total)
            return i + 1;
    }
    return count;
}

static int compare_tokens(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    return a->token < b->token ? -1 : a->token > b->token;
}

/* Walk what is left in the order of the vocabulary until the weights pass u times their sum. */
static int draw_choice(struct choice *list, int count, double u)
{
    qsort(list, (size_t)count, sizeof *list, compare_tokens);
    double total = 0, passed = 0;
    for (int i = 0; i < count; i++)
        total += list[i].logit;
    for (int i = 0; i < count - 1; i++) {
        passed += list[i].logit;
        if (passed > u * total)
            return list[i].token;
    }
    return list[count - 1].token;
}

void ref_sample(struct backend *be, const struct sample_tokens *a)
{
    (void)be;
    struct rng_stream stream = {.seed = a->seed, .use = RNG_SAMPLE, .second = a->position};
    struct choice *list = memory_alloc(a->V, sizeof *list);
    for (int b = 0; b < a->B; b++) {
        const float *z = a->logits + (size_t)b * a->V;
        for (int v = 0; v < a->V; v++) /* a logit that is no number is never preferred */
            list[v] = (struct choice){isnan(z[v]) ? -INFINITY : z[v], v};
        qsort(list, (size_t)a->V, sizeof *list, compare_choices);
        bool greedy = a->temperature <= 0 || isinf(list[0].logit);
        int count = greedy ? 1 : cut_choices(list, a->V, a);
        a->tokens[b] = greedy ? list[0].token : draw_choice(list, count, rng_uniform(&stream, (uint64_t)b));
    }
    free(list);
}
