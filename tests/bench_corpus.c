/* How fast the corpus is made, on one processor and on all: MB/s, the best of three. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/data/corpus/corpus.h"
#include "core/base/parallel.h"

enum { SIZE = 200000000 };

static int discard(void *arg, const char *text, size_t length, struct error *err)
{
    (void)text, (void)err;
    *(size_t *)arg += length;
    return STATUS_OK;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(int threads)
{
    double best = 0;
    for (int i = 0; i < 3; i++) {
        size_t total = 0;
        struct error err = {0};
        double begin = seconds();
        if (corpus_generate(1, SIZE, threads, discard, &total, &err)) {
            fprintf(stderr, "bench_corpus: %s\n", err.text);
            return 1;
        }
        double speed = (double)total * 1e-6 / (seconds() - begin);
        best = speed > best ? speed : best;
    }
    printf("corpus: %4.0f MB/s on %d processor%s\n", best, threads, threads == 1 ? "" : "s");
    return 0;
}

int main(void)
{
    int all = parallel_processors();
    int status = measure(1) || (all > 1 && measure(all));
    double bits = 0;
    for (uint64_t i = 0; i < 10000; i++)
        bits += corpus_story_bits(1, i);
    printf("corpus: at most %.1f bits a story on average\n", bits / 10000);
    return status;
}
