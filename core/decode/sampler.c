#include "core/decode/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/rng.h"

struct choice {
    double weight;
    int32_t token;
};

struct sampler {
    struct sampler_options options;
    int V;
    double *weights;     /* [V] exp((z - max) / temperature) */
    struct choice *kept; /* [V] */
};

struct sampler *sampler_create(const struct sampler_options *options, int V)
{
    struct sampler *s = memory_alloc(1, sizeof *s);
    *s = (struct sampler){.options = *options,
                          .V = V,
                          .weights = memory_alloc((size_t)V, sizeof *s->weights),
                          .kept = memory_alloc((size_t)V, sizeof *s->kept)};
    return s;
}

void sampler_destroy(struct sampler *s)
{
    if (s) {
        free(s->weights);
        free(s->kept);
    }
    free(s);
}

/* The maximum first, over chains that the compiler can keep in vectors, then its first place. */
static int32_t argmax(const float *z, int V)
{
    enum { CHAINS = 32 };
    float tops[CHAINS], most = -INFINITY;
    int v = 0;
    for (int c = 0; c < CHAINS; c++)
        tops[c] = -INFINITY;
    for (; v + CHAINS <= V; v += CHAINS)
        for (int c = 0; c < CHAINS; c++)
            tops[c] = z[v + c] > tops[c] ? z[v + c] : tops[c];
    for (; v < V; v++)
        most = z[v] > most ? z[v] : most;
    for (int c = 0; c < CHAINS; c++)
        most = tops[c] > most ? tops[c] : most;
    for (v = 0; v < V; v++)
        if (z[v] == most)
            return v;
    return 0; /* nothing but NaN */
}

static int by_weight(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->token < b->token ? -1 : a->token > b->token;
}

static int by_token(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    return a->token < b->token ? -1 : a->token > b->token;
}

/* Gather every token of weight above a threshold that falls until enough are there: `count` of them, and `mass`. */
static int gather(struct sampler *s, int count, double mass)
{
    for (double least = 0.1;; least = least > 1e-12 ? least * 0.1 : -1) {
        double sum = 0;
        int n = 0;
        for (int32_t v = 0; v < s->V; v++)
            if (s->weights[v] > least) {
                s->kept[n++] = (struct choice){s->weights[v], v};
                sum += s->weights[v];
            }
        if ((n >= count && sum >= mass) || least < 0)
            return n;
    }
}

/* Leave in s->kept what top_k and then top_p keep, in the order of the vocabulary; returns how many. */
static int cut(struct sampler *s, double total)
{
    const struct sampler_options *o = &s->options;
    const bool few = o->top_k > 0 && o->top_k < s->V;
    int n = gather(s, few ? o->top_k : 1, few ? 0 : o->top_p * total);
    qsort(s->kept, (size_t)n, sizeof *s->kept, by_weight);
    if (few) {
        n = n < o->top_k ? n : o->top_k;
        total = 0;
        for (int i = 0; i < n; i++)
            total += s->kept[i].weight;
    }
    double reached = 0;
    for (int i = 0; i < n && o->top_p < 1; i++) {
        reached += s->kept[i].weight;
        if (reached >= o->top_p * total)
            n = i + 1;
    }
    qsort(s->kept, (size_t)n, sizeof *s->kept, by_token);
    return n;
}

static int32_t draw_kept(const struct sampler *s, int n, double u)
{
    double total = 0, passed = 0;
    for (int i = 0; i < n; i++)
        total += s->kept[i].weight;
    for (int i = 0; i < n - 1; i++) {
        passed += s->kept[i].weight;
        if (passed > u * total)
            return s->kept[i].token;
    }
    return s->kept[n - 1].token;
}

static int32_t draw_any(const struct sampler *s, double total, double u)
{
    double passed = 0;
    for (int32_t v = 0; v < s->V - 1; v++) {
        passed += s->weights[v];
        if (passed > u * total)
            return v;
    }
    return s->V - 1;
}

int32_t sampler_draw(struct sampler *s, const float *logits, uint64_t position, uint64_t row)
{
    const struct sampler_options *o = &s->options;
    const struct rng_stream stream = {.seed = o->seed, .use = RNG_SAMPLE, .second = position};
    const int32_t best = argmax(logits, s->V);
    const double most = (double)logits[best];
    double total = 0;
    if (o->temperature <= 0 || !isfinite(most))
        return best;
    for (int v = 0; v < s->V; v++) {
        s->weights[v] = isnan(logits[v]) ? 0 : exp(((double)logits[v] - most) / o->temperature);
        total += s->weights[v];
    }
    const double u = rng_uniform(&stream, row);
    const bool whole = o->top_p >= 1 && (o->top_k <= 0 || o->top_k >= s->V);
    return whole ? draw_any(s, total, u) : draw_kept(s, cut(s, total), u);
}
