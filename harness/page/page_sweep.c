/* A sweep: how far it is, what failed and why, and its runs: a table to sort and filter, with and without script. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/memory.h"
#include "harness/daemon/standing.h"
#include "harness/page/page_html.h"
#include "harness/page/page_parts.h"
#include "harness/results/run_list.h"

static bool is_loss(const char *column)
{
    return strcmp(column, "loss") == 0 || strcmp(column, "val_loss") == 0;
}

/* Columns of numbers stand to the right. */
static bool is_number(const struct result_rows *rows, int column)
{
    for (int r = 0; r < rows->rows; r++)
        if (result_at(rows, r, column)->type == RESULT_TEXT)
            return false;
    return true;
}

/* Does any cell of the row hold the text? */
static bool matches(const struct result_rows *rows, int row, const char *text)
{
    char number[64];
    if (!text || !*text)
        return true;
    for (int c = 0; c < rows->columns; c++) {
        const struct result_value *v = result_at(rows, row, c);
        snprintf(number, sizeof number, "%.10g", v->number);
        if (v->type != RESULT_NULL && strcasestr(v->type == RESULT_TEXT ? v->text : number, text))
            return true;
    }
    return false;
}

struct order {
    const struct result_rows *rows;
    int column;
    bool down;
};

/* Numbers before texts before what is not there, in both directions. */
static int kind_of(const struct result_value *v)
{
    return v->type == RESULT_NULL ? 2 : v->type == RESULT_TEXT;
}

static int compare(const void *a, const void *b, void *order)
{
    const struct order *o = order;
    const int *i = a, *j = b;
    const struct result_value *x = result_at(o->rows, *i, o->column), *y = result_at(o->rows, *j, o->column);
    int sign = o->down ? -1 : 1;
    if (kind_of(x) != kind_of(y))
        return kind_of(x) - kind_of(y);
    if (x->type == RESULT_TEXT && strcmp(x->text, y->text) != 0)
        return sign * strcmp(x->text, y->text);
    if (kind_of(x) == 0 && x->number != y->number)
        return x->number < y->number ? -sign : sign;
    return *i - *j;
}

/* A heading is a link that sorts by it; the one that was followed turns the order round. */
static void put_heading(struct page_call *c, const struct result_rows *rows, const struct order *o, const char *sweep,
                        int column)
{
    FILE *out = c->out;
    bool now = o->column == column;
    fprintf(out, "<th scope=\"col\"%s%s><a href=\"", is_number(rows, column) ? " class=\"n\"" : "",
            !now      ? ""
            : o->down ? " aria-sort=\"descending\""
                      : " aria-sort=\"ascending\"");
    page_address(out, "/sweep", "name", sweep, "sort", rows->names[column], "down", now && !o->down ? "1" : NULL, "q",
                 page_parameter(c, "q"), NULL);
    fputs("#runs\">", out);
    page_text(out, rows->names[column]);
    fputs("</a></th>", out);
}

static void put_cell(FILE *out, const struct result_rows *rows, int row, int column, bool number)
{
    const struct result_value *v = result_at(rows, row, column);
    const char *name = rows->names[column];
    fprintf(out, "<td%s>", number ? " class=\"n\"" : strcmp(name, "why") == 0 ? " class=\"note\"" : "");
    if (strcmp(name, "run") == 0)
        page_link_to(out, "/run", "id", v->text, v->text);
    else if (strcmp(name, "state") == 0)
        page_state(out, v->text);
    else
        page_value(out, v, is_loss(name));
    fputs("</td>", out);
}

static void put_filter(struct page_call *c, const char *sweep)
{
    FILE *out = c->out;
    fputs("<form class=\"filter\" action=\"/sweep\" role=\"search\"><input type=\"hidden\" name=\"name\" value=\"",
          out);
    page_text(out, sweep);
    fputs("\"><label>Filter <input id=\"filter\" type=\"search\" name=\"q\" autocomplete=\"off\" placeholder=\"any "
          "text of a "
          "row  ( / )\" value=\"",
          out);
    page_text(out, page_parameter(c, "q"));
    fputs("\"></label> <button class=\"noscript\">Filter</button> <span id=\"count\" class=\"small\" "
          "role=\"status\"></span></form>\n",
          out);
}

static void put_runs(struct page_call *c, const struct result_rows *rows, const char *sweep)
{
    FILE *out = c->out;
    const char *sort = page_parameter(c, "sort"), *q = page_parameter(c, "q");
    struct order o = {rows, sort ? result_column(rows, sort) : -1, page_parameter(c, "down") != NULL};
    int *at = memory_alloc((size_t)rows->rows + 1, sizeof *at), count = 0;
    bool *number = memory_alloc((size_t)rows->columns, sizeof *number);
    for (int r = 0; r < rows->rows; r++)
        if (matches(rows, r, q))
            at[count++] = r;
    if (o.column >= 0)
        qsort_r(at, (size_t)count, sizeof *at, compare, &o);
    fputs("<div class=\"scroll tall\" tabindex=\"0\"><table class=\"sortable\" id=\"table\">\n<caption "
          "class=\"hidden\">Runs of the sweep</caption>\n<thead><tr>",
          out);
    for (int k = 0; k < rows->columns; k++) {
        number[k] = is_number(rows, k);
        put_heading(c, rows, &o, sweep, k);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < count; i++) {
        fputs("<tr>", out);
        for (int k = 0; k < rows->columns; k++)
            put_cell(out, rows, at[i], k, number[k]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    if (count < rows->rows)
        fprintf(out, "<p class=\"small\">%d of %d runs.</p>\n", count, rows->rows);
    free(number);
    free(at);
}

static void put_standing(FILE *out, const json_t *all)
{
    char text[160];
    const json_t *row = json_array_get(json_object_get(all, "sweeps"), 0);
    fputs("<p>", out);
    page_progress(out, page_field_number(row, "done"), page_field_number(row, "runs"));
    fprintf(out, " %.0f runs: ", page_field_number(row, "runs"));
    page_text(out, status_counts(row, text));
    fputs(json_is_true(json_object_get(row, "paused")) ? " <span class=\"state paused\">paused</span>" : "", out);
    fputs("</p>\n", out);
    page_put_live(out, json_object_get(all, "live"));
    page_put_waiting(out, json_object_get(all, "waiting"));
    page_put_failures(out, json_object_get(all, "failures"));
}

int page_html_sweep(struct page_call *c, struct error *err)
{
    const char *sweep = NULL;
    json_t *all = NULL;
    struct result_rows rows = {0}, about = {0};
    int status = page_need(c, "name", &sweep, err);
    if (!status)
        status = page_reader_prepare(c->reader, sweep, NULL, err);
    if (!status)
        status = standing_collect(c->reader->store, c->home, sweep, &all, err);
    if (!status)
        status = run_list_make(&rows, &c->reader->from, err);
    if (!status)
        status = result_query(&about, c->reader->store, "the sweep", "SELECT about FROM sweep WHERE name = :sweep",
                              sweep, err);
    if (!status) {
        char *title = memory_format("Sweep %s", sweep);
        page_begin(c, title, sweep);
        free(title);
        page_element(c->out, "p class=\"lead\"", result_text(&about, 0, 0));
        fputs("<div id=\"fresh\">\n", c->out);
        put_standing(c->out, all);
        fputs("</div>\n", c->out);
        status = page_put_curves(c, sweep, NULL, err);
        page_element(c->out, "h2 id=\"runs\"", "Runs");
        put_filter(c, sweep);
        fputs("<div id=\"fresh-runs\">\n", c->out);
        put_runs(c, &rows, sweep);
        fputs("</div>\n", c->out);
        page_end(c);
    }
    result_rows_fini(&about);
    result_rows_fini(&rows);
    json_decref(all);
    return status;
}
