/* The best settings of a sweep. A setting is a group: one configuration, its runs the seeds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/listing.h"
#include "harness/base/terminal.h"
#include "harness/results/result_rows.h"
#include "harness/results/statistics.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

struct setting {
    int group, other; /* other: the last group that has its runs too, at another point of the grid; itself: none */
    int part, runs, done, paused, diverged, left; /* left: none of these three */
    struct summary loss;                          /* of the runs that are done with a finite loss */
};

struct best {
    struct result_verb verb;
    long long top;
    int *by, by_count; /* keys of the groups whose values make parts; -1: model.size */
    struct setting *settings;
    int count, parts;
};

/* ------------------------------------------------------------------------------------------- settings */

static const char *value_of(const struct result_group *g, int key)
{
    return key < 0 ? g->size : g->values[key];
}

static bool same_part(const struct best *b, const struct result_group *x, const struct result_group *y)
{
    bool same = strcmp(x->variant, y->variant) == 0;
    for (int i = 0; i < b->by_count; i++)
        same &= strcmp(value_of(x, b->by[i]), value_of(y, b->by[i])) == 0;
    return same;
}

static int find_keys(struct best *b, struct error *err)
{
    const struct result_groups *g = &b->verb.from.groups;
    b->by_count = b->verb.choice.by_count;
    b->by = memory_alloc((size_t)b->by_count + 1, sizeof *b->by);
    for (int i = 0; i < b->by_count; i++) {
        int k = g->key_count;
        while (k-- > 0 && strcmp(g->keys[k], b->verb.choice.by[i]) != 0)
            ;
        b->by[i] = k;
        if (k < 0 && strcmp(b->verb.choice.by[i], "model.size") != 0)
            return error_set(err, STATUS_BAD_INPUT, "--by %s: the runs of sweep %s do not differ in it",
                             b->verb.choice.by[i], g->sweep);
    }
    return STATUS_OK;
}

/* A setting that no loss can be given for: none of its runs is done, or one diverged. */
static bool is_without(const struct setting *s)
{
    return s->diverged > 0 || s->loss.n == 0;
}

/* Lower mean first; what has no finite loss comes last, diverged runs behind those that are still to end. A setting
 * one of whose runs diverged is no better than its diverged run. */
static int better(const void *left, const void *right)
{
    const struct setting *a = left, *b = right;
    const bool no_a = is_without(a), no_b = is_without(b);
    if (a->part != b->part)
        return a->part - b->part;
    if (no_a != no_b)
        return no_a - no_b;
    if (no_a && (a->diverged > 0) != (b->diverged > 0))
        return (a->diverged > 0) - (b->diverged > 0);
    if (!no_a && a->loss.mean != b->loss.mean)
        return a->loss.mean < b->loss.mean ? -1 : 1;
    return a->group - b->group;
}

/* Which setting has taken the run of row r, of those in the same part; NULL: none. A run that is the same at several
 * points of the grid, as a baseline is, stands in a group for each of them. */
static struct setting *taken_by(const struct best *b, const struct result_rows *rows, const int *taken, int r, int part)
{
    for (int q = 0; q < r; q++)
        if (taken[q] >= 0 && b->settings[taken[q]].part == part &&
            strcmp(result_text(rows, q, 5), result_text(rows, r, 5)) == 0)
            return &b->settings[taken[q]];
    return NULL;
}

static void add_run(struct setting *s, const struct result_rows *rows, int r, double *losses)
{
    const char *state = result_text(rows, r, 1);
    const double loss = result_number(rows, r, 2);
    const bool done = state && strcmp(state, "done") == 0 && result_number(rows, r, 3) > 0;
    const bool diverged = (done && !isfinite(loss)) || result_number(rows, r, 4) > 0;
    const bool paused = state && strcmp(state, "paused") == 0;
    s->runs++;
    s->done += done;
    s->diverged += diverged;
    s->paused += paused;
    s->left += !done && !paused && !diverged;
    if (done && isfinite(loss))
        losses[s->loss.n++] = loss;
}

/* That of the group that row *r begins with; *r is then behind it. */
static void read_setting(struct best *b, const struct result_rows *rows, int *r, int *taken, double *losses)
{
    const struct result_groups *g = &b->verb.from.groups;
    const int group = (int)result_number(rows, *r, 0);
    struct setting s = {.group = group, .other = group, .part = b->parts};
    for (int i = 0; i < b->count; i++)
        if (same_part(b, &g->group[b->settings[i].group], &g->group[group]))
            s.part = b->settings[i].part;
    for (; *r < rows->rows && (int)result_number(rows, *r, 0) == group; ++*r) {
        struct setting *owner = taken_by(b, rows, taken, *r, s.part);
        taken[*r] = owner ? -1 : b->count;
        if (owner)
            owner->other = group;
        else
            add_run(&s, rows, *r, losses);
    }
    if (s.runs == 0)
        return;
    s.loss = statistics_summary(losses, s.loss.n);
    b->parts += s.part == b->parts;
    b->settings[b->count++] = s;
}

static int read_settings(struct best *b, struct error *err)
{
    struct result_rows rows;
    int status = result_query(&rows, b->verb.store, "the losses",
                              "SELECT grp, state, max(val_loss) AS loss, max(val_loss_raw IS NOT NULL) AS ended, "
                              "state = 'failed' AND (SELECT cause FROM attempt a WHERE a.run = m.run ORDER BY attempt "
                              "DESC LIMIT 1) = 'diverged' AS diverged, run FROM run_shown m GROUP BY grp, run "
                              "ORDER BY grp, run",
                              NULL, err);
    if (status)
        return status;
    double *losses = memory_alloc((size_t)rows.rows + 1, sizeof *losses);
    int *taken = memory_alloc((size_t)rows.rows + 1, sizeof *taken);
    b->settings = memory_alloc((size_t)b->verb.from.groups.count + 1, sizeof *b->settings);
    for (int r = 0; r < rows.rows;)
        read_setting(b, &rows, &r, taken, losses);
    free(taken);
    free(losses);
    result_rows_fini(&rows);
    qsort(b->settings, (size_t)b->count, sizeof *b->settings, better);
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------- printing */

static void number(struct listing *t, enum listing_format format, double x, int digits)
{
    char text[32];
    if (isnan(x)) {
        listing_null(t);
    } else if (format == LISTING_TEXT) {
        snprintf(text, sizeof text, "%.*f", digits, x);
        listing_text(t, text);
    } else {
        listing_real(t, x);
    }
}

static int print_settings(const struct best *b, enum listing_format format, struct error *err)
{
    const struct result_groups *g = &b->verb.from.groups;
    const bool sizes = result_groups_sizes_differ(g);
    const char **names = memory_alloc((size_t)g->key_count + 8, sizeof *names);
    int columns = 0;
    names[columns++] = "variant";
    names[columns++] = "rank";
    names[columns++] = "of";
    if (sizes)
        names[columns++] = "model.size";
    for (int k = 0; k < g->key_count; k++)
        names[columns++] = g->keys[k];
    names[columns++] = "val_loss";
    names[columns++] = "ci95";
    names[columns++] = "done";
    names[columns++] = "paused";
    names[columns++] = "runs";
    struct listing *t = listing_begin(stdout, format, names, columns);
    listing_fit(t, terminal_of(STDOUT_FILENO).columns);
    for (int i = 0, first = 0; i < b->count; i++) {
        const struct setting *s = &b->settings[i];
        const struct result_group *group = &g->group[s->group];
        int of = 0;
        first = i > 0 && s->part != s[-1].part ? i : first;
        if (i - first >= b->top || is_without(s))
            continue;
        for (int j = first; j < b->count && b->settings[j].part == s->part; j++)
            of++;
        listing_text(t, group->variant);
        listing_integer(t, i - first + 1);
        listing_integer(t, of);
        if (sizes)
            listing_text(t, group->size);
        for (int k = 0; k < g->key_count; k++) /* blank where it stands for several values, as a baseline does */
            listing_text(t, strcmp(group->values[k], g->group[s->other].values[k]) == 0 ? group->values[k] : NULL);
        number(t, format, s->loss.mean, 4);
        number(t, format, statistics_half_width(&s->loss, 0.95), 4);
        listing_integer(t, s->done);
        listing_integer(t, s->paused);
        listing_integer(t, s->runs);
    }
    free(names);
    return listing_end(t, err);
}

/* What the numbers are, and what they are not. */
static void print_notes(const struct best *b)
{
    int left = 0, most = 1, paused = 0, partly = 0, diverged = 0;
    for (int i = 0; i < b->count; i++) {
        const struct setting *s = &b->settings[i];
        left += s->left;
        paused += s->paused;
        diverged += s->diverged > 0;
        partly += s->paused > 0 && s->loss.n > 0;
        most = s->runs > most ? s->runs : most;
    }
    printf("\nval_loss: mean of the last validation losses over the seeds of a setting; ci95: half width of its 95 %% "
           "interval (Student's t, two seeds at least)\n");
    if (left > 0)
        printf("%d run%s %s not done: ranks can change\n", left, left == 1 ? "" : "s", left == 1 ? "is" : "are");
    if (diverged > 0)
        printf("%d setting%s with a run that diverged, left out\n", diverged, diverged == 1 ? "" : "s");
    if (paused > 0)
        printf("%d run%s paused by the search at a rung: 'taper show RUN' says why%s\n", paused, paused == 1 ? "" : "s",
               partly > 0
                   ? "; where only some seeds of a setting were, the others were the better ones, and so is their "
                     "mean"
                   : "");
    if (b->count > b->parts)
        printf("the best of many settings looks better than it is, since the same validation text chose it%s\n",
               most == 1 ? "; run it again with other seeds" : "");
}

static int best_exec(int argc, char **argv, struct error *err)
{
    bool json = false, csv = false;
    const char *top = NULL;
    struct best b = {.top = 5};
    const struct option_spec specs[] = {{.name = "json", .flag = &json},
                                        {.name = "csv", .flag = &csv},
                                        {.name = "top", .value = &top},
                                        {.name = "by", .each = result_verb_by, .arg = &b.verb.choice},
                                        {.name = "where", .each = result_verb_where, .arg = &b.verb.choice},
                                        {.name = "home", .value = &b.verb.home},
                                        {0}};
    int operands, status = options_parse(&cmd_best, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_best, err, "wants a sweep");
    if (!status && json && csv)
        status = command_usage(&cmd_best, err, "wants one of --csv and --json");
    if (!status && top)
        status = options_integer("--top", top, 1, 1000000, &b.top, err);
    const enum listing_format format = csv ? LISTING_CSV : json ? LISTING_JSON : LISTING_TEXT;
    if (!status)
        status = result_verb_open(&b.verb, err);
    if (!status)
        status = store_sweep_find(b.verb.store, argv[1], err);
    if (!status)
        status = results_prepare(&b.verb.from, argv[1], err);
    if (!status)
        status = find_keys(&b, err);
    if (!status)
        status = read_settings(&b, err);
    if (!status)
        status = print_settings(&b, format, err);
    if (!status && format == LISTING_TEXT)
        print_notes(&b);
    free(b.settings);
    free(b.by);
    result_verb_close(&b.verb);
    return status;
}

static const struct option_row best_options[] = {
    {"top", 0, "N", "so many settings of each variant (5)"},
    {"by", 0, "KEY", "the best for each value of this key too; again for more"},
    RESULT_WHERE_ROW,
    {"json", 0, NULL, "JSON, for scripts"},
    {"csv", 0, NULL, "CSV, for scripts"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_best = {
    .name = "best",
    .operands = "SWEEP",
    .brief = "the settings of a sweep with the lowest validation loss",
    .about = "A setting is one configuration of a variant, its seeds taken together; each variant is ranked by itself. "
             "A setting\n"
             "with a run that diverged has no rank, nor has one of which none is done; `of` counts all.\n",
    .options = best_options,
    .exec = best_exec,
};
