#include "tests/support/bench.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cpu/gemm.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

double bench_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

struct product {
    float *a, *b, *c;
};

static void product_rows(void *arg, int thread, int threads)
{
    const struct product *p = arg;
    size_t begin, end, n = BENCH_SGEMM;
    parallel_share(n, 16, thread, threads, &begin, &end);
    gemm_nn((int)(end - begin), BENCH_SGEMM, BENCH_SGEMM, p->a + begin * n, BENCH_SGEMM, p->b, BENCH_SGEMM, 0,
            p->c + begin * n, BENCH_SGEMM);
}

double bench_sgemm_rate(int threads, int repeats, clockid_t clock)
{
    const size_t n = BENCH_SGEMM, all = n * n;
    float *block = memory_alloc(3 * all, sizeof *block);
    struct product p = {block, block + all, block + 2 * all};
    double best = INFINITY;
    for (size_t i = 0; i < 2 * all; i++)
        block[i] = (float)(i % 251) / 125 - 1;
    for (int i = 0; i < repeats; i++) {
        double begin = bench_now(clock);
        parallel_run(threads, product_rows, &p);
        best = fmin(best, bench_now(clock) - begin);
    }
    free(block);
    return 2.0 * (double)n * (double)all / best;
}

pid_t bench_start(char *const *words)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int code = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code) {
        fprintf(stderr, "%s: %s\n", words[0], strerror(code));
        exit(1);
    }
    return pid;
}
