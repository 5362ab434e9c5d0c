/* Two threads (or all processors) against one, on a quiet machine and beside a busy loop on every processor.
 *
 *   bench_threads [SIZE [ROUNDS]]     default: 1M, 15
 *
 * Wall time of whole training steps of 2,048 tokens, in turns within each round; medians. What it shows is that more
 * threads are never worse than one: beside busy loops a thread that waits for another which has no processor must give
 * its own away. The first table means nothing on a machine where something else runs. */
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/parallel.h"
#include "core/cpu/cpu.h"
#include "tests/support/bench.h"
#include "tests/support/bench_run.h"

enum { WARM = 3, ROUNDS_MOST = 256, PROCESSORS_MOST = 256 };

static pid_t busy_loop(void)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned n = 0;; n++)
        ;
}

/* Median seconds of a step with one thread and with all. */
static void measure(struct bench_run *runs, int rounds, double median[2])
{
    double seconds[2][ROUNDS_MOST];
    for (int i = 0; i < WARM * 2; i++)
        bench_run_step(&runs[i % 2], false);
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < 2; i++)
            seconds[(i + k) % 2][k] = bench_run_step(&runs[(i + k) % 2], false);
    for (int i = 0; i < 2; i++)
        median[i] = bench_median(seconds[i], rounds);
}

int main(int argc, char **argv)
{
    const char *size = argc > 1 ? argv[1] : "1M";
    const int asked = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 15;
    const int rounds = asked < 1 ? 1 : asked > ROUNDS_MOST ? ROUNDS_MOST : asked;
    const int processors = parallel_processors();
    static struct bench_run runs[2];
    pid_t loops[PROCESSORS_MOST];
    double quiet[2], loaded[2];
    for (int i = 0; i < 2; i++) {
        bench_run_open(&runs[i], ops_cpu(), i ? processors : 1, size, NULL);
        runs[i].clock = CLOCK_MONOTONIC;
    }
    measure(runs, rounds, quiet);
    const int count = processors < PROCESSORS_MOST ? processors : PROCESSORS_MOST;
    for (int i = 0; i < count; i++)
        loops[i] = busy_loop();
    measure(runs, rounds, loaded);
    for (int i = 0; i < count; i++)
        if (loops[i] > 0 && kill(loops[i], SIGKILL) == 0)
            waitpid(loops[i], NULL, 0);
    printf("\nms a step of %s, median of %d\n%-32s %10s %10s %8s\n", size, rounds, "", "1 thread", "all", "ratio");
    printf("%-32s %10.1f %10.1f %8.2f\n", "nothing else (if so)", 1e3 * quiet[0], 1e3 * quiet[1], quiet[1] / quiet[0]);
    printf("%-32s %10.1f %10.1f %8.2f\n", "a busy loop on every processor", 1e3 * loaded[0], 1e3 * loaded[1],
           loaded[1] / loaded[0]);
    for (int i = 0; i < 2; i++)
        bench_run_close(&runs[i]);
    return 0;
}
