#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/version.h"
#include "tests/gpu/tool/tool.h"

double tool_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void report_open(struct tool_report *r, FILE *out)
{
    *r = (struct tool_report){.rows = json_array(), .out = out, .begun = tool_seconds()};
}

void report_close(struct tool_report *r)
{
    json_decref(r->rows);
    *r = (struct tool_report){0};
}

/* A number as JSON has it: text where it is none. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_string(isnan(x) ? "nan" : "inf");
}

static void add(struct tool_report *r, const char *name, json_t *value, json_t *bound, const char *unit, bool ok)
{
    double now = tool_seconds(), seconds = now - r->begun;
    r->failed += !ok;
    r->begun = now;
    json_array_append_new(r->rows, json_pack("{s:s, s:o, s:o, s:s, s:b, s:f}", "name", name, "value", value, "bound",
                                             bound, "unit", unit, "ok", ok, "seconds", seconds));
    struct error err = {0};
    if (r->path && report_write(r, &err)) {
        fprintf(stderr, "%s\n", err.text);
        r->failed++;
    }
}

void report_check(struct tool_report *r, double value, double bound, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    bool ok = value <= bound;
    if (r->out)
        fprintf(r->out, "%-6s %-72s %9.2e  at most %.1e\n", ok ? "ok" : "FAILED", name, value, bound);
    add(r, name, number(value), number(bound), "error", ok);
}

void report_fault(struct tool_report *r, const char *text, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (r->out)
        fprintf(r->out, "%-6s %-72s %s\n", "FAILED", name, text);
    add(r, name, json_string(text), json_null(), "fault", false);
}

void report_number(struct tool_report *r, double value, const char *unit, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (r->out)
        fprintf(r->out, "%-79s %14.4g %s\n", name, value, unit);
    add(r, name, number(value), json_null(), unit, true);
}

int report_write(const struct tool_report *r, struct error *err)
{
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s, s:O}", "device", r->device ? r->device : "", "build", r->build ? r->build : "",
                  "version", version_string(), "revision", version_revision(), "rows", r->rows);
    char *text = json_dumps(all, JSON_INDENT(1));
    int status = text ? file_write_all(r->path, text, strlen(text), err)
                      : error_set(err, STATUS_FAILED, "%s: cannot write", r->path);
    free(text);
    json_decref(all);
    return status;
}

int report_resume(struct tool_report *r, const char *path, struct error *err)
{
    json_error_t fault;
    size_t i;
    json_t *all = json_load_file(path, 0, &fault), *rows = json_object_get(all, "rows"), *row;
    if (!json_is_array(rows)) {
        json_decref(all);
        return error_set(err, STATUS_BAD_INPUT, "%s: no report: %s", path, fault.text);
    }
    json_array_foreach(rows, i, row) json_array_append(r->rows, row);
    json_decref(all);
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------ variants */

/* A table's functions have no place for a setting: the table behind the variants, and the precisions' creates. */
static const struct ops *inner;

static int create_with(struct backend **out, const struct backend_options *options, enum precision_kind precision,
                       struct error *err)
{
    struct backend_options changed = *options;
    changed.precision = precision;
    return inner->create(out, &changed, err);
}

static int create_full(struct backend **out, const struct backend_options *options, struct error *err)
{
    return create_with(out, options, PRECISION_FP32, err);
}

static int create_half(struct backend **out, const struct backend_options *options, struct error *err)
{
    return create_with(out, options, PRECISION_BF16, err);
}

static void replay_plainly(struct backend *be, int key, uint64_t epoch, void (*body)(void *arg), void *arg)
{
    (void)be;
    (void)key;
    (void)epoch;
    body(arg);
}

void tool_variant(struct ops *out, const struct ops *ops, enum precision_kind precision, bool recordings)
{
    inner = ops;
    *out = *ops;
    out->create = precision == PRECISION_FP32 ? create_full : create_half;
    if (!recordings)
        out->replay = replay_plainly;
}
