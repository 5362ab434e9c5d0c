#include "harness/results/plot_metric.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/results/metric_names.h"
#include "harness/results/plot_data.h"
#include "harness/results/plot_page.h"

static const struct {
    const char *word, *at, *name;
} axes[] = {
    {"step", "s.step", "step"},
    {"tokens", "s.tokens", "tokens"},
    {"time", "s.step * avg(s.ms) OVER (PARTITION BY r.grp, s.run ORDER BY s.step) / 1000", "seconds of training"},
};

enum { AFTER_SITES = 1000000 }; /* places of lines that are no site of page_line */

struct metric {
    char *text;       /* as given */
    const char *name; /* the column */
    char *site;       /* NULL: of the step, or of every site */
    bool sites;       /* of every site */
};

static int unknown(const char *text, struct error *err)
{
    error_set(err, STATUS_BAD_INPUT, "--metric: no '%s'; there are", text);
    for (const char *const *m = metric_of_steps; *m; m++)
        snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), " %s", *m);
    snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text),
             ", and of a site (NAME:SITE, final_norm or blocks.0.attn_norm; NAME:all, or NAME where no step has it)");
    for (const char *const *m = metric_of_sites; *m; m++)
        snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), " %s", *m);
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
        one->sites = colon ? strcmp(colon + 1, "all") == 0
                           : !metric_among(metric_of_steps, name) && metric_among(metric_of_sites, name);
        one->site = colon && !one->sites ? memory_string(colon + 1) : NULL;
        one->name = metric_among(colon || one->sites ? metric_of_sites : metric_of_steps, name);
        if (!one->name)
            status = unknown(one->text, err);
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

/* Rows of one metric. The columns of all: grp row place series seed x at y; place is that of a line among the others,
 * and series NULL unless some metric is of every site. */
static void put_metric(FILE *out, const struct metric *m, int row, bool by_site)
{
    char *site = result_quote(m->site);
    if (m->sites)
        fprintf(
            out,
            " UNION ALL SELECT l.grp, %d, p.place, p.line, l.seed, l.step, l.at, t.%s FROM logged l JOIN "
            "site_step_numeric t ON t.run = l.run AND t.step = l.step JOIN page_line p ON p.line = t.site WHERE t.%s "
            "IS NOT NULL",
            row, m->name, m->name);
    else if (m->site)
        fprintf(
            out,
            " UNION ALL SELECT l.grp, %d, %d, %s, l.seed, l.step, l.at, t.%s FROM logged l JOIN site_step_numeric t "
            "ON t.run = l.run AND t.step = l.step AND t.site = %s WHERE t.%s IS NOT NULL",
            row, AFTER_SITES, by_site ? site : "NULL", m->name, site, m->name);
    else
        fprintf(out, " UNION ALL SELECT grp, %d, %d, %s, seed, step, at, %s FROM logged", row, AFTER_SITES,
                by_site ? "'the step'" : "NULL", m->name);
    free(site);
}

static char *make_sql(const struct metric *m, int count, const char *at, bool by_site)
{
    char *sql = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sql, &size);
    fprintf(
        out,
        "WITH logged AS (SELECT r.grp, r.seed, r.sites, s.*, %s AS at FROM run_drawn r JOIN step_numeric s ON s.run = "
        "r.run) SELECT grp, row, %sseed, x, at, y FROM (SELECT grp, 2 AS row, 0 AS place, (SELECT line FROM page_line "
        "ORDER BY place LIMIT 1) AS series, seed, step AS x, at, gate AS y FROM logged WHERE sites <> 'none'",
        at, by_site ? "series, " : "");
    for (int i = 0; i < count; i++)
        put_metric(out, &m[i], row_of(i), by_site);
    fprintf(out, ")%s", by_site ? " ORDER BY place" : "");
    fclose(out);
    return sql;
}

/* Sites that any of the metrics has values of, and the groups with something to draw. */
static void make_choice(const struct metric *m, int count, char **lines, char **groups)
{
    char *there = NULL;
    bool steps = false;
    for (int i = 0; i < count; i++) {
        steps |= !m[i].sites;
        if (!m[i].sites)
            continue;
        char *longer = memory_format("%s%st.%s IS NOT NULL", there ? there : "", there ? " OR " : "", m[i].name);
        free(there);
        there = longer;
    }
    /* By depth, blocks.2 before blocks.10, the final norm last. A run has the same sites from its first step on. */
    *lines = memory_format(
        "SELECT DISTINCT t.site FROM run_shown r JOIN site_step t ON t.run = r.run AND t.step IN ((SELECT min(step) "
        "FROM site_step WHERE run = r.run), (SELECT max(step) FROM site_step WHERE run = r.run)) WHERE %s "
        "ORDER BY t.site NOT LIKE 'blocks.%%', CAST(substr(t.site, 8) AS INTEGER), t.site",
        there ? there : "0");
    *groups = memory_format(
        "SELECT DISTINCT grp FROM run_shown r WHERE EXISTS (SELECT 1 FROM %s t WHERE t.run = r.run%s"
        "%s%s) ORDER BY grp",
        steps ? "step" : "site_step", steps ? "" : " AND (", steps || !there ? "" : there, steps ? "" : ")");
    free(there);
}

static char *make_script(const struct metric *m, int count, bool by_site)
{
    char *script = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&script, &size);
    fprintf(out,
            "panels = %d\narray panel_row[%d]\narray panel_over[%d]\narray panel_label[%d]\narray panel_scale[%d]\n"
            "array panel_empty[%d]\n",
            count, count, count, count, count, count);
    fputs(by_site ? "name_columns = 1\n" : "", out);
    for (int i = 1; i <= count; i++) {
        fprintf(out, "panel_row[%d] = %d\npanel_over[%d] = 0\npanel_scale[%d] = \"wide\"\n", i, row_of(i - 1), i, i);
        fprintf(out, "panel_empty[%d] = \"no value logged\"\npanel_label[%d] = ", i, i);
        plot_put_string(out, m[i - 1].text);
        fputc('\n', out);
    }
    fclose(out);
    return script;
}

static int draw_metrics(struct plot_image *out, struct results *from, const struct metric *metrics, int count,
                        const char *title, int axis, const char *sweep, int page, enum plot_format format,
                        struct error *err)
{
    int of_all = 0;
    for (int i = 0; i < count; i++)
        of_all += metrics[i].sites;
    bool by_site = of_all > 0;
    const struct catalogue_entry *like = catalogue_find("fig-logit-chasing", true);
    struct catalogue_entry entry = {.id = "metric", .title = title, .needs = like->needs, .shape = like->shape};
    char *lines = NULL, *groups = NULL;
    entry.shape.height += 140 * (count - 1);
    if (by_site) {
        make_choice(metrics, count, &lines, &groups);
        entry.shape.plan = FIGURE_SITES;
        entry.shape.groups = groups;
        entry.needs = "no sweep of this home has logged that of a site";
    }
    char *sql = make_sql(metrics, count, axes[axis].at, by_site), *script = make_script(metrics, count, by_site);
    /* Each other metric may bring a line of its own. */
    struct plot_figure figure = {&entry, sql, script, axes[axis].name, lines, PLOT_STYLES - (count - of_all)};
    int status = plot_figure_draw(out, from, &figure, sweep, page, format, false, NULL, err);
    free(sql);
    free(script);
    free(lines);
    free(groups);
    return status;
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
    if (!status)
        status = draw_metrics(out, from, metrics, count, list, axis, sweep, page, format, err);
    for (int i = 0; i < count; i++) {
        free(metrics[i].text);
        free(metrics[i].site);
    }
    return status;
}
