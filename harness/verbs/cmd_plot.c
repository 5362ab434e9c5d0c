#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/results/plot_figure.h"
#include "harness/results/result_sweep.h"

static int read_format(const char *text, enum plot_format *out, struct error *err)
{
    for (int i = 0; i < PLOT_FORMATS; i++)
        if (strcmp(plot_format_name((enum plot_format)i), text) == 0) {
            *out = (enum plot_format)i;
            return STATUS_OK;
        }
    return command_usage(&cmd_plot, err, "--format: want svg, png, pdf or gp, got '%s'", text);
}

static int one_figure(struct store *s, const char *id, const char *sweep, enum plot_format format, const char *path,
                      bool *empty, struct error *err)
{
    struct plot_image image;
    int status = plot_figure_make(&image, s, id, sweep, format, false, empty, err);
    if (status)
        return status;
    if (strcmp(path, "-") == 0) {
        if (fwrite(image.bytes, 1, image.size, stdout) != image.size || fflush(stdout) != 0)
            status = error_set(err, STATUS_FAILED, "cannot write the figure");
    } else {
        status = file_write_all(path, image.bytes, image.size, err);
        if (!status)
            printf("%s\n", path);
    }
    plot_image_fini(&image);
    return status;
}

/* Every figure that has data. Those without are named, and no failure unless it is all of them. */
static int all_figures(struct store *s, const char *sweep, enum plot_format format, const char *dir, struct error *err)
{
    int status = file_make_directories(dir, err), made = 0;
    for (int i = 0; !status && plot_figure_id(i); i++) {
        bool empty = false;
        struct error why = {0};
        char *name = memory_format("%s.%s", plot_figure_id(i), plot_format_name(format)), *path = file_join(dir, name);
        status = one_figure(s, plot_figure_id(i), sweep, format, path, &empty, &why);
        if (status && empty) {
            fprintf(stderr, "%s\n", why.text);
            status = STATUS_OK;
        } else if (status) {
            status = error_set(err, status, "%s", why.text);
        } else {
            made++;
        }
        free(path);
        free(name);
    }
    if (!status && made == 0)
        status = error_set(err, STATUS_FAILED, "no figure has anything to draw");
    return status;
}

static int plot_exec(int argc, char **argv, struct error *err)
{
    const char *home_given = NULL, *sweep = NULL, *format_text = "svg", *out = NULL;
    const struct option_spec specs[] = {
        {.name = "home", .value = &home_given},
        {.name = "sweep", .value = &sweep},
        {.name = "format", .letter = 'f', .value = &format_text},
        {.name = "out", .letter = 'o', .value = &out},
        {0},
    };
    enum plot_format format = PLOT_SVG;
    struct home home = {0};
    struct store *s = NULL;
    int operands, status = options_parse(&cmd_plot, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_plot, err, "wants the id of one figure, or all");
    if (!status)
        status = read_format(format_text, &format, err);
    if (!status)
        status = home_init(&home, home_given, false, err);
    if (!status)
        status = store_open(&s, &home, STORE_READ, err);
    if (!status)
        status = store_own_views(s, err);
    if (!status && strcmp(argv[1], "all") == 0) {
        status = all_figures(s, sweep, format, out ? out : ".", err);
    } else if (!status) {
        char *name = memory_format("%s.%s", argv[1], plot_format_name(format));
        status = one_figure(s, argv[1], sweep, format, out ? out : name, NULL, err);
        free(name);
    }
    store_close(s);
    home_fini(&home);
    return status;
}

const struct command cmd_plot = {
    "plot", "ID|all [--sweep NAME] [--format svg|png|pdf|gp] [--out FILE] [--home DIR]",
    "a figure of the paper from the database",
    "  fig-logit-chasing  RMS of the logits against the step\n"
    "  fig-scale          mean s(h) before the final norm, and its target\n"
    "  fig-radial         radial and tangential gradient at h\n"
    "  fig-loss           training and validation loss\n"
    "  fig-gate           the gate, and c * mean(s) of every site\n"
    "  fig-decode         tokens a second of decoding, as bars\n"
    "  fig-ablation       loss at the end against gate.end, gate.shape, aux.lambda\n"
    "  all                every figure that has data, into the directory --out\n\n"
    "  --sweep NAME       of this sweep (default: the one submitted last that has data for it)\n"
    "  -f, --format F     svg (default), png, pdf, or gp: the gnuplot script with its data\n"
    "  -o, --out FILE     where to (default: ID.FORMAT here; - is standard output)\n"
    "  --home DIR         which home (default: TAPER_HOME, else results/home)\n\n"
    "Lines are means over the seeds, bands reach from the smallest to the largest. Wants gnuplot.\n",
    plot_exec};
