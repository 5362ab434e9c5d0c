/* What needs a device: the checks of `make gpu-check` and the timings of `make gpu-bench`, as a table and as JSON.
 *
 * The checks are written over an ops table, so that the ordinary tests can run them on the simulated device. */
#ifndef TAPER_TESTS_GPU_TOOL_H
#define TAPER_TESTS_GPU_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/config/config.h"
#include "core/ops/ops.h"

/* Rows of {name, value, bound or 0, unit, ok, seconds}. */
struct tool_report {
    json_t *rows;
    int failed;
    FILE *out;                         /* each row is printed as it comes; NULL: not */
    double begun;                      /* of the row in the making, seconds */
    const char *path, *device, *build; /* where every row is written as it comes; path NULL: nowhere */
};

void report_open(struct tool_report *r, FILE *out);
/* Take in the rows of a file that another report wrote, to add to them. */
int report_resume(struct tool_report *r, const char *path, struct error *err);
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

/* {device, build, version, revision, rows} to r->path, whole or not at all: what stopped half way leaves what it had.
 */
int report_write(const struct tool_report *r, struct error *err);

double tool_seconds(void);

/* A copy of a table that always works in a precision, and, if not, without recordings. */
void tool_variant(struct ops *out, const struct ops *ops, enum precision_kind precision, bool recordings);

struct check_options {
    bool tiny;   /* small models only, a few steps: for the simulated device, and for a sanitizer on a real one */
    bool steps;  /* whole steps alone: of all phases, logged and not, recorded and not */
    int threads; /* of the CPU's side */
};

/* Every op's cases, gradients of a step of every preset, a loss curve, recordings, repeatability. */
void check_run(struct tool_report *r, const struct ops *ops, const struct check_options *options);

/* A preset's own shapes, op by op. */
void check_shapes(struct tool_report *r, const struct ops *ops, const struct config *cfg, const char *name,
                  const struct check_options *o, bool half);

/* tiny: the demo model and a few repeats, for the simulated device and for sanitizers. brief: a few sizes, half a
 * minute. */
enum bench_extent { BENCH_TINY, BENCH_BRIEF, BENCH_ALL };

/* The timings. */
void bench_run(struct tool_report *r, const struct ops *ops, enum bench_extent extent);

#endif
