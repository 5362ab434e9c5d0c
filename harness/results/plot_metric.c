#include "harness/results/plot_metric.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/results/plot_data.h"

static const char *const of_steps[] = {
    "ce",           "aux",        "lr",           "gate",      "grad_norm",  "scale_mean",
    "scale_std",    "scale_max",  "scale_target", "logit_rms", "logit_max",  "logit_std",
    "margin",       "p_correct",  "entropy",      "radial",    "radial_rms", "tangential_rms",
    "radial_share", "aux_radial", "ms",           "leading",   "bounded"};
static const char *const of_sites[] = {"c", "agreement", "scale_mean", "gamma_norm", "gamma_tilde_norm"};

static const struct {
    const char *word, *at, *name;
} axes[] = {
    {"step", "s.step", "step"},
    {"tokens", "s.tokens", "tokens"},
    {"time", "s.step * avg(s.ms) OVER (PARTITION BY r.grp, s.run ORDER BY s.step) / 1000", "seconds of training"},
};

struct metric {
    char *text;       /* as given */
    const char *name; /* the column */
    char *site;       /* NULL: of the step */
};

static bool among(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static int unknown(const char *text, struct error *err)
{
    error_set(err, STATUS_BAD_INPUT, "--metric: no '%s'; there are", text);
    for (size_t i = 0; i < sizeof of_steps / sizeof of_steps[0]; i++)
        snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), " %s", of_steps[i]);
    snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text),
             ", and of a site (NAME:SITE, final_norm or blocks.0.attn_norm)");
    for (size_t i = 0; i < sizeof of_sites / sizeof of_sites[0]; i++)
        snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), " %s", of_sites[i]);
    return STATUS_BAD_INPUT;
}

static int read_list(struct metric *m, int *count, const char *list, struct error *err)
{
    int status = STATUS_OK;
    for (const char *p = list; !status;) {
        size_t length = strcspn(p, ",");
        if (*count == PLOT_METRICS_MOST)
            return error_set(err, STATUS_BAD_INPUT, "--metric: at most %d in one figure", PLOT_METRICS_MOST);
        struct metric *one = &m[(*count)++];
        one->text = memory_format("%.*s", (int)length, p);
        char *name = memory_string(one->text), *colon = strchr(name, ':');
        if (colon)
            *colon = '\0';
        one->site = colon ? memory_string(colon + 1) : NULL;
        const char *const *known = colon ? of_sites : of_steps;
        size_t knows = colon ? sizeof of_sites / sizeof of_sites[0] : sizeof of_steps / sizeof of_steps[0];
        if (!among(known, knows, name))
            status = unknown(one->text, err);
        for (size_t i = 0; i < knows; i++)
            if (strcmp(known[i], name) == 0)
                one->name = known[i];
        free(name);
        if (!p[length])
            break;
        p += length + 1;
    }
    return status;
}

/* Row 2 is the gate's, as in every figure of lines. */
static int row_of(int metric)
{
    return metric == 0 ? 1 : metric + 2;
}

static char *make_sql(const struct metric *m, int count, const char *at)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fprintf(
        out,
        "WITH logged AS (SELECT r.grp, r.seed, r.sites, s.*, %s AS at FROM run_drawn r JOIN step_numeric s ON s.run = "
        "r.run) SELECT grp, 2 AS row, seed, step AS x, at, gate AS y FROM logged WHERE sites <> 'none'",
        at);
    for (int i = 0; i < count; i++) {
        char *site = result_quote(m[i].site);
        if (m[i].site)
            fprintf(out,
                    " UNION ALL SELECT l.grp, %d, l.seed, l.step, l.at, t.%s FROM logged l JOIN site_step_numeric t ON "
                    "t.run = l.run AND t.step = l.step AND t.site = %s WHERE t.%s IS NOT NULL",
                    row_of(i), m[i].name, site, m[i].name);
        else
            fprintf(out, " UNION ALL SELECT grp, %d, seed, step, at, %s FROM logged", row_of(i), m[i].name);
        free(site);
    }
    fclose(out);
    return sql;
}

static char *make_script(const struct metric *m, int count)
{
    char *script = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&script, &size);
    fprintf(out,
            "panels = %d\narray panel_row[%d]\narray panel_over[%d]\narray panel_label[%d]\narray panel_scale[%d]\n"
            "array panel_empty[%d]\n",
            count, count, count, count, count, count);
    for (int i = 1; i <= count; i++) {
        fprintf(out, "panel_row[%d] = %d\npanel_over[%d] = 0\npanel_scale[%d] = \"wide\"\n", i, row_of(i - 1), i, i);
        fprintf(out, "panel_empty[%d] = \"no value logged\"\npanel_label[%d] = ", i, i);
        plot_put_string(out, m[i - 1].text);
        fputc('\n', out);
    }
    fclose(out);
    return script;
}

int plot_metric_make(struct plot_image *out, struct results *from, const char *list, const char *x, const char *sweep,
                     int page, enum plot_format format, struct error *err)
{
    struct metric metrics[PLOT_METRICS_MOST] = {{0}};
    int count = 0, axis = -1, status = read_list(metrics, &count, list, err);
    for (int i = 0; i < (int)(sizeof axes / sizeof axes[0]); i++)
        if (strcmp(axes[i].word, x) == 0)
            axis = i;
    *out = (struct plot_image){0};
    if (!status && axis < 0)
        status = error_set(err, STATUS_BAD_INPUT, "--x: want step, tokens or time, got '%s'", x);
    if (!status) {
        const struct catalogue_entry *like = catalogue_find("fig-logit-chasing", true);
        struct catalogue_entry entry = {.id = "metric", .title = list, .needs = like->needs, .shape = like->shape};
        entry.shape.height += 140 * (count - 1);
        char *sql = make_sql(metrics, count, axes[axis].at), *script = make_script(metrics, count);
        struct plot_figure figure = {&entry, sql, script, axes[axis].name};
        status = plot_figure_draw(out, from, &figure, sweep, page, format, false, NULL, err);
        free(sql);
        free(script);
    }
    for (int i = 0; i < count; i++) {
        free(metrics[i].text);
        free(metrics[i].site);
    }
    return status;
}
