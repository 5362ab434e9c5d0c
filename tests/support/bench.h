/* What the benchmarks share: a clock, medians, and the machine's matrix rate to measure against. */
#ifndef TAPER_TESTS_SUPPORT_BENCH_H
#define TAPER_TESTS_SUPPORT_BENCH_H

#include <sys/types.h>
#include <time.h>

/* Seconds; CLOCK_MONOTONIC, or CLOCK_THREAD_CPUTIME_ID where other programs may take the processor away. */
double bench_now(clockid_t clock);

/* The median of count > 0 numbers, which are sorted by this. */
double bench_median(double *values, int count);

/* FLOP/s of the BLAS' sgemm at BENCH_SGEMM^3, rows split over the threads, the best of `repeats`. The BLAS must have
 * been set up (gemm_setup, or a backend made). */
enum { BENCH_SGEMM = 2048 };
double bench_sgemm_rate(int threads, int repeats, clockid_t clock);

/* Start a program, looked up in PATH, that prints to nowhere. What cannot be started ends the process with a message.
 */
pid_t bench_start(char *const *words);

#endif
