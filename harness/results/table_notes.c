#include "harness/results/table_notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/results/statistics.h"

enum { SEEDS_NAMED = 8, OUTLIERS_NAMED = 8, FLAGS_NAMED = 8 };

/* Grows a text; takes over `more`. */
static void add(char **text, const char *between, char *more)
{
    char *longer = *text ? memory_format("%s%s%s", *text, between, more) : memory_string(more);
    free(*text);
    free(more);
    *text = longer;
}

/* Rows that something holds for. */
struct those {
    const struct result_rows *rows;
    int count;
    int *row;
};

static void take(struct those *t, int row)
{
    t->row[t->count++] = row;
}

/* "failed: seeds 1, 3"; nothing when there are none. */
static void say(char **text, const char *what, struct those *t)
{
    int seed = result_column(t->rows, "seed");
    if (t->count == 0)
        return;
    char *line = seed < 0 || t->count > SEEDS_NAMED ? memory_format("%s: %d runs", what, t->count)
                                                    : memory_format("%s: seed%s", what, t->count > 1 ? "s" : "");
    for (int i = 0; seed >= 0 && t->count <= SEEDS_NAMED && i < t->count; i++)
        add(&line, i ? ", " : " ", memory_format("%.0f", result_number(t->rows, t->row[i], seed)));
    add(text, "; ", line);
    t->count = 0;
}

static bool is_state(const struct result_rows *rows, int row, int column, const char *state)
{
    const char *text = result_text(rows, row, column);
    return text ? strcmp(text, state) == 0 : strcmp(state, "done") == 0;
}

static void say_outliers(char **text, const struct result_rows *rows, int begin, int end, const struct layout_column *c)
{
    int value = result_column(rows, c->value), seed = result_column(rows, "seed"), n = 0;
    double *x = memory_alloc((size_t)(end - begin), sizeof *x);
    bool *out = memory_alloc((size_t)(end - begin), sizeof *out);
    int *row = memory_alloc((size_t)(end - begin), sizeof *row);
    for (int r = begin; r < end; r++)
        if (isfinite(result_number(rows, r, value))) {
            row[n] = r;
            x[n++] = result_number(rows, r, value);
        }
    int outliers = statistics_outliers(x, n, out);
    for (int i = 0; outliers > OUTLIERS_NAMED && i < n; i++)
        out[i] = false;
    if (outliers > OUTLIERS_NAMED)
        add(text, "; ", memory_format("outliers, kept in the mean: %d runs", outliers));
    for (int i = 0; i < n; i++) {
        char number[32];
        format_fixed(number, x[i], c->digits);
        if (out[i] && seed >= 0)
            add(text, "; ",
                memory_format("outlier, kept in the mean: seed %.0f (%s)", result_number(rows, row[i], seed), number));
        else if (out[i])
            add(text, "; ", memory_format("outlier, kept in the mean: %s", number));
    }
    free(x);
    free(out);
    free(row);
}

/* The query's own words, each with the runs that it says them of. */
static void say_flags(char **text, struct those *found, int begin, int end)
{
    const struct result_rows *rows = found->rows;
    int flag = result_column(rows, "flag"), kinds = 0;
    bool *said = memory_alloc((size_t)(end - begin), sizeof *said);
    for (int r = begin; flag >= 0 && r < end; r++) {
        const char *words = result_text(rows, r, flag);
        if (!words || said[r - begin])
            continue;
        if (kinds++ == FLAGS_NAMED) {
            add(text, "; ", memory_string("and more of the kind"));
            break;
        }
        for (int i = r; i < end; i++)
            if (result_text(rows, i, flag) && strcmp(result_text(rows, i, flag), words) == 0) {
                said[i - begin] = true;
                take(found, i);
            }
        say(text, words, found);
    }
    free(said);
}

char *table_notes(const struct result_rows *rows, int begin, int end, const struct layout_column *column)
{
    static const char *const states[] = {"failed", "cancelled", "paused", "running", "starting", "queued"};
    int value = result_column(rows, column->value), pair = column->pair ? result_column(rows, column->pair) : -1;
    int raw = column->of ? result_column(rows, column->of) : -1;
    int state = result_column(rows, "state");
    struct those found = {rows, 0, memory_alloc((size_t)(end - begin), sizeof *found.row)};
    char *text = NULL;
    for (size_t s = 0; s < sizeof states / sizeof states[0]; s++) {
        for (int r = begin; r < end; r++)
            if (is_state(rows, r, state, states[s]))
                take(&found, r);
        say(&text, states[s], &found);
    }
    for (int r = begin; r < end; r++)
        if (is_state(rows, r, state, "done") && !isfinite(result_number(rows, r, value)) && result_text(rows, r, raw))
            take(&found, r);
    say(&text, "not finite, left out of the mean", &found);
    for (int r = begin; r < end; r++)
        if (is_state(rows, r, state, "done") && !isfinite(result_number(rows, r, value)) && !result_text(rows, r, raw))
            take(&found, r);
    say(&text, "no value", &found);
    for (int r = begin; pair >= 0 && r < end; r++)
        if (isfinite(result_number(rows, r, value)) && !isfinite(result_number(rows, r, pair)))
            take(&found, r);
    say(&text, "no baseline to compare with", &found);
    say_outliers(&text, rows, begin, end, column);
    say_flags(&text, &found, begin, end);
    free(found.row);
    return text;
}
