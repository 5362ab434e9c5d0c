#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "harness/verbs/commands.h"
#include "harness/results/report.h"
#include "harness/verbs/result_verb.h"

static int write_file(struct results *from, const char *sweep, const char *path, struct names *failed,
                      struct error *err)
{
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    status = report_write(w.stream, from, sweep, failed, err);
    if (status) {
        file_abandon(&w);
        return status;
    }
    status = file_commit(&w, err);
    if (!status)
        printf("%s\n", path);
    return status;
}

static int report_exec(int argc, char **argv, struct error *err)
{
    struct result_verb v = {.out = "report.html"};
    const struct option_spec specs[] = {RESULT_OPTIONS(&v), {0}};
    struct names failed = {0};
    int operands, status = options_parse(&cmd_report, specs, argc, argv, &operands, err);
    if (!status && operands != 0)
        status = command_usage(&cmd_report, err, "takes no operand, got '%s'", argv[1]);
    if (!status)
        status = result_verb_open(&v, err);
    if (!status && strcmp(v.out, "-") == 0) {
        status = report_write(stdout, &v.from, v.sweep, &failed, err);
        if (!status && fflush(stdout) != 0)
            status = error_set(err, STATUS_FAILED, "cannot write the report");
    } else if (!status) {
        status = write_file(&v.from, v.sweep, v.out, &failed, err);
    }
    if (!status && failed.count > 0)
        status = error_set(err, STATUS_FAILED, "the page is written, but without: %s", failed.text);
    names_fini(&failed);
    result_verb_close(&v);
    return status;
}

static const struct option_row report_options[] = {
    {"sweep", 0, "NAME", "of this sweep (default: the one submitted last)"},
    RESULT_CHOICE_ROWS,
    {"out", 'o', "FILE", "where to (default: report.html here; - is standard output)"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .operands = "",
    .brief = "one HTML page of a sweep: what was run, tables, figures",
    .options = report_options,
    .notes = "The page needs nothing else: figures and styles are inside. Wants gnuplot.\n",
    .exec = report_exec,
};
