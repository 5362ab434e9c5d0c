#include "harness/results/curve_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/results/metric_names.h"
#include "harness/store/store_rows.h"

/* LATELY_S: a run that ended so long ago has been told of to everybody who listens. */
enum { LATELY_S = 20 };

/* Where a metric's values come from: rows with a run, a step and a value. */
struct source {
    char *rows, *site;
};

static int find_source(struct source *out, const char *metric, struct error *err)
{
    const char *colon = strchr(metric, ':');
    char *name = memory_format("%.*s", (int)(colon ? colon - metric : (long)strlen(metric)), metric);
    const char *column = metric_among(colon ? metric_of_sites : metric_of_steps, name);
    *out = (struct source){0};
    if (column && colon) {
        out->rows = memory_format("(SELECT run, step, %s AS value FROM site_step_numeric WHERE site = :site)", column);
        out->site = memory_string(colon + 1);
    } else if (column) {
        out->rows = memory_format("(SELECT run, step, %s AS value FROM step_numeric)", column);
    } else if (strcmp(metric, "val_loss") == 0) {
        out->rows = memory_string("(SELECT run, step, loss AS value FROM eval_numeric WHERE split = 'valid')");
    }
    free(name);
    return out->rows ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "no metric '%s'", metric);
}

/* The last step of bucket i of n, by ratio where the axis is. */
static long long upper_edge(const struct curve_question *q, long long high, int i, int n)
{
    double low = (double)q->low, last = (double)high, part = (i + 1.0) / n;
    if (q->log_x)
        return i + 1 == n ? high : (long long)floor((low + 1) * pow((last + 1) / (low + 1), part)) - 1;
    return q->low - 1 + (long long)floor((last - low + 1) * part + 1e-9);
}

/* The steps of each bucket, in a table of the connection: the rows of a run come from it in order, and need no sorting.
 */
static int make_buckets(struct results *from, const struct curve_question *q, long long high, int points,
                        struct error *err)
{
    char *sql = NULL;
    size_t size = 0;
    long long above = q->low - 1;
    FILE *out = open_memstream(&sql, &size);
    fputs(
        "DROP TABLE IF EXISTS temp.curve_bucket; CREATE TEMP TABLE curve_bucket AS SELECT column1 AS above, column2 AS "
        "upto FROM (VALUES ",
        out);
    for (int i = 0; i < points; i++) {
        long long upto = upper_edge(q, high, i, points);
        if (upto <= above)
            continue;
        fprintf(out, "%s(%lld,%lld)", above >= q->low ? "," : "", above, upto);
        above = upto;
    }
    fputc(')', out);
    fclose(out);
    int status = store_make_temporary(from->store, "the buckets of a curve", sql, err);
    free(sql);
    return status;
}

static int open_rows(struct store_rows **out, struct results *from, const char *rows, const char *run, const char *site,
                     struct error *err)
{
    char *sql = memory_format("SELECT max(s.step), avg(s.value), min(s.value), max(s.value), count(*) FROM "
                              "curve_bucket b CROSS JOIN %s s ON s.run = :run AND s.step > b.above AND s.step <= "
                              "b.upto GROUP BY b.rowid",
                              rows);
    int status = store_rows_open(out, from->store, "a curve", sql, err);
    free(sql);
    if (status)
        return status;
    store_rows_bind(*out, ":run", run);
    store_rows_bind(*out, ":site", site);
    return STATUS_OK;
}

static void put_real(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.7g", value);
    else
        fputs("null", out);
}

static void put_text(FILE *out, const char *text)
{
    json_t *value = json_string(text ? text : "");
    if (!value || json_dumpf(value, out, JSON_ENCODE_ANY) != 0)
        fputs("\"(not UTF-8)\"", out);
    json_decref(value);
}

/* A column of numbers, grown as rows come. */
struct column {
    char *text;
    size_t size;
    FILE *out;
};

enum { STEP, MEAN, LEAST, MOST, COLUMNS };

static int put_columns(FILE *out, struct store_rows *rows, struct error *err)
{
    static const char *const names[] = {"step", "mean", "min", "max"};
    struct column columns[COLUMNS] = {{0}};
    bool found = false, thinned = false, first = true;
    int status;
    for (int c = 0; c < COLUMNS; c++)
        columns[c].out = open_memstream(&columns[c].text, &columns[c].size);
    for (; !(status = store_rows_next(rows, &found, err)) && found; first = false) {
        thinned |= store_rows_at(rows, COLUMNS).integer > 1;
        for (int c = 0; c < COLUMNS; c++) {
            fputs(first ? "" : ",", columns[c].out);
            put_real(columns[c].out, store_rows_at(rows, c).number);
        }
    }
    for (int c = 0; c < COLUMNS; c++) {
        fclose(columns[c].out);
        if (c <= MEAN || thinned)
            fprintf(out, ", \"%s\": [%s]", names[c], columns[c].text);
        free(columns[c].text);
    }
    return status;
}

static int put_gate(FILE *out, struct results *from, const char *run, struct error *err)
{
    struct store_rows *rows = NULL;
    bool found = false, first = true;
    int status = open_rows(&rows, from, "(SELECT run, step, gate AS value FROM step_numeric)", run, NULL, err);
    fputs(", \"gate\": [", out);
    for (; !status && !(status = store_rows_next(rows, &found, err)) && found; first = false) {
        fputs(first ? "[" : ",[", out);
        put_real(out, store_rows_at(rows, STEP).number);
        fputc(',', out);
        put_real(out, store_rows_at(rows, MEAN).number);
        fputc(']', out);
    }
    fputc(']', out);
    store_rows_close(rows);
    return status;
}

/* What a step of the run is on the axis. Batches are all of one size. */
static int find_scale(struct results *from, const char *x, const char *run, double *scale, struct error *err)
{
    static const char tokens[] = "SELECT tokens * 1.0 / step FROM step_numeric WHERE run = :run AND step > 0 ORDER BY "
                                 "step DESC LIMIT 1";
    static const char seconds[] = "SELECT avg(ms) / 1000 FROM step_numeric WHERE run = :run";
    struct store_rows *rows = NULL;
    bool found = false;
    *scale = 1;
    if (strcmp(x, "step") == 0)
        return STATUS_OK;
    int status = store_rows_open(&rows, from->store, "a curve", strcmp(x, "time") == 0 ? seconds : tokens, err);
    store_rows_bind(rows, ":run", run);
    if (!status)
        status = store_rows_next(rows, &found, err);
    if (!status && found && isfinite(store_rows_at(rows, 0).number))
        *scale = store_rows_at(rows, 0).number;
    store_rows_close(rows);
    return status;
}

enum { RUN, GROUP, SEED, STATE, PLACE };

static int put_series(FILE *out, struct results *from, const struct curve_question *q, const struct source *source,
                      const struct result_rows *runs, int r, struct error *err)
{
    const char *run = result_text(runs, r, RUN);
    int group = (int)result_number(runs, r, GROUP);
    struct store_rows *rows = NULL;
    double scale = 1;
    int status = find_scale(from, q->x, run, &scale, err);
    if (!status)
        status = open_rows(&rows, from, source->rows, run, source->site, err);
    if (status)
        return status;
    fprintf(out, "{\"run\": \"%s\", \"group\": %d, \"seed\": %.0f, \"state\": \"%s\", \"scale\": %.9g", run, group,
            result_number(runs, r, SEED), result_text(runs, r, STATE), scale);
    status = put_columns(out, rows, err);
    store_rows_close(rows);
    if (!status && from->groups.group[group].tapered && result_number(runs, r, PLACE) == 1)
        status = put_gate(out, from, run, err);
    fputc('}', out);
    return status;
}

static void put_head(FILE *out, const struct results *from, const struct curve_question *q, long long high, int points)
{
    fputs("{\"sweep\": ", out);
    put_text(out, q->sweep);
    fputs(", \"metric\": ", out);
    put_text(out, q->metric);
    fprintf(out, ", \"x\": \"%s\", \"low\": %lld, \"high\": %lld, \"points\": %d,\n\"groups\": [", q->x, q->low, high,
            points);
    for (int g = 0; g < from->groups.count; g++) {
        char *name = result_group_name(&from->groups, g);
        fprintf(out, "%s{\"name\": ", g ? ", " : "");
        put_text(out, name);
        fprintf(out, ", \"tapered\": %s, \"baseline\": %s}", from->groups.group[g].tapered ? "true" : "false",
                from->groups.group[g].baseline ? "true" : "false");
        free(name);
    }
    fputs("],\n\"series\": [", out);
}

/* The runs that are asked for: the first seed of every group, the second of every one ... */
static int find_runs(struct result_rows *out, struct results *from, const struct curve_question *q, struct error *err)
{
    char *run = result_quote(q->run);
    char *sql = memory_format(
        "SELECT run, grp, seed, state, place FROM (SELECT s.run, s.grp, s.seed, r.state, r.ended, "
        "row_number() OVER (PARTITION BY s.grp ORDER BY s.seed, s.run) AS place FROM run_shown s JOIN run r ON r.id = "
        "s.run) WHERE (%s IS NULL OR run = %s) AND (NOT %d OR state IN ('starting', 'running') OR ended > %lld) ORDER "
        "BY "
        "place, grp, run",
        run, run, q->live, (long long)(store_now() - LATELY_S * 1000000LL));
    int status = result_query(out, from->store, "the runs", sql, NULL, err);
    free(sql);
    free(run);
    return status;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of the longest of all runs that could be asked for: the same whichever have changed. */
static int find_high(long long *high, struct results *from, const struct curve_question *q, struct error *err)
{
    struct result_rows rows = {0};
    *high = q->high > q->low ? q->high : q->low + 1;
    if (q->high)
        return STATUS_OK;
    char *run = result_quote(q->run);
    char *sql = memory_format("SELECT max(steps) FROM run_shown WHERE %s IS NULL OR run = %s", run, run);
    int status = result_query(&rows, from->store, "the runs", sql, NULL, err);
    if (!status && result_number(&rows, 0, 0) > (double)*high)
        *high = (long long)result_number(&rows, 0, 0);
    result_rows_fini(&rows);
    free(sql);
    free(run);
    return status;
}

int curve_write(FILE *out, struct results *from, const struct curve_question *q, struct error *err)
{
    struct source source;
    struct result_rows runs = {0};
    double begun = now_ms();
    if (strcmp(q->x, "step") != 0 && strcmp(q->x, "tokens") != 0 && strcmp(q->x, "time") != 0)
        return error_set(err, STATUS_BAD_INPUT, "x: want step, tokens or time, got '%s'", q->x);
    int status = find_source(&source, q->metric, err);
    if (!status)
        status = find_runs(&runs, from, q, err);
    long long high = 1, r = q->from;
    if (!status)
        status = find_high(&high, from, q, err);
    long long steps = high - q->low + 1;
    int points = q->points < steps ? q->points : (int)steps;
    if (!status)
        status = make_buckets(from, q, high, points, err);
    if (!status)
        put_head(out, from, q, high, points);
    for (; !status && r < runs.rows && (r == q->from || now_ms() - begun < q->milliseconds); r++) {
        fputs(r == q->from ? "\n" : ",\n", out);
        status = put_series(out, from, q, &source, &runs, (int)r, err);
    }
    fprintf(out, "],\n\"runs\": %d, \"next\": ", runs.rows);
    fprintf(out, r < runs.rows ? "%lld}\n" : "null}\n", r);
    result_rows_fini(&runs);
    free(source.rows);
    free(source.site);
    return status;
}
