#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/base/names.h"
#include "harness/base/progress.h"
#include "harness/results/plot_figure.h"
#include "harness/results/plot_metric.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"

static int read_format(const char *text, enum plot_format *out, struct error *err)
{
    for (int i = 0; i < PLOT_FORMATS; i++)
        if (strcmp(plot_format_name((enum plot_format)i), text) == 0) {
            *out = (enum plot_format)i;
            return STATUS_OK;
        }
    return command_usage(&cmd_plot, err, "--format: want svg, png, pdf or gp, got '%s'", text);
}

/* Where page `page` goes: ID.svg, ID-2.svg ... */
static char *page_path(const char *path, int page)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    int stem = dot && (!slash || dot > slash) ? (int)(dot - path) : (int)strlen(path);
    return page == 0 ? memory_string(path) : memory_format("%.*s-%d%s", stem, path, page + 1, path + stem);
}

/* A figure, all its pages; on standard output the first. `line` is cleared before anything is said. metric: id is a
 * list of metrics, drawn against x. */
static int one_figure(struct result_verb *v, const char *id, bool metric, const char *x, enum plot_format format,
                      const char *path, bool *empty, struct progress_line *line, struct error *err)
{
    bool to_file = strcmp(path, "-") != 0;
    int status = STATUS_OK;
    for (int page = 0, pages = 1; !status && page < pages; page++) {
        struct plot_image image;
        status = metric ? plot_metric_make(&image, &v->from, id, x, v->sweep, page, format, err)
                        : plot_figure_make(&image, &v->from, id, v->sweep, page, format, false, empty, err);
        if (status)
            break;
        char *name = page_path(path, page);
        progress_end(line);
        status = result_verb_write(name, image.bytes, image.size, "the figure", err);
        if (!status && to_file)
            printf("%s\n", name);
        if (page == 0 && image.advice && (image.pages_left > 0 || !to_file))
            fprintf(stderr, "%s\n", image.advice);
        pages = to_file ? image.pages : 1;
        free(name);
        plot_image_fini(&image);
    }
    return status;
}

/* Every figure that has data. Those without are named, and no failure unless it is all of them; one that fails is no
 * reason to leave out the rest. */
static int all_figures(struct result_verb *v, enum plot_format format, const char *dir, struct error *err)
{
    struct names failed = {0};
    int made = 0, status = file_make_directories(dir, err);
    if (status)
        return status;
    struct progress_line line;
    progress_begin(&line);
    for (int i = 0; plot_figure_id(i); i++) {
        const char *id = plot_figure_id(i);
        bool empty = false;
        struct error why = {0};
        char *name = memory_format("%s.%s", id, plot_format_name(format)), *path = file_join(dir, name);
        progress_item(&line, catalogue_figures(), id);
        int one = one_figure(v, id, false, NULL, format, path, &empty, &line, &why);
        progress_end(&line);
        if (one)
            fprintf(stderr, "%s\n", why.text);
        made += !one;
        if (one && !empty)
            names_add(&failed, id);
        free(path);
        free(name);
    }
    if (failed.count > 0)
        status = error_set(err, STATUS_FAILED, "could not be drawn: %s", failed.text);
    else if (made == 0)
        status = error_set(err, STATUS_FAILED, "no figure has anything to draw");
    names_fini(&failed);
    return status;
}

/* The format of a file by its name; of another name that given first. */
static enum plot_format format_of(const char *path, enum plot_format otherwise)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (int i = 0; dot && i < PLOT_FORMATS; i++)
        if (strcasecmp(dot + 1, plot_format_name((enum plot_format)i)) == 0)
            return (enum plot_format)i;
    return otherwise;
}

/* What a figure looks like, as given. */
struct look_options {
    const char *width, *height, *smooth;
    bool log_y;
};

enum { PIXELS_LEAST = 200, PIXELS_MOST = 10000, SMOOTH_MOST = 100000 };

static int read_look(struct result_look *look, const struct look_options *given, struct error *err)
{
    const struct {
        const char *option, *text;
        int low, high, *to;
    } numbers[] = {{"--width", given->width, PIXELS_LEAST, PIXELS_MOST, &look->width},
                   {"--height", given->height, PIXELS_LEAST, PIXELS_MOST, &look->height},
                   {"--smooth", given->smooth, 1, SMOOTH_MOST, &look->smooth}};
    look->log_y = given->log_y;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        long long value;
        if (!numbers[i].text)
            continue;
        int status = options_integer(numbers[i].option, numbers[i].text, numbers[i].low, numbers[i].high, &value, err);
        if (status)
            return status;
        *numbers[i].to = (int)value;
    }
    return STATUS_OK;
}

static int add_sweep(void *verb, const char *value, struct error *err)
{
    struct result_verb *v = verb;
    if (!v->sweep) {
        v->sweep = value;
        return STATUS_OK;
    }
    if (v->choice.also_count == RESULT_CHOICES_MOST)
        return error_set(err, STATUS_BAD_INPUT, "--sweep: at most %d of them", RESULT_CHOICES_MOST + 1);
    v->choice.also[v->choice.also_count++] = value;
    return STATUS_OK;
}

/* Each sweep beside the first is there, and another one. */
static int check_sweeps(const struct result_verb *v, struct error *err)
{
    int status = STATUS_OK;
    for (int i = 0; i < v->choice.also_count && !status; i++) {
        status = store_sweep_find(v->store, v->choice.also[i], err);
        bool twice = strcmp(v->choice.also[i], v->sweep) == 0;
        for (int k = 0; k < i; k++)
            twice |= strcmp(v->choice.also[i], v->choice.also[k]) == 0;
        if (!status && twice)
            status = error_set(err, STATUS_BAD_INPUT, "--sweep: %s is named twice", v->choice.also[i]);
    }
    return status;
}

static int plot_exec(int argc, char **argv, struct error *err)
{
    struct result_verb v = {0};
    struct look_options look = {0};
    const char *metric = NULL, *x = "step";
    const struct option_spec specs[] = {
        {.name = "sweep", .each = add_sweep, .arg = &v}, /* before the one of all result verbs */
        {.name = "variant", .each = result_verb_variant, .arg = &v},
        {.name = "width", .value = &look.width},
        {.name = "height", .value = &look.height},
        {.name = "logy", .flag = &look.log_y},
        {.name = "smooth", .value = &look.smooth},
        RESULT_OPTIONS(&v),
        {.name = "format", .value = &v.format},
        {.name = "metric", .value = &metric},
        {.name = "x", .value = &x},
        {0},
    };
    enum plot_format format = PLOT_SVG;
    int operands, status = options_parse(&cmd_plot, specs, argc, argv, &operands, err);
    if (!status && operands != !metric)
        status = command_usage(&cmd_plot, err,
                               metric ? "wants an id or --metric, not both" : "wants the id of one figure, or all");
    if (!status && v.format)
        status = read_format(v.format, &format, err);
    else if (!status)
        format = format_of(v.out, format);
    if (!status)
        status = read_look(&v.choice.look, &look, err);
    if (!status)
        status = result_verb_open(&v, err);
    if (!status)
        status = check_sweeps(&v, err);
    if (!status && !metric && strcmp(argv[1], "all") == 0) {
        status = all_figures(&v, format, v.out ? v.out : ".", err);
    } else if (!status) {
        const struct catalogue_entry *e = metric ? NULL : catalogue_find(argv[1], true);
        const char *id = metric ? metric : e ? e->id : argv[1];
        char *name = memory_format("%s%s.%s", metric ? "metric-" : "", id, plot_format_name(format));
        for (char *p = name; metric && *p; p++)
            *p = *p == ',' || *p == ':' || *p == '/' ? '-' : *p;
        status =
            one_figure(&v, id, metric != NULL, x, format, v.out ? v.out : name, NULL, &(struct progress_line){0}, err);
        free(name);
    }
    result_verb_close(&v);
    return status;
}

static const struct option_row plot_options[] = {
    {"sweep", 0, "NAME",
     "of this sweep (default: the one submitted last that has data for it); again for more beside it, whose variants "
     "are "
     "then NAME/VARIANT"},
    {"variant", 0, "NAME", "only this variant; again for more"},
    {"metric", 0, "NAME[,NAME]...",
     "in place of an id: any number that steps record, a panel each (margin, entropy, c:final_norm; c: a line a site)"},
    {"x", 0, "step|tokens|time", "what --metric is drawn against"},
    RESULT_CHOICE_ROWS,
    {"format", 'f', "svg|png|pdf|gp",
     "svg, png, pdf, or gp: the gnuplot script with its data (default: what FILE ends in, else svg)"},
    {"out", 'o', "FILE", "where to (default: ID.FORMAT here; - is standard output)"},
    {"width", 0, "PIXELS", "of 1/96 inch (default: what the figure wants)"},
    {"height", 0, "PIXELS", "the same"},
    {"logy", 0, NULL, "values on a logarithmic scale, where all are above zero"},
    {"smooth", 0, "N", "lines are rolling means of N logged points; the bands keep what is smallest and largest"},
    OPTION_HOME_READER,
    {0},
};

static void list(FILE *out)
{
    catalogue_print(out, true);
}

const struct command cmd_plot = {
    .name = "plot",
    .operands = "[ID|all]",
    .brief = "a figure of the paper from the database",
    .list = list,
    .options = plot_options,
    .notes = "A line is one configuration: the mean over its seeds, its band from the smallest to the largest, "
             "dotted where seeds\n"
             "are missing. What one figure cannot tell apart goes into further ones (ID-2.FORMAT ...). Wants "
             "gnuplot. Of an ID\n"
             "fig- may be left out.\n",
    .exec = plot_exec,
};
