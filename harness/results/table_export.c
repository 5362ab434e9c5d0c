/* Tables of results for scripts (CSV, JSON) and for the report (HTML). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/base/listing.h"
#include "harness/results/table_text.h"

/* --------------------------------------------------------------------------------------------- CSV */

/* What a kind's further columns are called, after the name. */
static const char *const suffixes[][4] = {
    [COLUMN_MEAN] = {"", "_std", "_n", NULL},
    [COLUMN_CHANGE] = {"", "_low", "_high", "_n"},
    [COLUMN_COUNT] = {"", "_of", NULL, NULL},
};

static int fields(const struct layout_column *c)
{
    return c->kind == COLUMN_MEAN ? 3 : c->kind == COLUMN_CHANGE ? 4 : c->kind == COLUMN_COUNT ? 2 : 1;
}

static void put_real(struct listing *csv, double value)
{
    if (isnan(value))
        listing_null(csv);
    else
        listing_real(csv, value);
}

static void csv_cell(struct listing *csv, const struct layout_column *c, const struct table_cell *cell)
{
    const struct summary *s = &cell->sums;
    switch (c->kind) {
    case COLUMN_MEAN:
        put_real(csv, s->mean);
        put_real(csv, s->std);
        listing_integer(csv, s->n);
        break;
    case COLUMN_CHANGE:
        put_real(csv, s->mean);
        put_real(csv, s->mean - cell->half_width);
        put_real(csv, s->mean + cell->half_width);
        listing_integer(csv, s->n);
        break;
    case COLUMN_COUNT:
        listing_integer(csv, cell->count);
        listing_integer(csv, cell->of);
        break;
    case COLUMN_TEXT:
    case COLUMN_NOTES:
        if (cell->text || isnan(cell->value))
            listing_text(csv, cell->text);
        else
            put_real(csv, cell->value);
        break;
    default:
        if (cell->whole)
            listing_integer(csv, (int64_t)cell->value);
        else if (isnan(cell->value) && cell->text)
            listing_text(csv, cell->text); /* a number that is not finite */
        else
            put_real(csv, cell->value);
    }
}

void table_print_csv(const struct table *t, FILE *out)
{
    const struct table_layout *l = &t->layout;
    char **names = memory_alloc(4 * (size_t)l->column_count, sizeof *names);
    int count = 0;
    for (int c = 0; c < l->column_count; c++)
        for (int f = 0; f < fields(&l->columns[c]); f++) {
            const char *suffix = fields(&l->columns[c]) > 1 ? suffixes[l->columns[c].kind][f] : "";
            names[count++] = memory_format("%s%s", l->columns[c].name, suffix);
        }
    struct listing *csv = listing_begin(out, LISTING_CSV, (const char *const *)names, count);
    for (int i = 0; i < t->rows * l->column_count; i++)
        csv_cell(csv, &l->columns[i % l->column_count], &t->cells[i]);
    listing_end(csv, NULL);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* --------------------------------------------------------------------------------------------- JSON */

static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_cell(const struct layout_column *c, const struct table_cell *cell)
{
    const struct summary *s = &cell->sums;
    switch (c->kind) {
    case COLUMN_MEAN:
        return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o}", "mean", json_number(s->mean), "std", json_number(s->std),
                         "n", s->n, "min", json_number(s->min), "median", json_number(s->median), "max",
                         json_number(s->max));
    case COLUMN_CHANGE:
        return json_pack("{s:o, s:o, s:o, s:i}", "mean", json_number(s->mean), "low",
                         json_number(s->mean - cell->half_width), "high", json_number(s->mean + cell->half_width), "n",
                         s->n);
    case COLUMN_COUNT:
        return json_pack("{s:i, s:i}", "n", cell->count, "of", cell->of);
    case COLUMN_TEXT:
    case COLUMN_NOTES:
        if (isnan(cell->value))
            return cell->text ? json_string(cell->text) : json_null();
        break;
    default:
        if (isnan(cell->value) && cell->text)
            return json_string(cell->text);
    }
    return cell->whole ? json_integer((json_int_t)cell->value) : json_number(cell->value);
}

void table_print_json(const struct table *t, FILE *out)
{
    const struct table_layout *l = &t->layout;
    json_t *rows = json_array(), *notes = json_array();
    for (int r = 0; r < t->rows; r++) {
        json_t *row = json_object();
        for (int c = 0; c < l->column_count; c++)
            json_object_set_new(row, l->columns[c].name, json_cell(&l->columns[c], &t->cells[r * l->column_count + c]));
        json_array_append_new(rows, row);
    }
    for (int i = 0; i < l->note_count; i++)
        json_array_append_new(notes, json_string(l->notes[i]));
    json_t *table = json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s, s:s?, s:o, s:o}", "id", l->id, "title", l->title,
                              "sweep", t->sweep, "runs", t->runs, "about", t->once, "program", t->program, "empty",
                              t->rows ? NULL : l->empty, "notes", notes, "rows", rows);
    json_dumpf(table, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    fputc('\n', out);
    json_decref(table);
}

/* --------------------------------------------------------------------------------------------- HTML */

static void html_row(const struct table *t, int row, FILE *out)
{
    const struct table_layout *l = &t->layout;
    fputs("<tr>", out);
    for (int c = 0; c < l->column_count; c++) {
        char *text = row < 0 ? memory_string(l->columns[c].head)
                             : table_cell_text(&l->columns[c], &t->cells[row * l->column_count + c]);
        bool numeric = table_column_is_numeric(&l->columns[c]), note = l->columns[c].kind == COLUMN_NOTES;
        fprintf(out, "<%s%s>", row < 0 ? "th scope=\"col\"" : "td",
                numeric ? " class=\"n\""
                : note  ? " class=\"note\""
                        : "");
        table_put_html(out, text);
        fprintf(out, "</%s>", row < 0 ? "th" : "td");
        free(text);
    }
    fputs("</tr>\n", out);
}

void table_print_html(const struct table *t, FILE *out)
{
    char *small = table_small_print(t);
    if (t->rows > 0) {
        fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>\n", out);
        html_row(t, -1, out);
        fputs("</thead>\n<tbody>\n", out);
        for (int r = 0; r < t->rows; r++)
            html_row(t, r, out);
        fputs("</tbody>\n</table></div>\n", out);
    } else {
        fputs("<p class=\"none\">No rows: ", out);
        table_put_html(out, t->layout.empty);
        fputs("</p>\n", out);
    }
    for (int i = 0; t->rows > 0 && i < t->layout.note_count; i++) {
        fputs("<p class=\"small\">", out);
        table_put_html(out, t->layout.notes[i]);
        fputs("</p>\n", out);
    }
    fputs("<p class=\"small\">", out);
    table_put_html(out, small);
    fputs("</p>\n", out);
    free(small);
}
