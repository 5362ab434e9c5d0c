#include "harness/verbs/status_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/store/status.h"

enum { HEAD, SWEEPS, LIVE, WAITING, FAILURES, PARTS };

static const char *const part_names[PARTS] = {"lines", "sweeps", "live runs", "reasons", "failures"};

struct lines {
    char **line;
    int count;
};

static void add(struct lines *l, char *line)
{
    l->line = memory_resize(l->line, (size_t)l->count + 1, sizeof *l->line);
    l->line[l->count++] = line;
}

static void release(struct lines parts[PARTS])
{
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < parts[p].count; i++)
            free(parts[p].line[i]);
        free(parts[p].line);
    }
}

static long long number(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static bool any_queued(const json_t *all)
{
    size_t i;
    const json_t *sweep;
    bool any = false;
    for (i = 0; (sweep = json_array_get(json_object_get(all, "sweeps"), i)); i++)
        any |= number(sweep, "queued") > 0;
    return any;
}

static void add_head(struct lines *l, const json_t *all, const struct home *home)
{
    const json_t *daemon = json_object_get(all, "daemon");
    const char *trouble = json_string_value(json_object_get(daemon, "trouble"));
    if (json_is_object(daemon))
        add(l, memory_format("daemon: process %lld, %s", number(daemon, "pid"), home->dir));
    else if (home->alone)
        add(l, memory_format("database: %s", home->database));
    else
        add(l, memory_format("daemon: none, %s%s", home->dir,
                             any_queued(all) && !store_is_held(home) ? "; what is queued waits for one ('taper daemon')"
                                                                     : ""));
    if (trouble && trouble[0])
        add(l, memory_format("waiting: %s", trouble));
    if (json_is_true(json_object_get(all, "paused")))
        add(l, memory_string("paused: nothing is started until 'taper resume'"));
}

enum { BAR = 20 };

/* # done, - paused by its search, x over otherwise, + live, . to come; what there is of any has a mark. */
static const char *bar(const json_t *sweep, char to[BAR + 1])
{
    const long long runs = number(sweep, "runs");
    const struct {
        char mark;
        long long runs;
    } kinds[] = {{'#', number(sweep, "done")},
                 {'-', number(sweep, "paused_runs")},
                 {'x', number(sweep, "failed") + number(sweep, "cancelled")},
                 {'+', number(sweep, "running") + number(sweep, "starting")}};
    int at = 0;
    long long before = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        before += kinds[k].runs;
        int end = runs > 0 ? (int)(before * BAR / runs) : 0;
        end = kinds[k].runs > 0 && end == at && end < BAR ? end + 1 : end;
        for (; at < end; at++)
            to[at] = kinds[k].mark;
    }
    memset(to + at, '.', (size_t)(BAR - at));
    to[BAR] = '\0';
    return to;
}

static void add_sweep(struct lines *l, const json_t *row, bool bars)
{
    char text[160], drawn[BAR + 1];
    const char *paused = json_is_true(json_object_get(row, "paused")) ? "; paused" : "";
    const char *name = json_string_value(json_object_get(row, "sweep"));
    add(l, bars ? memory_format("%-16s [%s] %s%s", name, bar(row, drawn), status_counts(row, text), paused)
                : memory_format("%-24s %6lld runs: %s%s", name, number(row, "runs"), status_counts(row, text), paused));
}

static bool is_of(const json_t *row, const char *sweep, const char *bracket)
{
    return strcmp(json_string_value(json_object_get(row, "sweep")), sweep) == 0 &&
           strcmp(json_string_value(json_object_get(row, "bracket")), bracket) == 0;
}

/* A line for each bracket of a search: "  all rung 1 (step 8): 4 of 9 went on, best 6.1; rung 2 ..." */
static void add_rungs(struct lines *l, const json_t *rungs, const char *sweep)
{
    size_t i = 0;
    const json_t *row;
    while ((row = json_array_get(rungs, i))) {
        const char *bracket = json_string_value(json_object_get(row, "bracket"));
        char *line = NULL;
        size_t size = 0;
        if (!is_of(row, sweep, bracket)) {
            i++;
            continue;
        }
        FILE *out = open_memstream(&line, &size);
        fprintf(out, "  %s", bracket);
        for (const char *before = ""; row && is_of(row, sweep, bracket); row = json_array_get(rungs, ++i)) {
            const json_t *best = json_object_get(row, "best");
            fprintf(out, "%s rung %lld (step %lld): %lld of %lld went on, best ", before, number(row, "rung"),
                    number(row, "step"), number(row, "kept"), number(row, "reached"));
            if (json_is_number(best))
                fprintf(out, "%.4f", json_number_value(best));
            else
                fputs("not finite", out);
            before = ";";
        }
        fclose(out);
        add(l, line);
    }
}

static bool goes_on(const json_t *sweep)
{
    return number(sweep, "queued") + number(sweep, "starting") + number(sweep, "running") > 0;
}

static void add_failure(struct lines *l, const json_t *row)
{
    char time[32];
    const char *cause = json_string_value(json_object_get(row, "cause"));
    const char *why = json_string_value(json_object_get(row, "text"));
    add(l, memory_format("  %s  %-14.40s failed %s: %s%s%.150s", json_string_value(json_object_get(row, "run")),
                         json_string_value(json_object_get(row, "variant")), format_time(time, number(row, "ended")),
                         cause ? cause : "?", why && why[0] ? ": " : "", why ? why : ""));
}

/* A GPU that is set aside, unless a reason to wait has named it. */
static void add_aside(struct lines *l, const json_t *row)
{
    char time[32];
    const char *device = json_string_value(json_object_get(row, "device"));
    for (int i = 0; i < l->count; i++)
        if (strstr(l->line[i], device))
            return;
    add(l, memory_format("  %s is set aside since %s: %.150s; 'taper devices --use' takes it back", device,
                         format_time(time, number(row, "since")), json_string_value(json_object_get(row, "why"))));
}

static void collect(struct lines parts[PARTS], const json_t *all, const struct home *home, bool bars)
{
    size_t i;
    char text[256];
    const json_t *row, *sweeps = json_object_get(all, "sweeps");
    add_head(&parts[HEAD], all, home);
    for (int pass = 0; pass < (bars ? 2 : 1); pass++)
        for (i = 0; (row = json_array_get(sweeps, i)); i++)
            if (!bars || goes_on(row) == (pass == 0)) {
                add_sweep(&parts[SWEEPS], row, bars);
                if (goes_on(row) || json_array_size(sweeps) == 1)
                    add_rungs(&parts[SWEEPS], json_object_get(all, "rungs"),
                              json_string_value(json_object_get(row, "sweep")));
            }
    for (i = 0; (row = json_array_get(json_object_get(all, "live"), i)); i++)
        add(&parts[LIVE], memory_format("  %s", status_live(row, text)));
    for (i = 0; (row = json_array_get(json_object_get(all, "waiting"), i)); i++)
        add(&parts[WAITING], memory_format("  %s", json_string_value(json_object_get(row, "text"))));
    for (i = 0; (row = json_array_get(json_object_get(all, "aside"), i)); i++)
        add_aside(&parts[WAITING], row);
    for (i = 0; (row = json_array_get(json_object_get(all, "failures"), i)); i++)
        add_failure(&parts[FAILURES], row);
}

void status_print(FILE *out, const json_t *all, const struct home *home)
{
    struct lines parts[PARTS] = {{0}};
    collect(parts, all, home, false);
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < parts[p].count; i++)
            fprintf(out, "%s\n", parts[p].line[i]);
    release(parts);
}

/* Lines of each part that so many rows hold: the longest part gives first. */
static void fit(const struct lines parts[PARTS], int rows, int shown[PARTS])
{
    int total = 0;
    for (int p = 0; p < PARTS; p++)
        total += shown[p] = parts[p].count;
    for (; total > rows; total--) {
        int longest = HEAD;
        for (int p = 0; p < PARTS; p++)
            longest = shown[p] > shown[longest] ? p : longest;
        if (shown[longest] == 0)
            return;
        shown[longest]--;
    }
}

static void put_line(FILE *out, const char *line, int columns, bool red)
{
    fprintf(out, "%s%.*s%s\033[K\n", red ? "\033[31m" : "", (int)terminal_cut(line, columns), line,
            red ? "\033[0m" : "");
}

void status_print_window(FILE *out, const json_t *all, const struct home *home, struct terminal window, bool colours)
{
    struct lines parts[PARTS] = {{0}};
    int shown[PARTS];
    collect(parts, all, home, true);
    fit(parts, window.rows - 1, shown);
    fputs("\033[H", out);
    for (int p = 0; p < PARTS; p++) {
        bool cut = shown[p] < parts[p].count;
        for (int i = 0; i < shown[p] - cut; i++)
            put_line(out, parts[p].line[i], window.columns, colours && p == FAILURES);
        if (cut && shown[p] > 0) {
            char *more = memory_format("  ... %d more %s", parts[p].count - shown[p] + 1, part_names[p]);
            put_line(out, more, window.columns, false);
            free(more);
        }
    }
    fputs("\033[J", out);
    release(parts);
}
