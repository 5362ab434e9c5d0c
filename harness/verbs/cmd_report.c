#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "harness/verbs/commands.h"
#include "harness/results/report.h"
#include "harness/verbs/result_verb.h"

static int write_file(struct results *from, const char *sweep, const char *path, struct error *err)
{
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    status = report_write(w.stream, from, sweep, err);
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
    int operands, status = options_parse(&cmd_report, specs, argc, argv, &operands, err);
    if (!status && operands != 0)
        status = command_usage(&cmd_report, err, "takes no operand, got '%s'", argv[1]);
    if (!status)
        status = result_verb_open(&v, err);
    if (!status && strcmp(v.out, "-") == 0) {
        status = report_write(stdout, &v.from, v.sweep, err);
        if (!status && fflush(stdout) != 0)
            status = error_set(err, STATUS_FAILED, "cannot write the report");
    } else if (!status) {
        status = write_file(&v.from, v.sweep, v.out, err);
    }
    result_verb_close(&v);
    return status;
}

const struct command cmd_report = {
    "report", "[--sweep NAME] [--where KEY=VALUE] [--by KEY] [--vary KEY] [--compare NAME] [--out FILE] [--home DIR]",
    "one HTML page of a sweep: what was run, tables, figures",
    "  --sweep NAME    of this sweep (default: the one submitted last)\n" RESULT_OPTIONS_HELP
    "  -o, --out FILE  where to (default: report.html here; - is standard output)\n"
    "  --home DIR      which home (default: TAPER_HOME, else results/home)\n\n"
    "The page needs nothing else: figures and styles are inside. Wants gnuplot.\n",
    report_exec};
