#include "harness/results/plot_marks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/results/result_rows.h"

/* A run that was resumed tells again what went since its checkpoint; seeds go at the same steps. */
static const char removals_sql[] =
    "SELECT r.grp, e.step, substr(e.text, 1, instr(e.text, ':') - 1) AS site, "
    "max(e.text LIKE '%: sigma_avg %') AS fakeln FROM run_drawn r JOIN event e ON e.run = r.run "
    "WHERE e.kind = 'removal' AND instr(e.text, ':') > 1 GROUP BY r.grp, e.step, site "
    "ORDER BY r.grp, e.step, site NOT LIKE 'blocks.%', CAST(substr(site, 8) AS INTEGER), site";

/* What a site is called: the paper's names of FakeLN's kinds, or "attn 3" of a gate's. On the heap. */
static char *site_name(const char *site, bool fakeln)
{
    static const struct {
        const char *end, *kind, *plain;
    } names[] = {{".mlp_norm", "ln_2", "mlp"}, {".attn_norm", "ln_1 QK", "attn"}, {".value_norm", "ln_1 V", "value"}};
    const size_t length = strlen(site);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t end = strlen(names[i].end);
        if (length > end && strcmp(site + length - end, names[i].end) == 0)
            return fakeln
                       ? memory_string(names[i].kind)
                       : memory_format("%s %ld", names[i].plain, strtol(site + strcspn(site, "0123456789"), NULL, 10));
    }
    return memory_string(fakeln ? "ln_f" : "final");
}

/* Keep the names where another kind begins; where that is too often, those of the first and the last mark. */
static void thin_names(struct plot_mark *m, int n)
{
    int kinds = 0;
    for (int i = 0; i < n; i++)
        kinds += i == 0 || strcmp(m[i].name, m[i - 1].name) != 0;
    for (int i = n - 1; i >= 0; i--) {
        const bool begins = i == 0 || strcmp(m[i].name, m[i - 1].name) != 0;
        if (kinds <= PLOT_MARKS_NAMED ? !begins : i > 0 && i < n - 1) {
            free(m[i].name);
            m[i].name = NULL;
        }
    }
}

static void drop_names(struct plot_mark *m, int n)
{
    for (int i = 0; i < n; i++) {
        free(m[i].name);
        m[i].name = NULL;
    }
}

/* The marks [begin, count) are a group's: which of its panel's it is, and whether it has the names. */
static void end_group(struct plot_marks *out, int begin)
{
    struct plot_mark *m = out->mark + begin;
    const int n = out->count - begin;
    int before = 0, last = -2;
    for (int i = 0; i < begin; i++)
        if (out->mark[i].column == m->column && out->mark[i].series != last) {
            last = out->mark[i].series;
            before++;
        }
    for (int i = 0; i < n; i++)
        m[i].level = before;
    if (before > 0)
        drop_names(m, n);
    else
        thin_names(m, n);
    out->named |= before == 0;
}

int plot_marks_find(struct plot_marks *out, struct store *s, const struct plot_data *d, struct error *err)
{
    struct result_rows rows;
    *out = (struct plot_marks){0};
    int status = result_query(&rows, s, "the removals of sites", removals_sql, NULL, err);
    if (status)
        return status;
    out->mark = memory_alloc((size_t)rows.rows + 1, sizeof *out->mark);
    for (int begin = 0, end; begin < rows.rows; begin = end) {
        const int group = (int)result_number(&rows, begin, 0), first = out->count;
        const int column = group < d->group_count ? d->column_of[group] : -1;
        for (end = begin; end < rows.rows && (int)result_number(&rows, end, 0) == group; end++)
            if (column >= 0)
                out->mark[out->count++] =
                    (struct plot_mark){.column = column,
                                       .series = d->series_of[group],
                                       .step = result_number(&rows, end, 1),
                                       .name = site_name(result_text(&rows, end, 2), result_number(&rows, end, 3) > 0)};
        if (out->count > first)
            end_group(out, first);
    }
    result_rows_fini(&rows);
    return STATUS_OK;
}

void plot_marks_fini(struct plot_marks *m)
{
    drop_names(m->mark, m->count);
    free(m->mark);
    *m = (struct plot_marks){0};
}

void plot_marks_print(const struct plot_marks *m, FILE *out)
{
    int names = 0;
    fputs("$marks << END\n0 0 NaN 0\n", out);
    for (int i = 0; i < m->count; i++) {
        const struct plot_mark *k = &m->mark[i];
        fprintf(out, "%d %d %.0f %d\n", k->column + 1, k->series + 1, k->step, k->level);
        names += k->name != NULL;
    }
    fprintf(out, "END\nmarks = %d\nnames = %d\n", m->count, names);
    fprintf(out, "array name_column[%d]\narray name_step[%d]\narray name_text[%d]\n", names + 1, names + 1, names + 1);
    for (int i = 0, n = 0; i < m->count; i++) {
        const struct plot_mark *k = &m->mark[i];
        if (!k->name)
            continue;
        n++;
        fprintf(out, "name_column[%d] = %d\nname_step[%d] = %.0f\nname_text[%d] = ", n, k->column + 1, n, k->step, n);
        plot_put_string(out, k->name);
        fputc('\n', out);
    }
}
