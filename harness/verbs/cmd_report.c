#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/results/report.h"
#include "harness/results/result_sweep.h"

static int write_file(struct store *s, const char *sweep, const char *path, struct error *err)
{
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    status = report_write(w.stream, s, sweep, err);
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
    const char *home_given = NULL, *sweep = NULL, *out = "report.html";
    const struct option_spec specs[] = {
        {.name = "home", .value = &home_given},
        {.name = "sweep", .value = &sweep},
        {.name = "out", .letter = 'o', .value = &out},
        {0},
    };
    struct home home = {0};
    struct store *s = NULL;
    int operands, status = options_parse(&cmd_report, specs, argc, argv, &operands, err);
    if (!status && operands != 0)
        status = command_usage(&cmd_report, err, "takes no operand, got '%s'", argv[1]);
    if (!status)
        status = home_init(&home, home_given, false, err);
    if (!status)
        status = store_open(&s, &home, STORE_READ, err);
    if (!status)
        status = store_own_views(s, err);
    if (!status && strcmp(out, "-") == 0) {
        status = report_write(stdout, s, sweep, err);
        if (!status && fflush(stdout) != 0)
            status = error_set(err, STATUS_FAILED, "cannot write the report");
    } else if (!status) {
        status = write_file(s, sweep, out, err);
    }
    store_close(s);
    home_fini(&home);
    return status;
}

const struct command cmd_report = {"report", "[--sweep NAME] [--out FILE] [--home DIR]",
                                   "one HTML page of a sweep: what was run, tables, figures",
                                   "  --sweep NAME    of this sweep (default: the one submitted last)\n"
                                   "  -o, --out FILE  where to (default: report.html here; - is standard output)\n"
                                   "  --home DIR      which home (default: TAPER_HOME, else results/home)\n\n"
                                   "The page needs nothing else: figures and styles are inside. Wants gnuplot.\n",
                                   report_exec};
