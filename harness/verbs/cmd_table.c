#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/results/result_sweep.h"
#include "harness/results/table.h"

static const char *const formats[] = {"md", "csv", "tex", "json", "html"};

static int read_format(const char *text, enum table_format *out, struct error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i], text) == 0) {
            *out = (enum table_format)i;
            return STATUS_OK;
        }
    return command_usage(&cmd_table, err, "--format: want md, csv, tex, json or html, got '%s'", text);
}

/* To a file (replaced whole), or to standard output with path NULL. */
static int write_table(const struct table *t, enum table_format format, const char *path, struct error *err)
{
    struct file_writer w;
    if (!path) {
        int status = table_print(t, format, stdout, err);
        if (!status && fflush(stdout) != 0)
            status = error_set(err, STATUS_FAILED, "cannot write the table");
        return status;
    }
    int status = file_create(&w, path, err);
    if (status)
        return status;
    status = table_print(t, format, w.stream, err);
    if (status) {
        file_abandon(&w);
        return status;
    }
    return file_commit(&w, err);
}

static int one_table(struct store *s, const char *id, const char *sweep, enum table_format format, const char *path,
                     struct error *err)
{
    struct table t;
    int status = table_make(&t, s, id, sweep, err);
    if (status)
        return status;
    status = write_table(&t, format, path, err);
    if (!status && t.rows == 0 && (path || format == TABLE_CSV))
        fprintf(stderr, "%s: no rows: %s\n", id, t.layout.empty);
    table_fini(&t);
    return status;
}

/* Every table, a file each in the directory. */
static int all_tables(struct store *s, const char *sweep, enum table_format format, const char *dir, struct error *err)
{
    int status = file_make_directories(dir, err);
    for (int i = 0; !status && table_id(i); i++) {
        char *name = memory_format("%s.%s", table_id(i), formats[format]), *path = file_join(dir, name);
        status = one_table(s, table_id(i), sweep, format, path, err);
        if (!status)
            printf("%s\n", path);
        free(path);
        free(name);
    }
    return status;
}

static int table_exec(int argc, char **argv, struct error *err)
{
    const char *home_given = NULL, *sweep = NULL, *format_text = "md", *out = NULL;
    const struct option_spec specs[] = {
        {.name = "home", .value = &home_given},
        {.name = "sweep", .value = &sweep},
        {.name = "format", .letter = 'f', .value = &format_text},
        {.name = "out", .letter = 'o', .value = &out},
        {0},
    };
    enum table_format format = TABLE_MARKDOWN;
    struct home home = {0};
    struct store *s = NULL;
    int operands, status = options_parse(&cmd_table, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_table, err, "wants the id of one table, or all");
    if (!status)
        status = read_format(format_text, &format, err);
    bool all = !status && strcmp(argv[1], "all") == 0;
    if (all && !out)
        status = command_usage(&cmd_table, err, "all wants --out DIR");
    if (!status)
        status = home_init(&home, home_given, false, err);
    if (!status)
        status = store_open(&s, &home, STORE_READ, err);
    if (!status)
        status = store_own_views(s, err);
    if (!status && all)
        status = all_tables(s, sweep, format, out, err);
    else if (!status)
        status = one_table(s, argv[1], sweep, format, out && strcmp(out, "-") != 0 ? out : NULL, err);
    store_close(s);
    home_fini(&home);
    return status;
}

const struct command cmd_table = {
    "table", "ID|all [--sweep NAME] [--format md|csv|tex|json|html] [--out FILE] [--home DIR]",
    "a table of the paper from the database",
    "  table-tinystories  validation loss by size and variant, and the change against the baseline\n"
    "  table-decode       tokens a second of decoding, norms computed, scaled, folded\n"
    "  table-last-token   the same of the forward pass of a whole context\n"
    "  table-gpt2         GPT-2 fine-tuned: loss beside the published\n"
    "  table-ablation     the end of training against gate.end, gate.shape, aux.lambda\n"
    "  table-runs         every run: where, how long, how it ended\n"
    "  table-theory       propositions 1 and 2 and the fold, checked on what was logged\n"
    "  all                every table, a file each in the directory --out\n\n"
    "  --sweep NAME       of this sweep (default: the one submitted last that has rows for it; table-runs: all)\n"
    "  -f, --format F     md (default), csv, tex (wants booktabs), json, html\n"
    "  -o, --out FILE     write there instead of to standard output\n"
    "  --home DIR         which home (default: TAPER_HOME, else results/home)\n\n"
    "Means are over the seeds, ± the sample standard deviation; [low, high] is a 95% t-interval. Runs that failed, "
    "are\n"
    "missing or not finite are named in the notes; outliers too, and they stay in the mean.\n",
    table_exec};
