#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/base/names.h"
#include "harness/base/progress.h"
#include "harness/results/catalogue.h"
#include "harness/results/table.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

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

/* `line` is cleared before anything is said. */
static int one_table(struct result_verb *v, const char *id, enum table_format format, const char *path,
                     struct progress_line *line, struct error *err)
{
    struct table t;
    char *text = NULL;
    size_t size = 0;
    int status = table_make(&t, &v->from, id, v->sweep, err);
    progress_end(line);
    if (status)
        return status;
    FILE *memory = open_memstream(&text, &size);
    status = table_print(&t, format, memory, err);
    fclose(memory);
    if (!status)
        status = result_verb_write(path, text, size, "the table", err);
    if (!status && t.rows == 0 && (strcmp(path, "-") != 0 || format == TABLE_CSV))
        fprintf(stderr, "%s: no rows: %s\n", id, t.layout.empty);
    free(text);
    table_fini(&t);
    return status;
}

/* Every table, a file each in the directory; one that fails is no reason to leave out the rest. */
static int all_tables(struct result_verb *v, enum table_format format, const char *dir, struct error *err)
{
    int status = file_make_directories(dir, err);
    struct names failed = {0};
    struct progress_line line;
    progress_begin(&line);
    for (int i = 0; !status && table_id(i); i++) {
        const char *id = table_id(i);
        struct error why = {0};
        char *name = memory_format("%s.%s", id, formats[format]), *path = file_join(dir, name);
        progress_item(&line, catalogue_tables(), id);
        if (one_table(v, id, format, path, &line, &why)) {
            fprintf(stderr, "%s\n", why.text);
            names_add(&failed, id);
        } else {
            printf("%s\n", path);
        }
        free(path);
        free(name);
    }
    if (failed.count > 0)
        status = error_set(err, STATUS_FAILED, "could not be made: %s", failed.text);
    names_fini(&failed);
    return status;
}

static int table_exec(int argc, char **argv, struct error *err)
{
    struct result_verb v = {.format = "md"};
    const struct option_spec specs[] = {
        RESULT_OPTIONS(&v),
        {.name = "format", .value = &v.format},
        {0},
    };
    enum table_format format = TABLE_MARKDOWN;
    int operands, status = options_parse(&cmd_table, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_table, err, "wants the id of one table, or all");
    if (!status)
        status = read_format(v.format, &format, err);
    bool all = !status && strcmp(argv[1], "all") == 0;
    if (all && !v.out)
        status = command_usage(&cmd_table, err, "all wants --out DIR");
    if (!status)
        status = result_verb_open(&v, err);
    if (!status && all)
        status = all_tables(&v, format, v.out, err);
    else if (!status)
        status = one_table(&v, argv[1], format, v.out ? v.out : "-", &(struct progress_line){0}, err);
    result_verb_close(&v);
    return status;
}

static const struct option_row table_options[] = {
    {"sweep", 0, "NAME", "of this sweep (default: the one submitted last that has rows for it; table-runs: all)"},
    RESULT_CHOICE_ROWS,
    {"format", 'f', "md|csv|tex|json|html", "md (default), csv, tex (wants booktabs), json, html"},
    {"out", 'o', "FILE", "write there instead of to standard output"},
    OPTION_HOME_READER,
    {0},
};

static void list(FILE *out)
{
    catalogue_print(out, false);
}

const struct command cmd_table = {
    .name = "table",
    .operands = "ID|all",
    .brief = "a table of the paper from the database",
    .list = list,
    .options = table_options,
    .notes = "A row is one configuration: every key that differs within the sweep is a column, and n counts its "
             "seeds. Means are\n"
             "over the seeds, ± the sample standard deviation; [low, high] is a 95% t-interval. Runs that failed, "
             "are missing or\n"
             "not finite are named in the notes; outliers too, and they stay in the mean. Of an ID table- may be left "
             "out.\n",
    .exec = table_exec,
};
