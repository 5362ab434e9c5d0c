#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"
#include "harness/base/options.h"
#include "harness/base/terminal.h"
#include "harness/results/run_compare.h"
#include "harness/results/run_list.h"
#include "harness/verbs/commands.h"

/* Of two losses the second against the first. */
static void put_change(struct listing *t, const struct result_value *a, const struct result_value *b)
{
    char text[32];
    double change = 100 * (b->number - a->number) / a->number;
    if (isfinite(change))
        snprintf(text, sizeof text, "%+.2f %%", change);
    listing_text(t, isfinite(change) ? text : NULL);
}

static int print_part(const struct run_compare *p, int which, const char *first, const char *const names[2],
                      struct error *err)
{
    const struct result_rows *rows = &p->rows[which];
    const char *const columns[] = {first, names[0], names[1], "change"};
    struct listing *t = listing_begin(stdout, LISTING_TEXT, columns, which == COMPARE_KEYS ? 3 : 4);
    listing_fit(t, terminal_of(STDOUT_FILENO).columns);
    for (int r = 0; r < rows->rows; r++) {
        int last = rows->columns - 1;
        const struct result_value *a = result_at(rows, r, last - 1), *b = result_at(rows, r, last);
        const char *what = result_text(rows, r, last - 2);
        char *head =
            which == COMPARE_LOSSES ? memory_format("%.0f %s", result_number(rows, r, 0), what) : memory_string(what);
        listing_text(t, head);
        result_value_put(t, a);
        result_value_put(t, b);
        if (which == COMPARE_LOSSES || (which == COMPARE_FACTS && strstr(head, "loss")))
            put_change(t, a, b);
        else if (which == COMPARE_FACTS)
            listing_null(t);
        free(head);
    }
    return listing_end(t, err);
}

static int print_text(const struct run_compare *p, struct error *err)
{
    char *name[2];
    for (int i = 0; i < 2; i++)
        name[i] = memory_format("%s/%s/%lld", p->run[i].sweep, p->run[i].variant, (long long)p->run[i].seed);
    const char *const names[] = {name[0], name[1]};
    int status = print_part(p, COMPARE_FACTS, "", names, err);
    puts(p->rows[COMPARE_KEYS].rows ? "" : "\nno key of the configuration differs");
    if (!status && p->rows[COMPARE_KEYS].rows)
        status = print_part(p, COMPARE_KEYS, "key", names, err);
    if (!status && p->rows[COMPARE_LOSSES].rows) {
        puts("");
        status = print_part(p, COMPARE_LOSSES, "loss at step", names, err);
    }
    free(name[0]);
    free(name[1]);
    return status;
}

static void print_json(const struct run_compare *p)
{
    json_t *all = run_compare_json(p);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(all);
}

static int compare_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {0}};
    struct home home = {0};
    struct store *store = NULL;
    struct run_compare p = {0};
    int operands, status = options_parse(&cmd_compare, specs, argc, argv, &operands, err);
    if (!status && operands != 2)
        status = command_usage(&cmd_compare, err, "wants two runs");
    if (!status)
        status = home_init_reader(&home, given, err);
    if (!status)
        status = store_open(&store, &home, STORE_READ, err);
    if (!status)
        status = run_compare_make(&p, store, argv[1], argv[2], err);
    if (!status && as_json)
        print_json(&p);
    else if (!status)
        status = print_text(&p, err);
    run_compare_fini(&p);
    store_close(store);
    home_fini(&home);
    return status;
}

static const struct option_row compare_options[] = {
    {"json", 0, NULL, "the same as JSON"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_compare = {
    .name = "compare",
    .operands = "RUN RUN",
    .brief = "two runs side by side: the keys that differ, and the losses",
    .about = "RUN is an id, as much of its beginning as no other run has, or SWEEP/VARIANT/SEED. A change is that of "
             "the second\n"
             "run against the first. Works without a daemon too.\n",
    .options = compare_options,
    .exec = compare_exec,
};
