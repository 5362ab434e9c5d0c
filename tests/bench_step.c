/* Whole training steps of every preset, and what tapering costs.
 *
 *   bench_step [THREADS [SIZE ...]]     default: one thread and all processors; demo 1M 3M 9M 30M
 *
 * A step is 2,048 tokens with the probe at its default cadence, as `taper train` makes it (nine plain steps and a
 * logged one, medians of each). Its floor is 6 operations a parameter (positions left out) and token, and causal
 * attention, at the rate of the BLAS' sgemm, measured after every step. Every size has a process of its own, whose peak
 * memory is shown. With one thread times are processor time, since other programs may share the machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cpu/cpu.h"
#include "core/base/parallel.h"
#include "core/ops/profile.h"
#include "tests/support/bench.h"
#include "tests/support/bench_run.h"

enum { CADENCE = 10, WARM = 3, PLAIN = 9, LOGGED = 3, RATE_REPEATS = 2, RUNS_MOST = 8, ROUNDS_MOST = 64 };

static double floor_operations(const struct bench_run *r)
{
    const struct config *cfg = &r->cfg;
    const struct param_table *table = &r->model.table;
    double weights = (double)table->parameters;
    if (cfg->pos == POS_LEARNED)
        weights -= (double)(cfg->context * cfg->d_model);
    return BENCH_TOKENS * (6 * weights + 6.0 * (double)(cfg->context * cfg->d_model * cfg->layers));
}

/* What a child tells its parent. */
struct measured {
    double parameters, step, logged, rate, share; /* share: of the rate */
};

/* The processor's clock changes while this runs, so every step has its own measurement of the rate, right after it. */
static struct measured measure(const char *size, int threads)
{
    struct bench_run r = {0};
    double plain[PLAIN], logged[LOGGED], rate[PLAIN + LOGGED], share[PLAIN], total = 0;
    bench_run_open(&r, profile_ops(ops_cpu()), threads, size, NULL);
    for (int i = 0; i < WARM; i++)
        bench_run_step(&r, i == 0);
    const double operations = floor_operations(&r);
    for (int i = 0, p = 0, l = 0; i < PLAIN + LOGGED; i++) {
        bool probe = i % (PLAIN / LOGGED + 1) == PLAIN / LOGGED;
        double begin = bench_now(CLOCK_MONOTONIC);
        profile_count(true);
        double seconds = bench_run_step(&r, probe);
        profile_count(false);
        total += bench_now(CLOCK_MONOTONIC) - begin;
        rate[i] = bench_sgemm_rate(threads, RATE_REPEATS, r.clock);
        if (probe)
            logged[l++] = seconds;
        else
            plain[p] = seconds, share[p++] = operations / rate[i] / seconds;
    }
    if (threads == parallel_processors()) {
        printf("\n%s, %d threads: parts of a step (wall time, every fourth logged)\n", size, threads);
        profile_print(stdout, PLAIN + LOGGED, 1e3 * total);
        fflush(stdout);
    }
    double usual = bench_median(plain, PLAIN), with_probe = bench_median(logged, LOGGED);
    double step = ((CADENCE - 1) * usual + with_probe) / CADENCE;
    struct measured m = {(double)r.model.table.parameters, step, with_probe, bench_median(rate, PLAIN + LOGGED),
                         bench_median(share, PLAIN) * usual / step};
    bench_run_close(&r);
    return m;
}

/* In a process of its own; peak is its largest resident size in MB. */
static struct measured measure_apart(const char *size, int threads, double *peak)
{
    struct measured m = {0};
    struct rusage usage;
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        m = measure(size, threads);
        _exit(write(ends[1], &m, sizeof m) == sizeof m ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &m, sizeof m) != sizeof m || wait4(child, &status, 0, &usage) != child || status) {
        fprintf(stderr, "bench_step: the measurement of %s failed\n", size);
        exit(1);
    }
    close(ends[0]);
    *peak = (double)usage.ru_maxrss / 1024;
    return m;
}

static void table_of_sizes(char **sizes, int count, const int *threads, int thread_counts)
{
    struct measured m[RUNS_MOST][2];
    double peak[RUNS_MOST][2];
    for (int s = 0; s < count && s < RUNS_MOST; s++)
        for (int t = 0; t < thread_counts; t++)
            m[s][t] = measure_apart(sizes[s], threads[t], &peak[s][t]);
    printf("\nwhole steps: %d tokens, probe every %d\n%-6s %10s %8s %10s %10s %9s %8s %12s %8s\n", BENCH_TOKENS,
           CADENCE, "size", "parameters", "threads", "ms a step", "tokens/s", "probe", "GFLOP/s", "of the rate",
           "peak MB");
    for (int s = 0; s < count && s < RUNS_MOST; s++)
        for (int t = 0; t < thread_counts; t++) {
            const struct measured *x = &m[s][t];
            printf("%-6s %10.0f %8d %10.1f %10.0f %8.1f%% %8.1f %11.0f%% %8.0f\n", sizes[s], x->parameters, threads[t],
                   1e3 * x->step, BENCH_TOKENS / x->step, 100 * (x->logged - x->step) / (CADENCE - 1) / x->step,
                   1e-9 * x->rate, 100 * x->share, peak[s][t]);
        }
}

/* Step times against the baseline's, alternating, at gate 1 (calibrating), between, and 0; and those of a second
 * baseline, which shows what the measurement is worth. */
static void table_of_gates(const char *size, int threads, int rounds)
{
    static const struct {
        const char *name, *pairs[3];
    } gates[] = {
        {"1", {"gate.warmup=100000", "gate.end=200000"}},
        {"0.5", {"gate.warmup=1", "gate.shape=constant", "gate.value=0.5"}},
        {"0", {"gate.warmup=1", "gate.end=2"}},
    };
    static const char *const sites[] = {"taper.sites=none", "taper.sites=internal", "taper.sites=all"};
    enum { GATES = sizeof gates / sizeof gates[0], RUNS = 2 + 2 * GATES };
    static struct bench_run runs[RUNS];
    static double ratio[RUNS][ROUNDS_MOST];
    for (int i = 0; i < RUNS; i++) {
        int site = i < 2 ? 0 : 1 + (i - 2) / GATES;
        const char *pairs[8] = {"train.steps=1000000", sites[site]};
        for (int k = 0; i >= 2 && k < 3; k++)
            pairs[3 + k] = gates[(i - 2) % GATES].pairs[k];
        if (i >= 2)
            pairs[2] = "aux.lambda=0.1";
        bench_run_open(&runs[i], ops_cpu(), threads, size, pairs);
        for (int k = 0; k < WARM; k++)
            bench_run_step(&runs[i], false);
    }
    for (int k = 0; k < rounds; k++) {
        double seconds[RUNS];
        for (int i = 0; i < RUNS; i++)
            seconds[(i + k) % RUNS] = bench_run_step(&runs[(i + k) % RUNS], false); /* none always follows the same */
        for (int i = 0; i < RUNS; i++)
            ratio[i][k] = seconds[i] / seconds[0];
    }
    printf(
        "\n%s, %d threads: time of a step against the baseline's, median of %d rounds (another baseline: %.3f)\n%-14s",
        size, threads, rounds, bench_median(ratio[1], rounds), "sites + aux");
    for (int g = 0; g < GATES; g++)
        printf("  gate %-5s", gates[g].name);
    for (int site = 0; site < 2; site++) {
        printf("\n%-14s", site ? "all" : "internal");
        for (int g = 0; g < GATES; g++)
            printf(" %11.3f", bench_median(ratio[2 + site * GATES + g], rounds));
    }
    printf("\n");
    for (int i = 0; i < RUNS; i++)
        bench_run_close(&runs[i]);
}

int main(int argc, char **argv)
{
    static char *standard[] = {"demo", "1M", "3M", "9M", "30M"};
    int most = parallel_processors(), threads[2] = {1, most};
    int counts = most > 1 ? 2 : 1, sizes = argc > 2 ? argc - 2 : (int)(sizeof standard / sizeof standard[0]);
    if (argc > 1) {
        threads[0] = (int)strtol(argv[1], NULL, 10);
        counts = 1;
    }
    table_of_sizes(argc > 2 ? argv + 2 : standard, sizes, threads, counts);
    if (argc < 3) {
        table_of_gates("1M", 1, 30);
        table_of_gates("9M", 1, 8);
    }
    return 0;
}
