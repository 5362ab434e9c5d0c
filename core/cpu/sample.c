#include <math.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"
#include "core/ref/ref.h"
#include "core/base/rng.h"

/* Lowest index of the greatest number, 0 when there is none. */
static int argmax(const float *z, int V)
{
    int best = 0;
    for (int v = 1; v < V; v++)
        if (z[v] > z[best] || (isnan(z[best]) && !isnan(z[v])))
            best = v;
    return best;
}

/* Without a cut nothing has to be sorted: walk the vocabulary until the weights pass u times their sum. */
static int draw(const float *z, int V, double temperature, double u)
{
    double most = z[argmax(z, V)], total = 0, passed = 0;
    for (int v = 0; v < V; v++)
        total += isnan(z[v]) ? 0 : exp((z[v] - most) / temperature);
    for (int v = 0; v < V - 1; v++) {
        passed += isnan(z[v]) ? 0 : exp((z[v] - most) / temperature);
        if (passed > u * total)
            return v;
    }
    return V - 1;
}

static void sample_rows(void *arg, int thread, int threads)
{
    const struct sample_tokens *a = arg;
    const struct rng_stream stream = {.seed = a->seed, .use = RNG_SAMPLE, .second = a->position};
    size_t begin, end;
    parallel_share((size_t)a->B, 1, thread, threads, &begin, &end);
    for (size_t b = begin; b < end; b++) {
        const float *z = a->logits + b * a->V;
        int best = argmax(z, a->V);
        bool greedy = a->temperature <= 0 || !isfinite(z[best]);
        a->tokens[b] = greedy ? best : draw(z, a->V, a->temperature, rng_uniform(&stream, b));
    }
}

void cpu_sample(struct backend *be, const struct sample_tokens *a)
{
    bool cut = (a->top_k > 0 && a->top_k < a->V) || a->top_p < 1;
    if (cut && a->temperature > 0)
        ref_sample(be, a); /* sorts; far from the cost of a model's step */
    else
        parallel_run(be->threads, sample_rows, (void *)a);
}
