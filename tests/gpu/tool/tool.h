/* What needs a device: the checks of `make gpu-check` and the timings of `make gpu-bench`, as a table and as JSON.
 *
 * The checks are written over an ops table, so that the ordinary tests can run them on the simulated device. */
#ifndef TAPER_TESTS_GPU_TOOL_H
#define TAPER_TESTS_GPU_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/ops.h"

/* Rows of {name, value, bound or 0, unit, ok, seconds}. */
struct tool_report {
    json_t *rows;
    int failed;
    FILE *out; /* each row is printed as it comes; NULL: not */
    double begun; /* of the row in the making, seconds */
};

void report_open(struct tool_report *r, FILE *out);
void report_close(struct tool_report *r);

/* A check: ok when value <= bound (NaN never is). */
void report_check(struct tool_report *r, double value, double bound, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A check that could not be made. */
void report_fault(struct tool_report *r, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A measurement. */
void report_number(struct tool_report *r, double value, const char *unit, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* {device, build, version, rows} to a file. */
int report_write(const struct tool_report *r, const char *path, const char *device, const char *build,
                 struct error *err);

double tool_seconds(void);

/* A copy of a table that always works in a precision, and, if not, without recordings. */
void tool_variant(struct ops *out, const struct ops *ops, enum precision_kind precision, bool recordings);

struct check_options {
    bool tiny;   /* small models only, a few steps: for the simulated device, and for a sanitizer on a real one */
    int threads; /* of the CPU's side */
};

/* Every op's cases, gradients of a step of every preset, a loss curve, recordings, repeatability. */
void check_run(struct tool_report *r, const struct ops *ops, const struct check_options *options);

/* The timings. tiny: the demo model and a few repeats. */
void bench_run(struct tool_report *r, const struct ops *ops, bool tiny);

#endif
